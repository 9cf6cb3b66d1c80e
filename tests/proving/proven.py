"""Proven plans of builder objects, made again on the clusters that they predict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from builders import NOW, a_pdb, a_service
from descheduling.harness import Object, a_cluster, a_policy
from proving.predicted import predicted
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.registry import plugins, strategies
from restow.kube.timestamps import parse_time
from restow.policies.codes import SteeringMode
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.proving.search import prove_cycle
from restow.scheduling.loop.missing_data import KINDS

#: Plans made one on the prediction of the other.
PLANS = 4
#: An object of each kind without which somebody might not know enough; none of them concerns the pods of a test.
TOLD: tuple[Object, ...] = (
    a_pdb("none", namespace="nowhere", selector={}),
    a_service("none", namespace="nowhere", selector={"no": "pod"}),
    *(
        {"kind": kind, "metadata": {"name": "none", "namespace": "nowhere"}}
        for kind in KINDS
        if kind not in ("PodDisruptionBudget", "Service", "CSIStorageCapacity")
    ),
)


def read_policy(policy: str | Object) -> Policy:
    """A policy as the loader reads it."""
    text = policy if isinstance(policy, str) else json.dumps(policy)
    return load_policy(text.encode(), "policy.yaml", plugins()).policy


def prove(objects: Sequence[Object], policy: str | Object, now: str = NOW, *, steering: SteeringMode = "none") -> Cycle:
    """One proven plan; every change of the state is checked against a recomputation at the end."""
    cycle = prove_cycle(a_cluster(*objects), read_policy(policy), strategies(), parse_time(now), steering=steering)
    cycle.state.validate()
    return cycle


def plans(
    objects: Sequence[Object],
    policy: str | Object,
    now: str = NOW,
    most: int = PLANS,
    *,
    steering: SteeringMode = "none",
) -> Iterator[Cycle]:
    """A plan, one on the cluster that it predicts, and so on until one is empty."""
    for _ in range(most):
        cycle = prove(objects, policy, now, steering=steering)
        yield cycle
        if not cycle.record.evictions:
            return
        objects = predicted(objects, cycle, now)


def proven(strategy: str, args: Object, *objects: Object, **policy: Any) -> Cycle:
    """A proven plan of one strategy on objects and on ``TOLD``; ``policy`` as in ``a_policy``."""
    return prove([*objects, *TOLD], a_policy(strategy, args, **policy))


def upstream_evictions(strategy: str, args: Object, *objects: Object, **policy: Any) -> int:
    """How many pods the Descheduler would evict."""
    loaded = load_policy(msgspec.json.encode(a_policy(strategy, args, **policy)), "policy.json", plugins())
    return len(run_cycle(a_cluster(*objects), loaded.policy, strategies(), parse_time(NOW)).record.evictions)


def moved(cycle: Cycle) -> list[str]:
    """Names of the moved pods in order; with their namespace outside the default one."""
    pods = cycle.state.cluster.pods
    return [pods.full_name(each.pod).removeprefix("default/") for each in cycle.record.evictions]


def landings(cycle: Cycle) -> dict[str, str]:
    """The node that each moved pod lands on; empty where nothing lands."""
    nodes = cycle.state.cluster.nodes.names
    targets = [each.landing.target for each in cycle.record.evictions]
    names = [nodes[target] if target >= 0 else "" for target in targets]
    return dict(zip(moved(cycle), names, strict=True))


def reasons(cycle: Cycle) -> dict[str, tuple[str, str, str]]:
    """Stage, code and message by name of the refused pod."""
    pods = cycle.state.cluster.pods
    return {pods.full_name(each.pod).removeprefix("default/"): each.reason for each in cycle.record.refusals}


def codes(cycle: Cycle) -> dict[str, str]:
    """Code of the refusal by name of the refused pod."""
    return {pod: code for pod, (_, code, _) in reasons(cycle).items()}
