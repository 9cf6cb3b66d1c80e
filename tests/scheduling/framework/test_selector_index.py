"""SelectorIndex: the same answer as asking every selector, for the price of a few."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from restow.kube.labels import NOTHING, Requirement, Selector
from restow.scheduling.framework.context import ScopedSelector, SelectorIndex

KEYS, VALUES = st.sampled_from(["app", "tier", "own"]), st.sampled_from(["a", "b", "c"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier", "own", "unasked"]), VALUES)
NAMESPACES = st.sampled_from(["default", "other"])
REQUIREMENTS = st.one_of(
    st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(values)),
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=3),
    ),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.one_of(st.lists(REQUIREMENTS, max_size=3).map(lambda each: Selector(tuple(each))), st.just(NOTHING))
SCOPES = st.one_of(st.none(), st.sets(NAMESPACES))


def equals(**labels):
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


@given(st.lists(st.builds(ScopedSelector, SELECTORS, SCOPES), max_size=8), NAMESPACES, LABELS)
@settings(max_examples=200, deadline=None)
def test_it_finds_what_asking_every_selector_finds(entries, namespace, labels):
    expected = [
        position
        for position, entry in enumerate(entries)
        if entry.selector.matches(labels) and (entry.namespaces is None or namespace in entry.namespaces)
    ]
    index = SelectorIndex(entries)
    assert index.matching(index.labelled_as(namespace, labels)) == expected


def test_pods_that_differ_in_labels_that_nobody_asks_for_are_labelled_alike():
    index = SelectorIndex([ScopedSelector(equals(app="a"), None)])
    assert index.labelled_as("n", {"app": "a", "pod": "1"}) == index.labelled_as("n", {"pod": "2", "app": "a"})
    assert index.labelled_as("n", {"app": "a"}) != index.labelled_as("n", {"app": "b"})
    assert index.labelled_as("n", {"app": "a"}) != index.labelled_as("m", {"app": "a"})


def test_few_selectors_are_asked_where_many_share_an_equality():
    """Each is filed under its rarest equality, so a label that all ask for tells nothing."""
    entries = [ScopedSelector(equals(tier="web", app=f"app-{number}"), ["n"]) for number in range(1000)]
    index = SelectorIndex(entries)
    assert list(index._candidates(index.labelled_as("n", {"tier": "web", "app": "app-7"}))) == [7]


def test_few_selectors_are_asked_where_every_namespace_has_the_same_one():
    index = SelectorIndex([ScopedSelector(equals(app="web"), [f"ns-{number}"]) for number in range(1000)])
    assert list(index._candidates(index.labelled_as("ns-7", {"app": "web"}))) == [7]
