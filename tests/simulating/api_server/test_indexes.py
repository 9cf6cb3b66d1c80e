"""Whatever controllers select is found by the labels of what they select, as if each had been asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from restow.kube.manifests import manifest_of
from restow.simulating.api_server.indexes import Selecting, key_of, selector_of

LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
EXPRESSIONS = st.lists(
    st.sampled_from(
        [
            {"key": "a", "operator": "In", "values": ["x", "y"]},
            {"key": "b", "operator": "NotIn", "values": ["x"]},
            {"key": "b", "operator": "Exists"},
            {"key": "b", "operator": "In", "values": []},
        ]
    ),
    max_size=2,
)
SPECS = st.one_of(
    st.none(), st.builds(lambda labels, found: {"matchLabels": labels, "matchExpressions": found}, LABELS, EXPRESSIONS)
)


def a_set(name, selector, namespace):
    spec = {"replicas": 0, "template": {}} | ({} if selector is None else {"selector": selector})
    metadata = {"name": name, "namespace": namespace}
    return manifest_of({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})


@given(
    st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("mn"), st.none() | st.tuples(SPECS)), max_size=8), LABELS
)
def test_what_is_found_is_what_every_selector_says(changes, labels):
    """While objects come, change and go (None); each is found once."""
    there, selecting = {}, Selecting()
    for name, namespace, selector in changes:
        old = there.pop((namespace, name), None)
        new = None if selector is None else a_set(name, selector[0], namespace)
        if new is not None:
            there[namespace, name] = new
        selecting.move(old, new)
    for namespace in "mn":
        expected = [key_of(each) for key, each in there.items() if key[0] == namespace and _selects(each, labels)]
        assert sorted(selecting.matching(namespace, labels)) == sorted(expected)


def _selects(each, labels):
    return selector_of(each).matches(labels)
