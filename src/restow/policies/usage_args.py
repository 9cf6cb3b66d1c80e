"""Usage as an argument of strategies: where the figures come from by which a strategy judges nodes.

A strategy that goes by measured usage has the argument ``metrics_utilization: MetricsUtilization | None``. By that it is
known to ask a metrics provider, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from restow.policies.policy import KUBERNETES_METRICS, PROMETHEUS, Policy


class Prometheus(Struct, frozen=True, forbid_unknown_fields=True):
    """The query whose result is a node's usage, 0 to 1."""

    query: str = ""


class MetricsUtilization(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Where usage comes from; absent: the pods' requests. ``metrics_server`` is a deprecated KubernetesMetrics."""

    metrics_server: bool = False
    source: Annotated[str, Meta(extra={"go": "api.MetricsSource"})] = ""
    prometheus: Prometheus | None = None

    @property
    def provider(self) -> str:
        """The metrics provider that is asked; "" where none is."""
        return KUBERNETES_METRICS if self.metrics_server else self.source

    @property
    def query(self) -> str:
        """What is asked of Prometheus; empty where usage comes from elsewhere."""
        asks = self.provider == PROMETHEUS and self.prometheus is not None
        return self.prometheus.query if asks and self.prometheus is not None else ""


def usage_of(args: Any) -> MetricsUtilization | None:
    """Where a strategy's arguments say that usage comes from; None where it does not ask."""
    found = getattr(args, "metrics_utilization", None)
    return found if isinstance(found, MetricsUtilization) else None


def usage_in(policy: Policy) -> Iterator[tuple[str, MetricsUtilization]]:
    """Yield the enabled strategies of a policy that go by measured usage, in its order, and where that comes from."""
    for profile in policy.profiles:
        for name in (*profile.deschedule, *profile.balance):
            if (usage := usage_of(profile.args.get(name))) is not None:
                yield name, usage
