"""What ``restow.usage`` makes of the samples of a node, whatever their source: one figure, or none, and why.

A figure is the newest sample, or a percentile of a window. It needs enough samples, and a newest one that is young
enough; without one a node is unknown: it neither gives pods nor is meant to take any.
"""

from __future__ import annotations

from collections.abc import Mapping

from restow.cluster.usage_samples import Figure, NodeSamples, UsageChange, figure_of
from restow.descheduling.pod_criteria import short_duration
from restow.kube.duration import SECOND
from restow.policies.policy import UsageSettings
from restow.usage.measured import age_text


def figure_by(settings: UsageSettings, series: NodeSamples, at: float) -> Figure | None:
    """The figure of a node at a time in seconds; None if its samples are too few, too old, or from several series."""
    if (series.times[1:] == series.times[:-1]).any():
        return None
    window = settings.window if settings.looks_back else settings.max_age
    figure = figure_of(series, at, percentile=settings.percentile, window=window / SECOND)
    if figure is None or figure.samples < settings.min_samples or figure.age > settings.max_age / SECOND:
        return None
    return figure


def why_none(settings: UsageSettings, series: NodeSamples | None, at: float) -> str:
    """Why there is no figure, as a clause with the field of the policy that says so."""
    if series is None:
        return "no samples"
    age = max(0.0, at - float(series.times[-1]))
    if age > settings.max_age / SECOND:
        return f"the newest sample is {age_text(age)}, and maxAge is {_short(settings.max_age)}"
    return f"fewer than {settings.min_samples} samples (minSamples) within {_short(settings.window)}"


def in_words(settings: UsageSettings | None, asked: str, figure: Figure) -> str:
    """What a figure is, who was asked for it, and how old it is, for people."""
    if settings is None or settings.percentile is None:
        return f"{asked}, {age_text(figure.age)}"
    return f"{of_window(settings, asked)}, {figure.samples} samples, the newest {age_text(figure.age)}"


def of_window(settings: UsageSettings, asked: str) -> str:
    """The percentile and its window, for people: ``p95 over 2h of metrics.k8s.io``; without one who was asked."""
    if settings.percentile is None:
        return asked
    return f"p{settings.percentile:g} over {_short(settings.window)} of {asked}"


def share_unseen(
    settings: UsageSettings | None, figures: Mapping[str, Figure], at: float, change: UsageChange
) -> float:
    """A figure includes a change once there is a later sample; a percentile, once there are enough later samples."""
    since = at - change.at / SECOND
    if settings is None or settings.percentile is None:
        return float(since <= figures[change.node].age)
    share = settings.percentile / 100
    return float(since < settings.window / SECOND * (1 - share if change.is_arrival else share))


def _short(duration: int) -> str:
    return short_duration(duration // SECOND)
