"""DaemonSet: which nodes get a pod, and which pods go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from builders import a_node
from descheduling.harness import a_cluster
from restow.cluster.pod_values import Phase
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration
from restow.workloads.controllers import (
    ADDED_ON_HOST_NETWORK,
    ADDED_TOLERATIONS,
    ControlledPod,
    daemon_set,
    runs_on,
    stays_on,
)

ANY = NodeSelection(labels=(), terms=None)
OLD = {"name": "old", "created": 1}


def does(*pods: ControlledPod, wanted: tuple[int, ...] = (0,), allowed: tuple[int, ...] = (0,)) -> Any:
    """Nodes that get a pod, and names of pods that go, with two nodes."""
    masks = (np.isin(np.arange(2), nodes) for nodes in (wanted, allowed))
    done = daemon_set(*masks, pods)
    return [new.node for new in done.create], [pod.name for pod in done.delete]


def test_every_wanted_node_without_a_pod_gets_one() -> None:
    assert does(wanted=(0, 1), allowed=(0, 1)) == ([0, 1], [])
    assert does(ControlledPod("a", node=1), wanted=(0, 1), allowed=(0, 1)) == ([0], [])


def test_a_node_has_no_second_pod_before_the_first_has_vanished() -> None:
    assert does(ControlledPod("a", terminating=True)) == ([], [])
    assert does(ControlledPod("a", phase=Phase.FAILED)) == ([], ["a"]), "deleted, and made again when it is gone"
    assert does(ControlledPod("a", phase=Phase.SUCCEEDED)) == ([], ["a"])


def test_of_several_pods_the_oldest_stays() -> None:
    pods = [ControlledPod("b", created=2), ControlledPod("a", created=1), ControlledPod("c", created=3)]
    assert does(*pods) == ([], ["b", "c"])


def test_pods_leave_nodes_where_they_may_not_stay() -> None:
    pods = [ControlledPod("a", node=1), ControlledPod("b", node=1, terminating=True), ControlledPod("c")]
    assert does(*pods) == ([], ["a"])


@pytest.mark.parametrize(
    ("node", "runs", "stays"),
    [
        pytest.param({}, True, True, id="any-node"),
        pytest.param({"unschedulable": True}, True, True, id="cordoned"),
        pytest.param({"taints": ["gpu=yes:NoSchedule"]}, False, True, id="untolerated"),
        pytest.param({"taints": ["gpu=yes:PreferNoSchedule"]}, True, True, id="only-less-liked"),
        pytest.param({"taints": ["gpu=yes:NoExecute"]}, False, False, id="expelled"),
        pytest.param({"taints": ["node.kubernetes.io/not-ready:NoExecute"]}, True, True, id="not-ready"),
        pytest.param({"taints": ["node.kubernetes.io/disk-pressure:NoSchedule"]}, True, True, id="under-pressure"),
        pytest.param(
            {"taints": ["node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"]}, False, True, id="uninitialized"
        ),
        pytest.param({"labels": {"zone": "b"}}, False, False, id="not-selected"),
    ],
)
def test_which_nodes_are_meant(node: dict[str, Any], runs: bool, stays: bool) -> None:
    wire = a_node("n", **({"labels": {"zone": "a"}} | node))
    nodes = a_cluster(wire).nodes
    template = NodeSelection(labels=(("zone", "a"),), terms=None), ADDED_TOLERATIONS
    assert (runs_on(nodes, *template).tolist(), stays_on(nodes, *template).tolist()) == ([runs], [stays])


def test_a_node_without_network_takes_pods_that_need_none() -> None:
    nodes = a_cluster(a_node("n", taints=["node.kubernetes.io/network-unavailable:NoSchedule"])).nodes
    assert runs_on(nodes, ANY, ADDED_TOLERATIONS).tolist() == [False]
    assert runs_on(nodes, ANY, (*ADDED_TOLERATIONS, ADDED_ON_HOST_NETWORK)).tolist() == [True]
    assert runs_on(nodes, ANY, [Toleration(operator="Exists")]).tolist() == [True]
