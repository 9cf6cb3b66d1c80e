"""Runs one strategy on a cluster of builder objects, through the real policy loader, arbiter and cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.registry import plugins, strategies
from restow.kube.objects import KINDS, known_kind
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy

NOW = "2026-11-21T00:00:00Z"
#: Nodes that are handed to the strategy carry this label when ``listed`` narrows them.
LISTED = "harness/listed"

Object = dict[str, Any]

#: For pods c and d on one node and a and b on the next, all in one namespace: which go under a limit.
WALK_LIMITS: dict[str, tuple[Object, list[str]]] = {
    "none": ({}, ["c", "d", "a", "b"]),
    "node": ({"per_node": 1}, ["c", "a"]),
    "total": ({"total": 3}, ["c", "d", "a"]),
    "namespace": ({"per_namespace": 1}, ["c"]),
}


def a_cluster(*objects: Object) -> ClusterSnapshot:
    """The cluster that a dump of these objects would give."""
    store = ClusterStore()
    for each in objects:
        kind = known_kind(each["kind"], each.get("apiVersion", ""))
        store.add(kind, [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[kind])])
    return store.snapshot()


def a_policy(strategy: str, args: Object, *, evictor: Object | None = None, **policy: Any) -> Object:
    """A v1alpha2 policy of one profile with one strategy."""
    point = next(iter(plugins()[strategy].extension_points))
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        **policy,
        "profiles": [
            {
                "name": "test",
                "pluginConfig": [
                    {"name": "DefaultEvictor", "args": evictor or {}},
                    {"name": strategy, "args": args},
                ],
                "plugins": {point: {"enabled": [strategy]}},
            }
        ],
    }


def cycle(
    strategy: str,
    args: Object,
    *,
    nodes: Sequence[Object],
    pods: Sequence[Object],
    others: Sequence[Object] = (),
    evictor: Object | None = None,
    per_node: int | None = None,
    per_namespace: int | None = None,
    total: int | None = None,
    now: str = NOW,
    listed: Sequence[str] | None = None,
    usage: Mapping[UsageQuery, QueryResult] | None = None,
    restow: Object | None = None,
) -> Cycle:
    """One cycle; every change of the state is checked against a recomputation at the end.

    ``usage`` is what queries of Prometheus came to, None where nobody asked.
    """
    limits = {
        "maxNoOfPodsToEvictPerNode": per_node,
        "maxNoOfPodsToEvictPerNamespace": per_namespace,
        "maxNoOfPodsToEvictTotal": total,
    }
    policy = a_policy(
        strategy, args, evictor=evictor, **{key: value for key, value in limits.items() if value is not None}
    )
    nodes = [_marked(node, listed) for node in nodes]
    if any(each["kind"] == "NodeMetrics" for each in others):
        policy["metricsProviders"] = [{"source": "KubernetesMetrics"}]
    if restow is not None:
        policy["restow"] = restow
    if listed is not None:
        policy["nodeSelector"] = f"{LISTED}=yes"
    loaded = load_policy(msgspec.json.encode(policy), "policy.json", plugins())
    cluster = replace(a_cluster(*nodes, *pods, *others), usage=usage or {})
    done = run_cycle(cluster, loaded.policy, strategies(), parse_time(now))
    done.state.validate()
    return done


def evictions(strategy: str, args: Object, **cluster: Any) -> list[str]:
    """Names of the evicted pods in order; ``namespace/name`` outside the default namespace.

    A problem that kept the strategy from working is raised as an AssertionError.
    """
    done = cycle(strategy, args, **cluster)
    assert not done.record.problems, done.record.problems
    pods = done.state.cluster.pods
    return [pods.full_name(each.pod).removeprefix("default/") for each in done.record.evictions]


def refusals(strategy: str, args: Object, **cluster: Any) -> dict[str, str]:
    """Code of the refusal by name of the refused pod."""
    done = cycle(strategy, args, **cluster)
    pods = done.state.cluster.pods
    return {pods.full_name(each.pod).removeprefix("default/"): each.reason[1] for each in done.record.refusals}


def _marked(node: Object, listed: Sequence[str] | None) -> Object:
    if listed is None or node["metadata"]["name"] not in listed:
        return node
    metadata = {**node["metadata"], "labels": {**node["metadata"].get("labels", {}), LISTED: "yes"}}
    return {**node, "metadata": metadata}
