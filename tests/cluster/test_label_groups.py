"""The index of labels gives what a look at every pod would give."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod, requirement
from descheduling.harness import a_cluster
from restow.cluster.pod_classes import LabelGroups
from restow.kube.labels import EVERYTHING, NOTHING, parse_selector, selector_from
from restow.kube.objects import LabelSelector

KEYS = st.sampled_from(["app", "tier", "zone"])
VALUES = st.sampled_from(["a", "b", "1", "2"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=3)
PODS = st.lists(st.tuples(st.sampled_from(["ns1", "ns2", "ns3"]), LABELS), max_size=10)
EXPRESSION = st.one_of(
    st.builds(
        lambda key, operator, values: requirement(key, operator, *values),
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=3),
    ),
    st.builds(requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.one_of(
    st.sampled_from([NOTHING, EVERYTHING, parse_selector("zone>1"), parse_selector("zone<2,app")]),
    st.builds(
        lambda labels, expressions: selector_from(
            msgspec.convert({"matchLabels": labels, "matchExpressions": expressions}, LabelSelector)
        ),
        LABELS,
        st.lists(EXPRESSION, max_size=3),
    ),
)
NAMESPACES = st.none() | st.lists(st.integers(0, 3), max_size=3)


@given(PODS, st.lists(st.tuples(SELECTORS, NAMESPACES), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_the_index_gives_what_a_look_at_every_pod_gives(drawn, questions):
    built = [a_pod(f"p{i}", namespace=namespace, labels=labels) for i, (namespace, labels) in enumerate(drawn)]
    pods = a_cluster(a_node("n1"), *built).pods
    groups = LabelGroups(pods)
    for selector, namespaces in questions:
        expected = [
            pod
            for pod in range(len(pods))
            if (namespaces is None or pods.namespace[pod] in namespaces)
            and selector.matches(pods.tables.labels[pods.labels[pod]])
        ]
        assert groups.matching(selector, namespaces).tolist() == expected


def test_namespaces_may_come_from_an_iterator():
    pods = a_cluster(a_node("n1"), a_pod("a"), a_pod("b", namespace="other")).pods
    assert LabelGroups(pods).matching(EVERYTHING, iter([0])).tolist() == [0]
