"""The cluster of upstream's utilisation tests, by the shorthands of its rows (B, T, Q), and one hot node of six pods.

Source: Descheduler 0.36, plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from builders import CRIT, DS, LS, MIRROR, OWN, RS, Object, a_pod, node_metrics, pod_metrics, pods_on, std_node
from descheduling.harness import NOW, a_cluster, a_policy
from restow.descheduling.cycle import run_cycle
from restow.descheduling.framework import Strategy, Suggestions, View
from restow.descheduling.plugins.low_node_utilization import SCHEMA
from restow.descheduling.registry import plugins, strategies
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy

NAME = "LowNodeUtilization"
METRICS = {"metricsUtilization": {"source": "KubernetesMetrics"}}
FOO = "example.com/foo"


def limits(low: Object, high: Object, **more: Any) -> Object:
    return {"thresholds": low, "targetThresholds": high, **more}


T = limits({"cpu": 30, "pods": 30}, {"cpu": 50, "pods": 50})
DEVIATION = limits({"cpu": 5, "pods": 5}, {"cpu": 5, "pods": 5}, useDeviationThresholds=True)

N1 = std_node("n1", 4000, 3000, 9)
N2 = std_node("n2", 4000, 3000, 10)
N3 = std_node("n3", 4000, 3000, 10, unschedulable=True)
BASE = [N1, N2, N3]
EAST = [N1, std_node("n2", 4000, 3000, 10, labels={"datacenter": "east"})]


def on_n1(*names: str, **same: Any) -> list[Object]:
    return pods_on("n1", *names, **{"cpu": "400m", "owner": RS, **same})


def protected(**same: Any) -> list[Object]:
    """Q: a pod of a daemon set, a mirror pod with local storage, and a critical pod."""
    return [
        *on_n1("p6", **{**same, "owner": DS}),
        *on_n1("p7", **{**same, "owner": OWN}, volumes=LS, annotations=MIRROR),
        *on_n1("p8", **{**same, "owner": OWN}, **CRIT),
    ]


Q = protected()
P9 = a_pod("p9", node="n2", cpu="400m", owner=RS)
FIVE = on_n1("p1", "p2", "p3", "p4", "p5")


def usage(n1: int = 3201, n2: int = 401, n3: int = 11, *, pod: int = 401, pods: str = "p1 p2 p3 p4 p5") -> list[Object]:
    """Metrics of the base nodes and of the pods of n1, in milli-CPUs; nothing uses memory."""
    by_node = {"n1": n1, "n2": n2, "n3": n3}
    return [
        *(node_metrics(name, cpu=f"{used}m") for name, used in by_node.items()),
        *(pod_metrics(name, cpu=f"{pod}m") for name in pods.split()),
    ]


def names_evicted(args: Object, objects: list[Object], suggest: Callable[[View, Any], Suggestions]) -> list[str]:
    """Names of the pods evicted when the strategy is ``suggest``, with nodeFit."""
    providers = [{"source": "KubernetesMetrics"}]
    policy = msgspec.json.encode(a_policy(NAME, args, evictor={"nodeFit": True}, metricsProviders=providers))
    loaded = load_policy(policy, "policy.json", plugins())
    cluster = a_cluster(*objects)
    done = run_cycle(cluster, loaded.policy, {**strategies(), NAME: Strategy(SCHEMA, suggest)}, parse_time(NOW))
    return [cluster.pods.names[each.pod] for each in done.record.evictions]


CPU = limits({"cpu": 20}, {"cpu": 50})
BIG1, BIG2, BIG3 = (std_node(name, 4000, 3000, 100) for name in ("n1", "n2", "n3"))
SIX = [f"b{index}" for index in range(6)]


def hot(**same: Any) -> list[Object]:
    return pods_on("n1", *SIX, cpu="500m", owner=RS, **same)
