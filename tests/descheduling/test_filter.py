"""DefaultEvictor's Filter: every protection, and what overrides it.

Source of the rows: descheduler v0.36, pkg/framework/plugins/defaultevictor.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import (
    EMPTY_DIR,
    HOST_PATH,
    Owner,
    a_node,
    a_pdb,
    a_pod,
    a_priority_class,
    a_pvc,
    claim_volume,
    requirement,
)
from descheduling.evictors import an_evictor, reason
from restow.errors import InputError

RS = Owner("ReplicaSet", "rs")
N1, N2 = a_node("n1"), a_node("n2")
EVICT = {"descheduler.alpha.kubernetes.io/evict": "false"}
STAY = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": "false"}
MIRROR = {"kubernetes.io/config.mirror": "x"}
CRITICAL = 2_000_000_000
ALL_DEFAULTS_OFF = {
    "podProtections": {
        "defaultDisabled": ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"]
    }
}


def pod(**fields):
    return a_pod("p", node="n1", **({"owner": RS} | fields))


def extra(*names, **config):
    return {"podProtections": {"extraEnabled": list(names)} | ({"config": config} if config else {})}


def off(*names):
    return {"podProtections": {"defaultDisabled": list(names)}}


def storage_classes(*names):
    return extra("PodsWithPVC", PodsWithPVC={"protectedStorageClasses": [{"name": name} for name in names]})


def code(args, *objects):
    found = reason(args, N1, N2, *objects)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("args", "fields", "expected"),
    [
        pytest.param({}, {}, None, id="owned"),
        pytest.param({}, {"annotations": MIRROR}, "MirrorPod", id="mirror"),
        pytest.param({}, {"annotations": {"kubernetes.io/config.source": "file"}}, "StaticPod", id="static"),
        pytest.param({}, {"annotations": {"kubernetes.io/config.source": "api"}}, None, id="source-api"),
        pytest.param({}, {"deleted": "2026-11-20T00:00:00Z"}, "Terminating", id="terminating"),
        pytest.param(ALL_DEFAULTS_OFF, {"annotations": MIRROR}, "MirrorPod", id="mirror-whatever-is-off"),
        pytest.param(ALL_DEFAULTS_OFF, {"deleted": "2026-11-20T00:00:00Z"}, "Terminating", id="terminating-always"),
        # System critical pods and the priority threshold
        pytest.param({}, {"priority": CRITICAL}, "SystemCriticalPods", id="critical"),
        pytest.param({}, {"priority": CRITICAL - 1}, None, id="just-below-critical"),
        pytest.param({"evictSystemCriticalPods": True}, {"priority": CRITICAL}, None, id="critical-by-old-switch"),
        pytest.param(off("SystemCriticalPods"), {"priority": CRITICAL}, None, id="critical-disabled"),
        pytest.param({"priorityThreshold": {"value": 100}}, {"priority": 100}, "PriorityThreshold", id="at-threshold"),
        pytest.param({"priorityThreshold": {"value": 100}}, {"priority": 99}, None, id="below-threshold"),
        pytest.param({"priorityThreshold": {"value": 0}}, {"priority": 0}, "PriorityThreshold", id="threshold-0"),
        pytest.param({"priorityThreshold": {"value": -5}}, {}, None, id="no-priority-always-passes"),
        pytest.param({"priorityThreshold": {"value": -5}}, {"priority": -5}, "PriorityThreshold", id="negative"),
        pytest.param(
            {"evictSystemCriticalPods": True, "priorityThreshold": {"value": 1}},
            {"priority": 5},
            None,
            id="threshold-ignored-without-the-protection",
        ),
        # Bare pods
        pytest.param({}, {"owner": None}, "NoOwner", id="bare"),
        pytest.param({}, {"owner": None, "phase": "Failed"}, "NoOwner", id="bare-failed"),
        pytest.param({"evictFailedBarePods": True}, {"owner": None, "phase": "Failed"}, None, id="bare-failed-by-switch"),
        pytest.param({"evictFailedBarePods": True}, {"owner": None, "phase": "Running"}, "NoOwner", id="bare-running"),
        pytest.param(off("FailedBarePods"), {"owner": None, "phase": "Failed"}, None, id="bare-failed-disabled"),
        pytest.param(off("FailedBarePods"), {"owner": None}, "NoOwner", id="bare-without-phase"),
        # Local storage
        pytest.param({}, {"volumes": [EMPTY_DIR]}, "PodsWithLocalStorage", id="emptyDir"),
        pytest.param({}, {"volumes": [HOST_PATH]}, "PodsWithLocalStorage", id="hostPath"),
        pytest.param({"evictLocalStoragePods": True}, {"volumes": [EMPTY_DIR]}, None, id="emptyDir-by-switch"),
        pytest.param(off("PodsWithLocalStorage"), {"volumes": [EMPTY_DIR]}, None, id="emptyDir-disabled"),
        # DaemonSets
        pytest.param({}, {"owner": ("DaemonSet", "d")}, "DaemonSetPods", id="DaemonSet"),
        pytest.param({}, {"owner": [RS, ("DaemonSet", "d")]}, "DaemonSetPods", id="DaemonSet-among-owners"),
        pytest.param({"evictDaemonSetPods": True}, {"owner": ("DaemonSet", "d")}, None, id="DaemonSet-by-switch"),
        pytest.param(off("DaemonSetPods"), {"owner": ("DaemonSet", "d")}, None, id="DaemonSet-disabled"),
        # Extra protections
        pytest.param({}, {"volumes": [claim_volume("c")]}, None, id="claim-without-protection"),
        pytest.param({"ignorePvcPods": True}, {"volumes": [claim_volume("c")]}, "PodsWithPVC", id="claim-by-switch"),
        pytest.param(extra("PodsWithPVC"), {"volumes": [claim_volume("c")]}, "PodsWithPVC", id="claim"),
        pytest.param(extra("PodsWithPVC"), {}, None, id="no-claim"),
        pytest.param(
            extra("PodsWithResourceClaims"),
            {"spec": {"resourceClaims": [{"name": "gpu"}]}},
            "PodsWithResourceClaims",
            id="resourceClaims",
        ),
        pytest.param(extra("PodsWithResourceClaims"), {"spec": {"resourceClaims": []}}, None, id="no-resourceClaims"),
        pytest.param({}, {"spec": {"resourceClaims": [{"name": "gpu"}]}}, None, id="resourceClaims-unprotected"),
        pytest.param(
            extra("PodsWithPVC"), {"volumes": [EMPTY_DIR]}, "PodsWithLocalStorage", id="extra-keeps-the-defaults"
        ),
        # Selectors and age
        pytest.param({"labelSelector": {"matchLabels": {"app": "a"}}}, {"labels": {"app": "a"}}, None, id="labels"),
        pytest.param({"labelSelector": {"matchLabels": {"app": "a"}}}, {}, "LabelSelector", id="other-labels"),
        pytest.param(
            {"labelSelector": {"matchExpressions": [requirement("app", "DoesNotExist")]}}, {}, None, id="expression"
        ),
        pytest.param({"labelSelector": {}}, {}, None, id="empty-labelSelector"),
        pytest.param({"minPodAge": "1h"}, {"started": "2026-11-20T23:00:00Z"}, None, id="exactly-old-enough"),
        pytest.param({"minPodAge": "1h"}, {"started": "2026-11-20T23:00:01Z"}, "MinPodAge", id="too-young"),
        pytest.param({"minPodAge": "1h"}, {"created": "2020-01-01T00:00:00Z"}, "MinPodAge", id="never-started"),
        pytest.param({"minPodAge": "0s"}, {"started": "2027-01-01T00:00:00Z"}, "MinPodAge", id="from-the-future"),
        # Annotations
        pytest.param({}, {"annotations": EVICT | MIRROR, "owner": None}, None, id="evict-overrides-all"),
        pytest.param(
            {"minReplicas": 9, "minPodAge": "1h", "labelSelector": {"matchLabels": {"app": "a"}}},
            {"annotations": EVICT, "deleted": "2026-11-20T00:00:00Z", "priority": CRITICAL},
            None,
            id="evict-overrides-settings",
        ),
        pytest.param({}, {"annotations": STAY}, None, id="prefer-no-eviction-by-default"),
        pytest.param({"noEvictionPolicy": "Preferred"}, {"annotations": STAY}, None, id="Preferred"),
        pytest.param({"noEvictionPolicy": "Mandatory"}, {"annotations": STAY}, "PreferNoEviction", id="Mandatory"),
        pytest.param({"noEvictionPolicy": "Mandatory"}, {"annotations": STAY | EVICT}, None, id="evict-before-Mandatory"),
        pytest.param({"noEvictionPolicy": "Mandatory"}, {}, None, id="Mandatory-without-annotation"),
    ],
)  # fmt: skip
def test_filter(args, fields, expected):
    assert code(args, pod(**fields)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("low", "PriorityThreshold"), ("high", None), ("system-cluster-critical", None)],
)
def test_the_threshold_may_be_a_priority_class(name, expected):
    classes = [a_priority_class("low", 10), a_priority_class("high", 1000)]
    assert code({"priorityThreshold": {"name": name}}, pod(priority=10), *classes) == expected


def test_a_priority_class_that_is_not_there_is_an_error():
    with pytest.raises(InputError, match=r'priorityclasses.scheduling.k8s.io "gone" not found'):
        code({"priorityThreshold": {"name": "gone"}}, pod())


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        pytest.param([], None, id="no-claims"),
        pytest.param(["silver"], None, id="other-class"),
        pytest.param(["gold"], 'pod using protected storage class "gold"', id="protected"),
        pytest.param(["silver", "gold"], 'pod using protected storage class "gold"', id="one-of-two"),
        pytest.param(
            ["missing"],
            'failed to get persistent volume claim "default"/"missing": persistentvolumeclaim "missing" not found',
            id="missing",
        ),
        pytest.param(
            ["gold", "missing"],
            'failed to get persistent volume claim "default"/"missing": persistentvolumeclaim "missing" not found',
            id="missing-comes-first",
        ),
        pytest.param(["none"], 'failed to resolve storage class for pod "default"/"none"', id="no-class"),
        pytest.param(["blank"], 'failed to resolve storage class for pod "default"/"blank"', id="empty-class"),
    ],
)
@pytest.mark.parametrize(
    "args",
    [
        pytest.param(storage_classes("gold"), id="new"),
        pytest.param(
            {"ignorePvcPods": True}
            | {"podProtections": {"config": storage_classes("gold")["podProtections"]["config"]}},
            id="old-switch",
        ),
    ],
)
def test_claims_may_be_protected_by_storage_class(args, claims, message):
    objects = [
        a_pvc("gold", storage_class="gold"),
        a_pvc("silver", storage_class="silver"),
        a_pvc("none"),
        a_pvc("blank", storage_class=""),
        a_pvc("missing", namespace="other", storage_class="silver"),
    ]
    found = reason(args, N1, N2, pod(volumes=[claim_volume(name) for name in claims]), *objects)
    assert found == (None if message is None else ("PodsWithPVC", message))


def test_an_empty_list_of_storage_classes_protects_every_claim():
    assert code(storage_classes(), pod(volumes=[claim_volume("c")]), a_pvc("c", storage_class="x")) == "PodsWithPVC"


@pytest.mark.parametrize("args", [extra("PodsWithoutPDB"), {"ignorePodsWithoutPDB": True}], ids=["new", "old-switch"])
@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param(None, "PodsWithoutPDB", id="none"),
        pytest.param(a_pdb("b", selector={"matchLabels": {"app": "a"}}), None, id="covers"),
        pytest.param(a_pdb("b", selector={"matchLabels": {"app": "b"}}), "PodsWithoutPDB", id="covers-others"),
        pytest.param(a_pdb("b", selector={}), None, id="covers-all"),
        pytest.param(a_pdb("b"), "PodsWithoutPDB", id="without-selector"),
        pytest.param(a_pdb("b", selector={}, namespace="other"), "PodsWithoutPDB", id="other-namespace"),
    ],
)
def test_pods_without_a_disruption_budget(args, budget, expected):
    other = a_pdb("other", selector={}, namespace="elsewhere")
    assert code(args, pod(labels={"app": "a"}), other, *([budget] if budget else [])) == expected


@pytest.mark.parametrize(
    ("replicas", "owner", "minimum", "expected"),
    [
        pytest.param(3, RS, 3, None, id="enough"),
        pytest.param(2, RS, 3, "MinReplicas", id="too-few"),
        pytest.param(1, RS, 1, None, id="1-is-no-limit"),
        pytest.param(1, RS, 0, None, id="0-is-no-limit"),
        pytest.param(1, [RS, ("Job", "j")], 5, None, id="several-owners-are-not-asked"),
        pytest.param(1, None, 5, None, id="bare-pods-are-not-asked"),
    ],
)
def test_min_replicas(replicas, owner, minimum, expected):
    pods = [a_pod(f"p{i}", node="n1", owner=owner, phase="Failed") for i in range(replicas)]
    assert code({"minReplicas": minimum, "evictFailedBarePods": True}, *pods) == expected


def test_min_replicas_counts_every_pod_of_the_owner_and_feels_evictions():
    """Whatever their phase, node or deletion."""
    pods = [
        a_pod("a", node="n1", owner=RS),
        a_pod("b", node="n2", owner=RS, phase="Succeeded"),
        a_pod("c", owner=RS, deleted="2026-01-01T00:00:00Z"),
        a_pod("d", node="n1", owner=RS),
    ]
    evictor, state = an_evictor({"minReplicas": 3}, N1, N2, *pods)
    every = np.arange(4)
    assert evictor.passes_filter(every).tolist() == [True, True, False, True]
    state.remove(0)
    assert evictor.passes_filter(every[1:]).tolist() == [True, False, True]
    state.remove(1)
    assert evictor.passes_filter(every[2:]).tolist() == [False, False]
    assert evictor.refusals(np.array([3])) == [
        ("evictor", "MinReplicas", "owner has 2 replicas which is less than minReplicas of 3")
    ]
