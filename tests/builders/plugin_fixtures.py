"""The fixtures of the upstream plugin tests, as the test case tables abbreviate them.

``std_node("n1", 4000, 3000, 9)`` is ``n1(4000,3000,9)``; ``a_pod("p", node="n1", owner=RS)`` is ``p RS @n1``;
``**CRIT`` and ``annotations=MIRROR``, ``volumes=LS`` are the protected kinds of pods.
Source: descheduler v0.36, the ``*_test.go`` files of its plugins.
"""

from __future__ import annotations

from typing import Any

from builders.affinity import pod_anti_affinity, pod_term, selector, spread
from builders.metadata import Object, Owner
from builders.nodes import a_node
from builders.pods import a_pod

RS = Owner("ReplicaSet", "replicaset-1", uid="")
RS2 = Owner("ReplicaSet", "replicaset-2", uid="")
SS = Owner("StatefulSet", "statefulset-1", uid="")
#: The upstream helper's ordinary controlled pod: the owner has a kind and nothing else.
OWN = Owner("Pod", "", uid="")
DS = Owner("DaemonSet", "daemonset-1", uid="")

#: Local storage: one volume that is hostPath and emptyDir at once.
LS: list[Object] = [{"name": "sample", "hostPath": {"path": "somePath"}, "emptyDir": {"sizeLimit": "10Gi"}}]
MIRROR: Object = {"kubernetes.io/config.source": "api", "kubernetes.io/config.mirror": "mirror"}
CRIT: dict[str, Any] = {"namespace": "kube-system", "priority": 2_000_000_000}


def std_node(name: str, cpu: int = 2000, memory: int = 3000, pods: int = 10, **more: Any) -> Object:
    """A node of ``cpu`` millicores, ``memory`` bytes and ``pods`` slots; more arguments are those of ``a_node``."""
    return a_node(name, cpu=f"{cpu}m", memory=str(memory), pods=pods, **more)


def pods_on(node: str, *names: str, **same: Any) -> list[Object]:
    """Several pods on one node, all built with the same arguments."""
    return [a_pod(name, node=node, **same) for name in names]


def numbered(count: int, *, start: int = 0, **same: Any) -> list[Object]:
    """Pods pod-0, pod-1, ... built with the same arguments."""
    return [a_pod(f"pod-{index}", **same) for index in range(start, start + count)]


def anti(key: str, value: str, topology: str = "region") -> Object:
    """``A(key=value)``: a required anti-affinity term against pods with that label, per region."""
    return pod_anti_affinity([pod_term(selector((key, "In", value)), topology=topology)])


def tc(max_skew: int, topology: str = "zone", **more: Any) -> Object:
    """``tc(k)``: a hard constraint on the label ``zone`` for pods labelled foo=bar; ``tcn(k)`` has topology "node"."""
    return spread(max_skew, topology, selector(labels={"foo": "bar"}), **more)
