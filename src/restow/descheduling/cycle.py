"""One descheduling cycle: every strategy of every profile, in upstream's order, on one state.

First all profiles' deschedule strategies, then all profiles' balance strategies; a strategy that cannot work does not
stop the others. With fewer than two usable nodes nothing is done. Source: Descheduler 0.36, runDeschedulerLoop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field, structs

from restow.cluster.budgets import CoveringBudgets
from restow.cluster.interning import IntArray
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_columns import PodUids
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Record, Searches
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import EarlierSearch, LandingCheck, Reason, Strategy, View
from restow.descheduling.groups import HeldGroups, MovingGroups
from restow.descheduling.limits import Limits, PriorEviction
from restow.descheduling.machines import wants_migration
from restow.descheduling.node_fit import NodeFit
from restow.descheduling.placement import EvictOnly, PluginRef, excluded_pods
from restow.descheduling.protections import namespace_checks
from restow.descheduling.vetoes import Vetoes
from restow.errors import InputError
from restow.kube.labels import parse_selector
from restow.policies.arguments import resolve_priority_threshold
from restow.policies.codes import Placement, SteeringMode
from restow.policies.policy import Policy, Profile, collects_kubernetes_metrics
from restow.policies.schema import DEFAULT_EVICTOR, ExtensionPoint
from restow.scheduling.devices.extended_resources import claimed_resources
from restow.workloads.groups import Groups, group_kinds

#: With fewer nodes, an evicted pod could only come back.
FEWEST_NODES = 2


class Fence(NamedTuple):
    """The nodes that a plan fences, by index, and the effect of the taint."""

    nodes: IntArray
    effect: str


class Cycle(Struct, frozen=True):
    """What a cycle decided, and the state it left."""

    record: Record
    state: ClusterState
    nodes: IntArray
    #: Finds the pods of the state that a selector matches.
    labels: LabelGroups
    #: Kinds that the input lacks although evictions or landing places depend on them.
    missing: frozenset[str] = frozenset()
    #: The fence with which the moves were proven, by index; None if there is none.
    fence: Fence | None = None
    #: The groups of pods; None where they are not looked for.
    groups: Groups | None = None
    #: The budgets by the pods that they cover; None where none was asked.
    covering: CoveringBudgets | None = None
    #: Whether another decision might be made at another time, on the same cluster.
    depends_on_time: bool = True

    @property
    def skipped(self) -> bool:
        """Whether there were too few nodes to do anything."""
        return len(self.nodes) < FEWEST_NODES


def run_cycle(
    cluster: ClusterSnapshot,
    policy: Policy,
    strategies: Mapping[str, Strategy],
    now: int,
    *,
    prior_evictions: Iterable[PriorEviction] = (),
    excluded: Mapping[str, Reason] = MappingProxyType({}),
) -> Cycle:
    """Decide for one cluster at one time (nanoseconds since the epoch) as the Descheduler would.

    If a cycle is decided again in its middle, ``prior_evictions`` are those that it has made already, and ``excluded`` are the
    pods (by uid) that it could not evict, with the reasons. InputError if the policy names a priority class that the cluster
    does not have.
    """
    state = ClusterState(cluster, by_status=False)
    runner = StrategyRunner.of(state, policy, strategies, now, placement=Placement.UPSTREAM)
    must_stay = excluded_pods(state.cluster.pods, PodUids(state.cluster.pods), excluded) if excluded else {}
    arbiter = Arbiter(state, runner.limits(prior_evictions), EvictOnly(state, must_stay))
    runner.run(arbiter)
    return runner.cycle(arbiter.record())


@dataclass(slots=True)
class _Clock:
    """The time of a plan, which remembers whether anything asked for it."""

    now: int
    was_read: bool = False

    def __call__(self) -> int:
        self.was_read = True
        return self.now


class StrategyRunner(Struct, frozen=True):
    """Runs the strategies of a policy on one state, any number of times."""

    state: ClusterState
    #: The nodes that strategies see.
    nodes: IntArray
    labels: LabelGroups
    vetoes: Vetoes
    policy: Policy
    _strategies: Mapping[str, Strategy]
    _evictors: Sequence[DefaultEvictor]
    _fit: NodeFit
    _clock: _Clock
    _placement: Placement
    steering: SteeringMode
    #: The groups whose pods move together; None if groups stay, or are ignored.
    moving_groups: MovingGroups | None = None
    #: What strategies have searched for in earlier plans.
    searches: Searches = field(default_factory=dict)
    #: What strategies make once for a plan (``View.once``).
    _kept: dict[Any, Any] = field(default_factory=dict)
    #: The groups of pods; None where they are not looked for.
    groups: Groups | None = None

    @staticmethod
    def of(
        state: ClusterState,
        policy: Policy,
        strategies: Mapping[str, Strategy],
        now: int,
        *,
        placement: Placement,
        steering: SteeringMode = SteeringMode.NONE,
        searches: Searches = MappingProxyType({}),
        labels: LabelGroups | None = None,
        groups: Groups | None = None,
        kept: dict[Any, Any] | None = None,
    ) -> StrategyRunner:
        """The strategies of a policy on a state; InputError as ``run_cycle``.

        ``labels``, ``groups`` and ``kept`` are what earlier plans on the same state have left, None: nothing.
        """
        cluster = state.cluster
        nodes = usable_nodes(cluster, policy.node_selector)
        thresholds = [_threshold(profile, cluster) for profile in policy.profiles]
        labels = LabelGroups(cluster.pods) if labels is None else labels
        proves, settings = placement == Placement.PROVE, policy.restow
        # The Descheduler knows of no devices.
        fit = NodeFit(state, labels, claimed_resources(cluster) if proves else ())
        if proves and policy.restow.groups != "alone":
            groups = groups or Groups(cluster, group_kinds(policy.restow.group_label))
            held, moving = _held_or_moving(state, policy, groups, nodes)
        else:
            groups, held, moving = None, None, None
        vetoes = Vetoes.of(settings.vetoes, cluster, now) if proves else Vetoes.none(cluster)
        checks = (*namespace_checks(settings.namespaces, cluster), *vetoes.checks)
        evictors = [
            DefaultEvictor(
                profile.args[DEFAULT_EVICTOR],
                threshold=threshold,
                state=state,
                fit=fit,
                labels=labels,
                vetoes=checks,
                now=now,
                held=held,
            )
            for profile, threshold in zip(policy.profiles, thresholds, strict=True)
        ]
        return StrategyRunner(
            state,
            nodes,
            labels,
            vetoes,
            policy,
            strategies,
            evictors,
            fit,
            _Clock(now, was_read=_depends_on_time(policy, vetoes)),
            placement,
            steering,
            moving,
            searches,
            {} if kept is None else kept,
            groups,
        )

    def run(self, arbiter: Arbiter) -> None:
        """Run every strategy once, in order, with an arbiter that decides. Do nothing if there are too few nodes."""
        if len(self.nodes) < FEWEST_NODES:
            return
        for ref, profile, evictor in self.refs():
            suggestions = self._strategies[ref.plugin].suggest(
                self.view(arbiter, ref, evictor), profile.args[ref.plugin]
            )
            arbiter.settle(ref, suggestions, evictor)

    def limits(self, prior_evictions: Iterable[PriorEviction]) -> Limits:
        """The limits of the policy, in which prior evictions are already counted."""
        limits = Limits.of(self.policy)
        limits.spend(prior_evictions, self.state, [ref for ref, *_ in self.refs()])
        return limits

    def cycle(self, record: Record, missed: Collection[str] = ()) -> Cycle:
        """What was decided on the state as it is; ``missed`` are kinds that landing places depend on and the input lacks."""
        missing = frozenset(kind for each in self._evictors for kind in each.missing).union(missed)
        return Cycle(
            record,
            self.state,
            self.nodes,
            self.labels,
            missing,
            groups=self.groups,
            depends_on_time=self._clock.was_read,
        )

    def bypassing(self, pod: int) -> StrategyRunner:
        """The strategies with evictors that protect every pod as before except this one."""
        return structs.replace(self, _evictors=[each.bypassing(pod) for each in self._evictors])

    def watchers(self, arbiter: Arbiter) -> list[tuple[PluginRef, LandingCheck]]:
        """The landing checks of the strategies that have one, for one round."""
        return [
            (ref, watch(self.view(arbiter, ref, evictor), profile.args[ref.plugin]))
            for ref, profile, evictor in self.refs()
            if (watch := self._strategies[ref.plugin].watch) is not None
        ]

    def view(self, arbiter: Arbiter, ref: PluginRef, evictor: DefaultEvictor) -> View:
        """What a strategy may look at while it runs."""
        return View(
            state=self.state,
            nodes=self.nodes,
            clock=self._clock,
            passes_filter=evictor.passes_filter,
            passes_pre_eviction=evictor.passes_pre_eviction,
            fit=self._fit,
            labels=self.labels,
            collects_metrics=collects_kubernetes_metrics(self.policy),
            usage=self.policy.restow.usage,
            refuse=partial(arbiter.refuse, ref, evictor),
            note=partial(arbiter.note, ref),
            report=partial(arbiter.report, ref),
            earlier=self.searches.get(ref, EarlierSearch()),
            keep=partial(arbiter.keep, ref),
            landing_of=arbiter.landing_of,
            moved_from=arbiter.moved_from,
            proves=self._placement == Placement.PROVE,
            closed=self.vetoes.closed,
            chooses_targets=self.steering == SteeringMode.NOMINATE,
            migrates=partial(wants_migration, self.state.cluster, self.policy.restow),
            kept=self._kept,
            aside=arbiter.aside,
        )

    def refs(self) -> Iterator[tuple[PluginRef, Profile, DefaultEvictor]]:
        """The strategies in the order in which they run, each with its profile and the profile's evictor."""
        for number, _, ref in plugins_in_order(self.policy):
            yield ref, self.policy.profiles[number], self._evictors[number]


