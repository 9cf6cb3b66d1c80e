"""InterPodAffinity's rules beyond upstream's rows: the first pod of a group, pods that end, selectors that cannot be read."""

from __future__ import annotations

from builders import a_node, ago, pod_term
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from scheduling.plugins.affinity_scenes import (
    BAR,
    CHINA,
    FOO,
    INDIA,
    S1,
    S1R5,
    ZONES,
    avoids,
    existing,
    incoming,
    nodes,
    term,
    wants,
)
from scheduling.plugins.asking import a_context, codes, pod_index, scores


def test_a_node_without_the_key_fails_affinity_even_for_the_first_pod():
    context = a_context(*ZONES, a_node("c"), incoming(FOO, wants(term("zone", "foo"))))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK c:UAU"


def test_the_first_pod_must_match_all_its_terms():
    context = a_context(*ZONES, incoming(FOO, wants(term("zone", "foo"), term("zone", "bar"))))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:UAU b:UAU"


def test_matching_pods_on_nodes_without_the_key_leave_the_next_one_the_first():
    context = a_context(*ZONES, a_node("c"), incoming(FOO, wants(term("zone", "foo"))), existing("c", FOO))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK c:UAU"


def test_the_first_pod_rule_ends_with_one_match_on_any_of_the_keys():
    """A matching pod that counts for the region ends it, though its node has no zone."""
    where = [*ZONES, *nodes(c="region=r1")]
    context = a_context(*where, incoming(FOO, wants(term("region", "foo"), term("zone", "foo"))), existing("c", FOO))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:UAU b:UAU c:UAU"


def test_terminating_pods_still_attract_and_repel():
    others = existing("a", FOO, affinity=avoids(term("zone", "bar")), deleted=ago(5))
    repelled = a_context(*ZONES, incoming(BAR), others)
    assert codes(repelled, InterPodAffinity(repelled), pod_index(repelled)) == "a:U b:OK"
    attracted = a_context(*ZONES, incoming({}, wants(term("zone", "foo"))), others)
    assert codes(attracted, InterPodAffinity(attracted), pod_index(attracted)) == "a:OK b:UAU"


def test_pods_that_are_over_neither_attract_nor_repel():
    others = existing("a", FOO, affinity=avoids(term("zone", "bar")), phase="Succeeded")
    context = a_context(*ZONES, incoming(BAR), others)
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK"


def test_an_unreadable_list_of_an_existing_pod_counts_as_empty():
    """The other lists of that pod still count."""
    affinity = avoids(term("zone", "foo"), term("zone", "foo", "Near")) | S1R5
    context = a_context(*ZONES, incoming(FOO | S1), existing("a", {}, affinity=affinity))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK"
    context = a_context(CHINA, INDIA, incoming(FOO | S1), existing("a", {}, affinity=affinity))
    assert scores(context, InterPodAffinity(context), pod_index(context)) == [100, 0]


def test_an_absent_selector_means_no_pod_and_an_empty_one_every_pod():
    absent = a_context(*ZONES, incoming(FOO), existing("a", {}, affinity=avoids(pod_term(None, topology="zone"))))
    assert codes(absent, InterPodAffinity(absent), pod_index(absent)) == "a:OK b:OK"
    empty = a_context(*ZONES, incoming(FOO), existing("a", {}, affinity=avoids(pod_term({}, topology="zone"))))
    assert codes(empty, InterPodAffinity(empty), pod_index(empty)) == "a:U b:OK"
