"""Which changes help a pod that InterPodAffinity rejected, after the tables of upstream's own tests of its hints."""

from __future__ import annotations

from functools import partial

import pytest

from builders import a_node, a_pod, pod_affinity, pod_anti_affinity, pod_term, selector
from restow.scheduling.plugins.inter_pod_affinity import PLUGIN
from scheduling.plugins.hinting import helped, nominated

SCAN = selector(("service", "In", "securityscan", "value2"))

node = partial(a_node, "node-a")
pod = partial(a_pod, "p")
other = partial(a_pod, "other", node="fake-node")


def near(*terms, topology="region", labels=None):
    return pod(labels=labels, affinity=pod_affinity([pod_term(each, topology=topology) for each in terms]))


def away(*terms, topology="region", labels=None, name="p", **more):
    terms = [pod_term(each, topology=topology) for each in terms]
    return a_pod(name, labels=labels, affinity=pod_anti_affinity(terms), **more)


NEAR, AWAY = near(SCAN), away(SCAN)
BOTH = near(selector(("aaa", "Exists")), selector(("bbb", "Exists")))
SECURITYSCAN, A = {"service": "securityscan"}, {"aaa": "a"}


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(NEAR, None, other(labels=SECURITYSCAN), True, id="add-match"),
        pytest.param(NEAR, None, a_pod("other", labels=SECURITYSCAN), False, id="add-unscheduled"),
        pytest.param(NEAR, None, other(labels=A), False, id="add-no-match"),
        pytest.param(NEAR, None, other(labels=SECURITYSCAN, namespace="elsewhere"), False, id="add-elsewhere"),
        pytest.param(NEAR, other(labels=A), other(labels=SECURITYSCAN), True, id="update-to-match"),
        pytest.param(NEAR, other(labels={"service": "value2"}), other(labels=SECURITYSCAN), False, id="update-match"),
        pytest.param(
            NEAR, a_pod("other", labels=A), a_pod("other", labels=SECURITYSCAN), False, id="update-unscheduled"
        ),
        pytest.param(NEAR, other(labels=SECURITYSCAN), other(labels=A), False, id="update-to-no-match"),
        pytest.param(BOTH, other(labels=A), other(labels=SECURITYSCAN), False, id="several-terms-to-no-match"),
        pytest.param(BOTH, other(labels=A), other(labels={"aaa": "", "bbb": ""}), True, id="several-terms-to-match"),
        pytest.param(
            pod(labels={"foo": "bar"}), pod(labels={"foo": "bar"}), pod(labels={"foo": "baz"}), True, id="own"
        ),
        pytest.param(
            AWAY, other(labels=SECURITYSCAN), other(labels={"service": "aaaa"}), True, id="no-longer-in-the-way"
        ),
        pytest.param(AWAY, other(labels={"service": "bbb"}), other(labels=SECURITYSCAN), False, id="now-in-the-way"),
        pytest.param(AWAY, other(labels=A), None, False, id="delete-not-in-the-way"),
        pytest.param(AWAY, other(labels=SECURITYSCAN), None, True, id="delete-in-the-way"),
        pytest.param(
            pod(labels=SECURITYSCAN),
            away(SCAN, name="other", node="fake-node"),
            None,
            True,
            id="delete-that-keeps-away",
        ),
        pytest.param(
            pod(labels={"service": "foo"}),
            away(SCAN, name="other", node="fake-node"),
            None,
            False,
            id="delete-that-keeps-away-from-others",
        ),
        pytest.param(
            away(SCAN, labels={"service": "foo"}),
            away(SCAN, name="other", node="fake-node", labels={"service": "foo"}),
            None,
            False,
            id="delete-both-keep-away-from-others",
        ),
        pytest.param(AWAY, nominated(a_pod("other", labels=A)), None, False, id="delete-nominated-not-in-the-way"),
        pytest.param(
            AWAY, nominated(a_pod("other", labels=SECURITYSCAN)), None, True, id="delete-nominated-in-the-way"
        ),
        pytest.param(
            away(SCAN, selector(("aaa", "Exists"))),
            other(labels=SECURITYSCAN),
            None,
            False,
            id="several-terms-of-which-one-means-it",
        ),
    ],
)
def test_pods(waiting, old, new, expected):
    assert helped(PLUGIN, waiting, old, new) is expected


@pytest.mark.parametrize("namespace_selector", [selector(), selector(("team", "Exists"))])
def test_a_selector_of_namespaces_may_mean_any_of_them(namespace_selector):
    """Their labels are not known; upstream's hint would leave the pod to wait."""
    term = pod_term(SCAN, topology="region", namespace_selector=namespace_selector)
    partner, stranger = (other(labels=labels, namespace="elsewhere") for labels in (SECURITYSCAN, A))
    assert helped(PLUGIN, pod(affinity=pod_affinity([term])), None, partner)
    assert not helped(PLUGIN, pod(affinity=pod_affinity([term])), None, stranger)


def test_without_a_selector_of_namespaces_only_the_pods_own_one_is_meant():
    term = pod_term(SCAN, topology="region")
    partner = other(labels=SECURITYSCAN, namespace="elsewhere")
    assert not helped(PLUGIN, pod(affinity=pod_affinity([term])), None, partner)


ZONED, ANTI = near(SCAN, topology="zone"), away(selector(labels={"another": "label"}), topology="zone")
ZONE_1, ZONE_2, ELSEWHERE = node(labels={"zone": "zone1"}), node(labels={"zone": "zone2"}), node(labels=A)
UNRELATED = node(labels={"zone": "zone1", "unrelated": "label"})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(ZONED, None, ZONE_1, True, id="near-add-with-key"),
        pytest.param(near(SCAN), None, ZONE_1, False, id="near-add-without-key"),
        pytest.param(ZONED, ELSEWHERE, node(labels={"aaa": "b"}), False, id="near-update-another-label"),
        pytest.param(ZONED, ZONE_1, UNRELATED, False, id="near-update-unrelated"),
        pytest.param(ZONED, ZONE_1, ZONE_2, True, id="near-update-to-another-value"),
        pytest.param(ZONED, ELSEWHERE, ZONE_1, True, id="near-update-to-have-the-key"),
        pytest.param(ZONED, ZONE_1, ELSEWHERE, False, id="near-update-to-lose-the-key"),
        pytest.param(ANTI, None, ZONE_1, True, id="away-add-with-key"),
        pytest.param(ANTI, None, node(), True, id="away-add-without-key"),
        pytest.param(ANTI, ZONE_1, UNRELATED, False, id="away-update-unrelated"),
        pytest.param(ANTI, ZONE_1, ZONE_2, True, id="away-update-to-another-value"),
        pytest.param(ANTI, ELSEWHERE, ZONE_1, False, id="away-update-to-have-the-key"),
        pytest.param(ANTI, ZONE_1, ELSEWHERE, True, id="away-update-to-lose-the-key"),
        pytest.param(ANTI, ZONE_1, None, False, id="node-deleted"),
    ],
)
def test_nodes(waiting, old, new, expected):
    assert helped(PLUGIN, waiting, old, new) is expected
