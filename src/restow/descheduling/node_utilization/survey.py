"""How full each listed node is before anything moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import Nodes
from restow.cluster.usage import Amounts
from restow.cluster.usage_samples import QueryResult, UsageQuery, falls_to
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.capacity import (
    METRIC_RESOURCE,
    Percentages,
    capacities,
    ceilings,
    percentages,
    total,
)
from restow.descheduling.node_utilization.queried import figures_of, result_of, whole_percents
from restow.descheduling.node_utilization.usage import Usage
from restow.kube.duration import SECOND, format_duration
from restow.plain_text import some
from restow.policies.policy import UsageSettings

#: Finds the overused ones among some nodes, by their percentages.
Overused = Callable[[Mapping[str, Percentages]], Iterable[str]]


@dataclass(slots=True, frozen=True)
class Survey:
    """Usage against capacity; the mappings are by node index, in canonical order."""

    nodes: Nodes
    #: Lowered as pods go; all else stays as it was at the start.
    usage: Usage
    capacities: Mapping[int, Amounts]
    loads: Mapping[int, Percentages]
    #: Which nodes may be given pods, bool[node].
    is_open: BoolArray

    @staticmethod
    def of(view: View, usage: Usage) -> Survey:
        """The survey of the nodes whose usage is known."""
        nodes = view.state.cluster.nodes
        held = capacities(nodes, usage.by_node)
        loads = {node: percentages(used, held[node]) for node, used in usage.by_node.items()}
        return Survey(nodes, usage, held, loads, ~nodes.unschedulable & ~view.closed)

    def ceilings(self, chosen: Iterable[int], thresholds: Mapping[str, float]) -> dict[int, Amounts]:
        """The usage that each of these nodes may reach."""
        return {node: ceilings(self.capacities[node], thresholds, self.usage.names) for node in chosen}

    def emptiest_first(self, chosen: Iterable[int]) -> list[int]:
        """These nodes by their total usage; ties in canonical order."""
        return sorted(chosen, key=lambda node: total(self.usage.by_node[node]))

    def fullest_first(self, chosen: Iterable[int]) -> list[int]:
        """These nodes by their total usage, the highest first; ties in canonical order."""
        return sorted(chosen, key=lambda node: -total(self.usage.by_node[node]))


# Both guards need more than one figure of a node: earlier figures, which are compared with the same thresholds, and the
# trend come from the samples of a query. Requests and metrics.k8s.io have no history, so neither guard applies to them.
def held_back(view: View, query: UsageQuery, over: Sequence[int], target: float, overused: Overused) -> list[int]:
    """The overused nodes that give up pods; the view notes why the others do not."""
    settings = view.usage
    if settings is None:
        return list(over)
    result = result_of(view, query)
    names = {view.state.cluster.nodes.names[node]: node for node in over}
    lasting = _lasting(result, settings, names, overused)
    _note(view, names.keys() - lasting, _too_short(result, settings))
    falling = _falling(result, settings, lasting, target)
    _note(view, falling, f"falling: it will be at its target within {format_duration(settings.trend_guard)}")
    return [node for name, node in names.items() if name in lasting and name not in falling]


def _lasting(result: QueryResult, settings: UsageSettings, names: Iterable[str], overused: Overused) -> set[str]:
    """The nodes that are overused now and were in as many of the last cycles as the policy requires."""
    times = dict.fromkeys(names, 1)
    for earlier in result.earlier[: settings.cycles_in_all - 1]:
        for name in times.keys() & set(_overused_then(earlier, settings, overused)):
            times[name] += 1
    return {name for name, count in times.items() if count >= settings.cycles}


def _overused_then(earlier: QueryResult, settings: UsageSettings, overused: Overused) -> Iterable[str]:
    try:
        figures = figures_of(earlier, settings)
    except StrategyError:
        return ()
    return overused({name: {METRIC_RESOURCE: float(whole_percents(each.value))} for name, each in figures.items()})


def _too_short(result: QueryResult, settings: UsageSettings) -> str:
    known = min(len(result.earlier) + 1, settings.cycles_in_all)
    return f"overused in fewer than {settings.cycles} of the last {settings.cycles_in_all} cycles ({known} known)"


def _falling(result: QueryResult, settings: UsageSettings, names: set[str], target: float) -> set[str]:
    """The nodes whose usage will soon be at the target if it continues to fall."""
    if not settings.trend_guard:
        return set()
    falling = set()
    for series in result.samples:
        end = falls_to(series, result.at, settings.trend_guard / SECOND) if series.node in names else None
        if end is not None and end * 100 <= target:
            falling.add(series.node)
    return falling


def _note(view: View, names: Iterable[str], why: str) -> None:
    held = sorted(names)
    if held:
        view.note(f"{some(held, 1)} keep{'s' if len(held) == 1 else ''} all pods: {why}")
