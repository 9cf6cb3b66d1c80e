"""One descheduling cycle: every strategy of every profile, in upstream's order, on one state.

First all profiles' deschedule strategies, then all profiles' balance strategies; a strategy that cannot work does not
stop the others. With fewer than two usable nodes nothing is done. Source: Descheduler 0.36, runDeschedulerLoop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.label_groups import LabelGroups
from restow.cluster.snapshot import Cluster
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Turn
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import Strategy, View
from restow.descheduling.limits import Limits
from restow.descheduling.node_fit import NodeFit
from restow.errors import InputError
from restow.kube.labels import parse_selector
from restow.policies.policy import Policy, Profile, collects_kubernetes_metrics
from restow.policies.priority import resolve_priority_threshold

#: Fewer nodes than this and an evicted pod could only come back.
FEWEST_NODES = 2


@dataclass(slots=True, frozen=True)
class Cycle:
    """What a cycle decided: the arbiter's record, and the state it left."""

    arbiter: Arbiter
    state: ClusterState
    nodes: IntArray

    @property
    def skipped(self) -> bool:
        """Whether there were too few nodes to do anything."""
        return len(self.nodes) < FEWEST_NODES


def run_cycle(cluster: Cluster, policy: Policy, strategies: Mapping[str, Strategy], now: int) -> Cycle:
    """Decide for one cluster at one time (nanoseconds since the epoch).

    InputError for what only the cluster can show to be wrong in the policy: a priority class that is not there.
    """
    state = ClusterState(cluster)
    limits = Limits(
        per_node=policy.max_no_of_pods_to_evict_per_node,
        per_namespace=policy.max_no_of_pods_to_evict_per_namespace,
        total=policy.max_no_of_pods_to_evict_total,
    )
    cycle = Cycle(Arbiter(state, limits), state, usable_nodes(cluster, policy.node_selector))
    thresholds = [_threshold(profile, cluster) for profile in policy.profiles]
    if not cycle.skipped:
        _run(cycle, policy, strategies, thresholds, now)
    return cycle


def usable_nodes(cluster: Cluster, selector: str | None) -> IntArray:
    """The nodes handed to strategies: ready, and matching the policy's nodeSelector; InputError if that is unreadable."""
    usable = cluster.nodes.ready
    if selector:
        try:
            parsed = parse_selector(selector)
        except ValueError as error:
            raise InputError(f"nodeSelector: {error}") from error
        usable = usable & np.array([parsed.matches(labels) for labels in cluster.nodes.labels], dtype=bool)
    return np.flatnonzero(usable)


def _threshold(profile: Profile, cluster: Cluster) -> int:
    return resolve_priority_threshold(profile.args["DefaultEvictor"].priority_threshold, cluster.priority_classes())


def _run(cycle: Cycle, policy: Policy, strategies: Mapping[str, Strategy], thresholds: Sequence[int], now: int) -> None:
    labels = LabelGroups(cycle.state.cluster.pods)
    fit = NodeFit(cycle.state, labels)
    evictors = [
        DefaultEvictor(
            profile.args["DefaultEvictor"], threshold=threshold, state=cycle.state, fit=fit, labels=labels, now=now
        )
        for profile, threshold in zip(policy.profiles, thresholds, strict=True)
    ]
    for turn, profile, evictor in _turns(policy, evictors):
        view = View(
            state=cycle.state,
            nodes=cycle.nodes,
            now=now,
            evictor=evictor,
            fit=fit,
            labels=labels,
            collects_metrics=collects_kubernetes_metrics(policy),
            refuse=partial(cycle.arbiter.refuse, turn, evictor),
            note=partial(cycle.arbiter.note, turn),
        )
        suggestions = strategies[turn.plugin].suggest(view, profile.args[turn.plugin])
        cycle.arbiter.settle(turn, suggestions, evictor)


def _turns(policy: Policy, evictors: list[DefaultEvictor]) -> Iterator[tuple[Turn, Profile, DefaultEvictor]]:
    for profile, evictor in zip(policy.profiles, evictors, strict=True):
        for name in profile.deschedule:
            yield Turn(profile.name, name), profile, evictor
    for profile, evictor in zip(policy.profiles, evictors, strict=True):
        for name in profile.balance:
            yield Turn(profile.name, name), profile, evictor
