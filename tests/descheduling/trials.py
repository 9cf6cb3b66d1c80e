"""Strategies for tests of the machinery around strategies: each does one thing with a list of pod names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from descheduling.evictors import evictor_args
from descheduling.harness import NOW, a_cluster
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.framework import (
    PendingFilters,
    Strategy,
    StrategyError,
    Suggestion,
    Suggestions,
    Verdict,
    View,
)
from restow.kube.timestamps import parse_time
from restow.policies.arguments import PluginArgs
from restow.policies.codes import PlacementConstraint
from restow.policies.policy import Policy, Profile
from restow.policies.schema import PluginSchema

#: What the last cycle's strategies were told, in order.
Heard = list[Verdict]


def suggesting(
    *names: str,
    pending: PendingFilters = PendingFilters.ALL,
    heard: Heard | None = None,
    constraint: PlacementConstraint = PlacementConstraint.ANYWHERE,
) -> Strategy:
    """Suggests the pods of these names, in this order and whatever the verdicts."""

    def suggest(view: View, args: Any) -> Suggestions:
        for name in names:
            pod = view.pods.names.index(name)
            verdict = yield Suggestion(pod, f"{name} should move", constraint, pending=pending)
            if heard is not None:
                heard.append(verdict)

    return _strategy(suggest)


def listing(*names: str) -> Strategy:
    """Asks which of these pods are admissible, all at once, and suggests those with nothing owed."""

    def suggest(view: View, args: Any) -> Suggestions:
        wanted = np.array([view.pods.names.index(name) for name in names])
        for pod in view.admissible(wanted).tolist():
            yield Suggestion(pod, "listed")

    return _strategy(suggest)


def failing(*names: str) -> Strategy:
    """Cannot go on after these pods."""

    def suggest(view: View, args: Any) -> Suggestions:
        yield from suggesting(*names).suggest(view, args)
        raise StrategyError("no metrics for node n1")

    return _strategy(suggest)


def seeing(seen: list[Any], look: Callable[[View], Any]) -> Strategy:
    """Suggests nothing and notes what it sees."""

    def suggest(view: View, args: Any) -> Suggestions:
        seen.append(look(view))
        yield from ()

    return _strategy(suggest)


def _strategy(suggest: Callable[[View, Any], Suggestions]) -> Strategy:
    return Strategy(PluginSchema(name="Trial", extension_points=("deschedule", "balance"), args=PluginArgs), suggest)


def a_profile(name: str = "P", *, evictor: dict[str, Any] | None = None, **points: tuple[str, ...]) -> Profile:
    """A profile that runs these strategies; ``deschedule=("a", "b")``."""
    names = [each for point in points.values() for each in point]
    return Profile(name=name, args=dict.fromkeys(names) | {"DefaultEvictor": evictor_args(evictor or {})}, **points)


def trial(
    strategies: dict[str, Strategy], *objects: dict[str, Any], profiles: list[Profile] | None = None, **policy: Any
) -> Cycle:
    """One cycle at NOW; without profiles, one that runs all strategies by name as deschedule."""
    chosen = profiles or [a_profile(deschedule=tuple(strategies))]
    cycle = run_cycle(a_cluster(*objects), Policy(profiles=tuple(chosen), **policy), strategies, parse_time(NOW))
    cycle.state.validate()
    return cycle


def evicted(cycle: Cycle) -> list[str]:
    """Names of the evicted pods, in order."""
    return [cycle.state.cluster.pods.names[each.pod] for each in cycle.record.evictions]


def refused(cycle: Cycle) -> dict[str, tuple[str, str]]:
    """Stage and code by name of the refused pod."""
    names = cycle.state.cluster.pods.names
    return {names[each.pod]: (each.reason[0], each.reason[1]) for each in cycle.record.refusals}
