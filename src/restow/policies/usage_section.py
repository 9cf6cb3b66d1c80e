"""What the values of ``restow.usage`` may be, and which queries a policy asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from restow.cluster.usage_samples import UsageQuery
from restow.documents.findings import Issue
from restow.kube.duration import SECOND, format_duration
from restow.policies.policy import KUBERNETES_METRICS, PROMETHEUS, Policy, RestowSettings, UsageSettings, provider_of

#: Values of one node that are kept of a window.
_MOST: Final = 2000
_PATH: Final = ("restow", "usage")


# A strategy that uses measured usage has the argument ``metrics_utilization: MetricsUtilization | None``. This
# identifies the strategies that need a metrics provider, also those of other packages.
class Prometheus(Struct, frozen=True, forbid_unknown_fields=True):
    """The query whose result is a node's usage, 0 to 1."""

    query: str = ""


class MetricsUtilization(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Where usage comes from; absent: the pods' requests. ``metrics_server`` is a deprecated KubernetesMetrics."""

    metrics_server: bool = False
    source: Annotated[str, Meta(extra={"go": "api.MetricsSource"})] = ""
    prometheus: Prometheus | None = None
    #: Of a source of an installed package. Upstream has no such key.
    query: str | UnsetType = UNSET

    @property
    def provider(self) -> str:
        """The metrics provider that is asked; "" where none is."""
        return KUBERNETES_METRICS if self.metrics_server else self.source

    @property
    def is_queried(self) -> bool:
        """Whether the source that is named answers queries, each with one figure for a node."""
        return self.source == PROMETHEUS or bool(self.query)

    @property
    def usage_query(self) -> UsageQuery | None:
        """The query; None if the source answers no queries."""
        of_prometheus = self.prometheus.query if self.prometheus is not None else ""
        text = of_prometheus if self.source == PROMETHEUS else self.query
        return UsageQuery(self.source, text) if text and self.provider == self.source and self.is_queried else None


def queries_of(policy: Policy) -> tuple[UsageQuery, ...]:
    """The queries of enabled strategies, each once; without those of sources that are not among the policy's providers."""
    asked = (usage.usage_query for _, usage in usage_in(policy))
    return tuple(dict.fromkeys(each for each in asked if each is not None and provider_of(policy, each.source)))


def check_usage(settings: RestowSettings) -> Iterator[Issue]:
    """Yield what is wrong with the values of the section."""
    usage = settings.usage
    if usage is None:
        return
    if usage.percentile is not None and not 0 < usage.percentile <= 100:
        yield Issue((*_PATH, "percentile"), f"must be above 0, up to 100, not {usage.percentile:g}")
    for name, number in (("minSamples", usage.min_samples), ("cycles", usage.cycles)):
        if number < 1:
            yield Issue((*_PATH, name), f"must be 1 or more, not {number}")
    if usage.of_cycles and usage.of_cycles < usage.cycles:
        yield Issue((*_PATH, "ofCycles"), f"must be {usage.cycles} (cycles) or more, not {usage.of_cycles}")
    yield from _check_durations(usage)


def _check_durations(usage: UsageSettings) -> Iterator[Issue]:
    for name, duration in (("window", usage.window), ("maxAge", usage.max_age)):
        if duration < SECOND:
            yield Issue((*_PATH, name), "must be 1s or longer")
    for name, duration in (("step", usage.step), ("trendGuard", usage.trend_guard)):
        if duration < 0 or 0 < duration < SECOND:
            yield Issue((*_PATH, name), "must be 1s or longer, or 0s")
    if usage.reach and usage.spacing > usage.reach:
        yield Issue((*_PATH, "step"), f"must not be longer than {format_duration(usage.reach)}, which is looked at")
    elif usage.reach and usage.spacing >= SECOND and usage.reach // usage.spacing > _MOST:
        yield Issue((*_PATH, "step"), f"leaves more than {_MOST} values for each node; make it longer")
    elif usage.reach and usage.max_age < usage.spacing:
        yield Issue((*_PATH, "maxAge"), f"must not be shorter than {format_duration(usage.spacing)}, the step")
    elif usage.reach and usage.min_samples > (most := usage.window // usage.spacing):
        yield Issue((*_PATH, "minSamples"), f"must be {most} or less: a window has no more values")


def usage_of(args: Any) -> MetricsUtilization | None:
    """Where a strategy's arguments say that usage comes from; None where it does not ask."""
    found = getattr(args, "metrics_utilization", None)
    return found if isinstance(found, MetricsUtilization) else None


def usage_in(policy: Policy) -> Iterator[tuple[str, MetricsUtilization]]:
    """Yield the enabled strategies of a policy that use measured usage, in its order, and its source."""
    for profile in policy.profiles:
        for name in (*profile.deschedule, *profile.balance):
            if (usage := usage_of(profile.args.get(name))) is not None:
                yield name, usage
