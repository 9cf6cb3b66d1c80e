"""Which replacements of a plan may change places: neither the scheduler nor a strategy would tell them apart.

They have the same requests, rules and tolerations, and were moved by the same strategy. No two may where a strategy of
the policy looks at whose pods are where, or where usage is measured, for no two pods use the same. Pods with volumes and
pods that are moved together have places of their own.
"""

from __future__ import annotations

from collections.abc import Hashable

from restow.cluster.snapshot import Cluster
from restow.descheduling.arbiter import Eviction
from restow.descheduling.registry import strategies
from restow.policies.policy import Policy

#: Kinds of objects that tell what single pods use.
_MEASURED = "PodMetrics"


class Interchange:
    """Tells the replacements of one plan apart."""

    def __init__(self, cluster: Cluster, policy: Policy) -> None:
        self._pods = cluster.pods
        enabled = {name for profile in policy.profiles for name in (*profile.deschedule, *profile.balance)}
        measured = bool(cluster.usage) or bool(cluster.kind(_MEASURED))
        self._may = not measured and all(strategies()[name].by_parts for name in enabled)

    def kind(self, eviction: Eviction) -> Hashable | None:
        """The same for all that may change places; None for a replacement that has its own."""
        pods, pod = self._pods, eviction.pod
        if not self._may or eviction.landing.steering is not None or eviction.together is not None:
            return None
        if pods.tables.volumes[pods.volumes[pod]]:
            return None
        columns = (pods.resources, pods.rules, pods.tolerations, pods.ports, pods.schedulers, pods.priority)
        return eviction.ref, *(int(column[pod]) for column in columns)
