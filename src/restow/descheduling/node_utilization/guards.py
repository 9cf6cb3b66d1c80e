"""What keeps pods on an overused node although its figure is above the target: too short a time, or a peak that passes.

Both need more than one figure. The cycles before come with the result of a query, read with the same thresholds; the
trend is in its samples. Neither is known of what pods request, nor of what metrics.k8s.io serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from restow.cluster.usage_samples import QueryResult, falls_to
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.capacity import METRIC_RESOURCE, Percentages
from restow.descheduling.node_utilization.queried import figures_of, result_of, whole_percents
from restow.kube.duration import SECOND, format_duration
from restow.plain_text import some
from restow.policies.policy import UsageSettings

#: The names of the overused among some nodes, by their percentages.
Overused = Callable[[Mapping[str, Percentages]], Iterable[str]]


def held_back(view: View, query: str, over: Sequence[int], target: float, overused: Overused) -> list[int]:
    """Those of the overused nodes that give up pods; why others do not is noted."""
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
    """Which of the nodes that are overused now were so in as many of the last cycles as is asked for."""
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
    """Which of some nodes will be at their target soon if they go on falling as they did."""
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
