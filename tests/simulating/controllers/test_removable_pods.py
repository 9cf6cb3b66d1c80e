"""Which pods keep a cluster autoscaler from removing their node."""

from __future__ import annotations

import pytest

from builders import a_pod
from restow.kube.manifests import manifest_of
from restow.simulating.controllers.cluster_autoscaler import SAFE_TO_EVICT, SAFE_TO_LOSE, may_be_moved, stays_with_node
from simulating.scenes import Scene

OWNED = ("ReplicaSet", "web")
DISK, MEMORY = {"name": "d", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}
HOST, CLAIM = {"name": "h", "hostPath": {"path": "/"}}, {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}


def moves(allowed=None, **pod):
    """Whether a pod may be moved, under a budget that allows so many disruptions or under none."""
    store, namespace = Scene(0).store, pod.get("namespace", "default")
    if allowed is not None:
        selector = {"matchLabels": {"app": "web"}}
        meta = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": namespace},
        }
        store.load(manifest_of(meta | {"spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed}}))
    return may_be_moved(manifest_of(a_pod("web-1", **({"owner": OWNED, "labels": {"app": "web"}} | pod))), store)


@pytest.mark.parametrize(
    ("pod", "may"),
    [
        ({}, True),
        ({"owner": None}, False),
        ({"owner": None, "annotations": {SAFE_TO_EVICT: "true"}}, True),
        ({"annotations": {SAFE_TO_EVICT: "false"}}, False),
        ({"volumes": [DISK]}, False),
        ({"volumes": [HOST]}, False),
        ({"volumes": [MEMORY, CLAIM]}, True),
        ({"volumes": [DISK], "annotations": {SAFE_TO_EVICT: "true"}}, True),
        ({"volumes": [DISK, HOST], "annotations": {SAFE_TO_LOSE: "d,h"}}, True),
        ({"volumes": [DISK, HOST], "annotations": {SAFE_TO_LOSE: "d"}}, False),
        ({"allowed": 1}, True),
        ({"allowed": 0}, False),
        ({"allowed": 0, "annotations": {SAFE_TO_EVICT: "true"}}, False),
        ({"namespace": "kube-system"}, False),
        ({"namespace": "kube-system", "allowed": 1}, True),
    ],
    ids=str,
)
def test_what_keeps_a_pod(pod, may):
    assert moves(**pod) is may


def test_pods_of_daemon_sets_and_of_files_stay_with_their_node():
    assert stays_with_node(manifest_of(a_pod("a", owner=("DaemonSet", "agent"))))
    assert stays_with_node(manifest_of(a_pod("a", annotations={"kubernetes.io/config.mirror": "1"})))
    assert not stays_with_node(manifest_of(a_pod("a", owner=OWNED)))