def _depends_on_time(policy: Policy, vetoes: Vetoes) -> bool:
    """Whether it depends on the time which pods are protected."""
    ages = (profile.args[DEFAULT_EVICTOR].min_pod_age for profile in policy.profiles)
    return vetoes.expire or any(age is not None for age in ages)


def _held_or_moving(
    state: ClusterState, policy: Policy, groups: Groups, nodes: IntArray
) -> tuple[HeldGroups | None, MovingGroups | None]:
    """The groups that stay, or those that move together, as the policy says."""
    if policy.restow.groups == "together":
        return None, MovingGroups(state, groups, nodes)
    return HeldGroups.of(state, groups), None


def plugins_in_order(policy: Policy) -> Iterator[tuple[int, ExtensionPoint, PluginRef]]:
    """Yield the strategies of a cycle in the order in which they run: profile number, extension point, strategy."""
    for number, profile in enumerate(policy.profiles):
        for name in profile.deschedule:
            yield number, "deschedule", PluginRef(profile.name, name)
    for number, profile in enumerate(policy.profiles):
        for name in profile.balance:
            yield number, "balance", PluginRef(profile.name, name)


def usable_nodes(cluster: ClusterSnapshot, selector: str | None) -> IntArray:
    """The nodes handed to strategies: ready, and matching the policy's nodeSelector; InputError if that is unreadable."""
    usable = cluster.nodes.ready
    if selector:
        try:
            parsed = parse_selector(selector)
        except ValueError as error:
            raise InputError(f"nodeSelector: {error}") from error
        usable = usable & np.array([parsed.matches(labels) for labels in cluster.nodes.labels], dtype=bool)
    return np.flatnonzero(usable)


def _threshold(profile: Profile, cluster: ClusterSnapshot) -> int:
    return resolve_priority_threshold(profile.args[DEFAULT_EVICTOR].priority_threshold, cluster.priority_classes())
