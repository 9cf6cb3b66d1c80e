"""DefaultEvictor: PreEvictionFilter, and what is said of a pod that stays.

Source of the rows: descheduler v0.36, pkg/framework/plugins/defaultevictor.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import (
    EMPTY_DIR,
    Owner,
    a_namespace,
    a_node,
    a_pod,
    claim_volume,
    requirement,
)
from descheduling.evictors import an_evictor, reason
from descheduling.harness import NOW, a_cluster, a_policy
from proving.proven import TOLD, read_policy
from restow.kube.timestamps import parse_time
from restow.proving.planning import decided
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

RS = Owner("ReplicaSet", "rs")
N1, N2 = a_node("n1"), a_node("n2")
EVICT = {"descheduler.alpha.kubernetes.io/evict": "false"}
STAY = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": "false"}
MIRROR = {"kubernetes.io/config.mirror": "x"}
CRITICAL = 2_000_000_000


def pod(**fields):
    return a_pod("p", node="n1", **({"owner": RS} | fields))


def extra(*names, **config):
    return {"podProtections": {"extraEnabled": list(names)} | ({"config": config} if config else {})}


def code(args, *objects):
    found = reason(args, N1, N2, *objects)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param({"matchLabels": {"team": "a"}}, {"team": "a"}, None, id="matches"),
        pytest.param({"matchLabels": {"team": "a"}}, {"team": "b"}, "NamespaceLabelSelector", id="does-not"),
        pytest.param({"matchLabels": {"team": "a"}}, None, "NamespaceLabelSelector", id="another-namespace"),
        pytest.param({"matchExpressions": [requirement("team", "NotIn", "b")]}, {}, None, id="NotIn"),
        pytest.param(
            {"matchExpressions": [requirement("team", "NotIn", "b")]},
            None,
            "NamespaceLabelSelector",
            id="NotIn-another",
        ),
        pytest.param({}, None, None, id="empty-selector-restricts-nothing"),
        pytest.param(None, None, None, id="no-selector"),
    ],
)
def test_namespace_labels(selector, labels, expected):
    namespaces = [a_namespace("default" if labels is not None else "another", labels=labels)]
    args = {} if selector is None else {"namespaceLabelSelector": selector}
    assert code(args, pod(), *namespaces) == expected


@pytest.mark.parametrize(
    ("args", "message", "lacking"),
    [
        (extra("PodsWithoutPDB"), "its eviction depends on PodDisruptionBudgets", "PodDisruptionBudget"),
        ({"ignorePodsWithoutPDB": True}, "its eviction depends on PodDisruptionBudgets", "PodDisruptionBudget"),
        (
            {"namespaceLabelSelector": {"matchLabels": {"team": "a"}}},
            "its eviction depends on the labels of Namespaces",
            "Namespace",
        ),
        (
            {
                "podProtections": {
                    "extraEnabled": ["PodsWithPVC"],
                    "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": "fast"}]}},
                }
            },
            "its eviction depends on PersistentVolumeClaims",
            "PersistentVolumeClaim",
        ),
    ],
    ids=["budgets", "budgets, old switch", "namespaces", "claims"],
)
def test_what_the_input_does_not_hold_is_not_said_to_be_missing_from_the_cluster(args, message, lacking):
    """The pod stays, and the command that adds the kind is named; an input that tells of the kind decides."""
    objects = [pod(volumes=[claim_volume("data")]), a_node("n1"), a_node("n2")]
    evictor, _ = an_evictor(args, *objects)
    assert reason(args, *objects) == ("Unknown", f"{message}, which the input lacks")
    assert evictor.missing == {lacking}
    told = [each for each in TOLD if each["kind"] == lacking]
    assert code(args, *objects, *told) not in {None, "Unknown"}
    assert an_evictor(args, *objects, *told)[0].missing == set()


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_plan_knows_what_its_evictors_lack(placement):
    policy = read_policy(a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1}, evictor=extra("PodsWithoutPDB")))
    made = decided(a_cluster(pod(), a_node("n1"), a_node("n2")), policy, placement, parse_time(NOW), (DEFAULT_PROFILE,))
    assert "PodDisruptionBudget" in made.missing


def test_the_evict_annotation_does_not_override_the_pre_eviction_filter():
    args = {"namespaceLabelSelector": {"matchLabels": {"team": "a"}}}
    assert code(args, pod(annotations=EVICT), a_namespace("default")) == "NamespaceLabelSelector"
    assert code({"nodeFit": True}, pod(annotations=EVICT, node_selector={"no": "where"})) == "NoFit"


@pytest.mark.parametrize(
    ("args", "nodes", "expected"),
    [
        pytest.param({"nodeFit": True}, [N1, N2], None, id="another-node"),
        pytest.param({"nodeFit": True}, [N1], ("NoFit", "there is no other node"), id="only-its-own"),
        pytest.param(
            {"nodeFit": True}, [N1, a_node("n2", ready=False)], ("NoFit", "there is no other node"), id="not-ready"
        ),
        pytest.param(
            {"nodeFit": True},
            [N1, a_node("n2", unschedulable=True), a_node("n3", cpu="0"), a_node("n4", taints=["a:NoSchedule"])],
            ("NoFit", "no other node fits: 1 insufficient cpu, 1 unschedulable, 1 untolerated taint"),
            id="reasons-are-counted",
        ),
        pytest.param(
            {"nodeFit": True, "nodeSelector": "pool=x"},
            [N1, N2, a_node("n3", labels={"pool": "x"}, cpu="0")],
            ("NoFit", "no other node fits: 1 insufficient cpu"),
            id="nodeSelector-narrows-the-targets",
        ),
        pytest.param({"nodeSelector": "pool=x"}, [N1, N2], None, id="nodeSelector-without-nodeFit"),
        pytest.param({"nodeFit": False}, [N1], None, id="nodeFit-off"),
        pytest.param(
            {"nodeFit": True, "nodeSelector": "a=="},
            [N1, a_node("n2", labels={"a": ""})],
            None,
            id="nodeSelector-with-an-empty-value",
        ),
        pytest.param(
            {"nodeFit": True, "nodeSelector": "a in"}, [N1, N2], ("NoFit", "there is no other node"), id="bad-nodeSelector"
        ),
    ],
)  # fmt: skip
def test_node_fit(args, nodes, expected):
    assert reason(args, *nodes, pod()) == expected


def test_node_fit_feels_evictions():
    """A pod fits where an evicted one left its place."""
    small = [a_node("n1", cpu="1"), a_node("n2", cpu="1")]
    pods = [a_pod(name, node=node, cpu="1", owner=RS) for name, node in (("a", "n1"), ("b", "n2"))]
    evictor, state = an_evictor({"nodeFit": True}, *small, *pods)
    assert not evictor.passes_late(0)
    assert evictor.refusals(np.array([0])) == [("placement", "NoFit", "no other node fits: 1 insufficient cpu")]
    state.remove(1)
    assert evictor.passes_late(0)


# What is said


@pytest.mark.parametrize(
    ("args", "fields", "messages"),
    [
        pytest.param(
            {},
            {"priority": CRITICAL},
            [
                "pod has system critical priority and is protected against eviction",
                "pod has higher priority than specified priority class threshold",
            ],
            id="critical-fails-both",
        ),
        pytest.param(
            {"minReplicas": 5, "minPodAge": "50m", "labelSelector": {"matchLabels": {"a": "b"}}},
            {
                "annotations": {"kubernetes.io/config.mirror": "", "kubernetes.io/config.source": "http"},
                "deleted": "2026-01-01T00:00:00Z",
                "owner": ("DaemonSet", "d"),
                "volumes": [EMPTY_DIR],
            },
            [
                "pod is a mirror pod",
                "pod is a static pod",
                "pod is terminating",
                "pod has local storage and is protected against eviction",
                "daemonset pods are protected against eviction",
                "pod labels do not match the labelSelector filter in the policy parameter",
                "owner has 1 replicas which is less than minReplicas of 5",
                "pod age is not older than MinPodAge: &Duration{Duration:50m0s,} seconds",
            ],
            id="all-in-upstreams-order",
        ),
        pytest.param(
            {"minReplicas": 5, "minPodAge": "1h"},
            {},
            [
                "owner has 1 replicas which is less than minReplicas of 5",
                "pod age is not older than MinPodAge: &Duration{Duration:1h0m0s,} seconds",
            ],
            id="replicas-before-age",
        ),
        pytest.param(
            extra("PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"),
            {"volumes": [claim_volume("c")], "spec": {"resourceClaims": [{"name": "x"}]}, "owner": None},
            [
                "pod does not have any ownerRefs",
                "pod with PVC is protected against eviction",
                "pod does not have a PodDisruptionBudget and is protected against eviction",
                "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods",
            ],
            id="extra-protections",
        ),
        pytest.param(
            {"evictFailedBarePods": True},
            {"owner": None},
            ["pod does not have any ownerRefs and is not in failed phase"],
            id="bare",
        ),
        pytest.param(
            {"noEvictionPolicy": "Mandatory", "minReplicas": 5},
            {"annotations": STAY | MIRROR},
            ["pod asks not to be evicted and noEvictionPolicy is Mandatory"],
            id="Mandatory-asks-nothing-else",
        ),
        pytest.param(
            {"namespaceLabelSelector": {"matchLabels": {"team": "a"}}},
            {},
            ["pod namespace do not match the namespaceLabelSelector filter in the policy parameter"],
            id="namespace",
        ),
    ],
)
def test_every_failing_check_is_told_in_upstreams_words_and_order(args, fields, messages):
    found = reason(args, N1, N2, pod(**fields), *TOLD)
    assert found is not None
    assert found[1].split("; ") == messages


def test_refusals_are_in_the_order_of_the_pods():
    pods = [
        a_pod("a", node="n1", owner=None),
        a_pod("b", node="n1", owner=RS, node_selector={"no": "where"}),
        a_pod("c", node="n1", owner=("DaemonSet", "d")),
        a_pod("d", node="n1", owner=None),
    ]
    evictor, _ = an_evictor({"nodeFit": True}, N1, N2, *pods)
    codes = [code for _, code, _ in evictor.refusals(np.array([3, 1, 2, 0]))]
    assert codes == ["NoOwner", "NoFit", "DaemonSetPods", "NoOwner"]


def test_no_pods_are_no_question():
    evictor, _ = an_evictor({"nodeFit": True, "minReplicas": 2}, N1, N2, pod())
    none = np.zeros(0, dtype=np.int64)
    assert evictor.passes_filter(none).tolist() == []
    assert evictor.passes_pre_eviction(none).tolist() == []
    assert evictor.refusals(none) == []
