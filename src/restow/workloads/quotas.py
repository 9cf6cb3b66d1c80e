"""ResourceQuotas: whether a namespace has room for the replacement of a pod.

The API server creates no pod for which a quota has no room, and a controller tries again until it has. A pod that is
being deleted counts until it is gone. So a replacement that has no room beside the old pod comes once that has vanished;
one that has no room then either does not come at all, and the old pod has to stay. That is so where a quota was lowered
after the pods were created, or where the next pod asks for more than the old one.

What is used is read of the quota's status, as admission does; what the moves of a plan add to it counts, too. Source: the
admission plugin ResourceQuota and its evaluator of pods, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from restow.cluster.owners import owner_of
from restow.cluster.pod_parts import decode_resources, total_resources
from restow.cluster.pod_reading import resources_key
from restow.cluster.pod_values import ContainerResources
from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.state import ClusterState
from restow.kube.excerpts import excerpt, title
from restow.kube.objects import PodSpec, ResourceQuota
from restow.kube.quantity import Quantity, parse_quantity
from restow.kube.requests import QOS_CLASSES
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy, Replacements

_KIND: Final = "ResourceQuota"
_ONE: Final = Quantity(1_000_000_000)
#: The resources that quotas name without ``requests.`` too.
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")
_BEST_EFFORT: Final = QOS_CLASSES.index("BestEffort")
#: Controllers whose pods have no deadline: the API server refuses a template with one.
_WITHOUT_DEADLINE: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
#: When a replacement comes, if one does.
_COMING: Final = (ReplacementPolicy.OVERLAPPING, ReplacementPolicy.AFTERWARDS)


class CountedPod(NamedTuple):
    """What quotas count of a pod, and what decides which of them do."""

    #: By the names that quotas have for it.
    amounts: Mapping[str, Quantity]
    priority_class: str
    is_best_effort: bool
    #: Whether its run time is limited; None where that is not known.
    has_deadline: bool | None


def without_room(quotas: Iterable[ResourceQuota], spec: PodSpec) -> str | None:
    """Return why no pod with this spec may come: the first quota without room, and of what; None if all have it."""
    resources = decode_resources(resources_key(spec))
    has_deadline = spec.active_deadline_seconds is not None
    pod = CountedPod(_amounts(resources), spec.priority_class_name or "", resources.qos == _BEST_EFFORT, has_deadline)
    for quota in quotas:
        if _concerns(quota, pod) and (what := _lacking(quota, pod, {})) is not None:
            return f"{_KIND} {quota.metadata.name} has no room for one pod more: {what}"
    return None


def _amounts(resources: ContainerResources) -> dict[str, Quantity]:
    """What a pod counts, by the names that quotas have for it."""
    requests, limits = total_resources(resources.key)
    counted = {f"requests.{name}": amount for name, amount in requests.items()}
    counted |= {name: amount for name, amount in requests.items() if name in _PLAIN or name.startswith("hugepages-")}
    counted |= {f"limits.{name}": amount for name, amount in limits.items()}
    return counted | {"pods": _ONE, "count/pods": _ONE}


def _concerns(quota: ResourceQuota, pod: CountedPod) -> bool:
    """Whether a quota counts a pod. One with a scope that is not known here counts none: then the controller finds out."""
    return all(_holds(*each, pod) for each in _scopes(quota))


def _lacking(quota: ResourceQuota, pod: CountedPod, more: Mapping[str, int]) -> str | None:
    """Return of what a quota has too little for one pod more; None if it has room.

    ``more`` is used beside what its status says, in nanos, by resource; it may be negative.
    """
    hard, used = quota.status.hard or {}, quota.status.used or {}
    for name in sorted(hard.keys() & pod.amounts.keys()):
        limit, amount = parse_quantity(hard[name]), pod.amounts[name]
        there = Quantity(parse_quantity(used.get(name, "0")).nano + more.get(name, 0))
        if amount.nano and there.nano + amount.nano > limit.nano:
            return f"{there} of {limit} {excerpt(name)} are used, and it takes {amount}"
    return None


def _scopes(quota: ResourceQuota) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What restricts a quota to some pods: scope, operator and values."""
    for scope in quota.spec.scopes or ():
        yield scope, "Exists", ()
    selector = quota.spec.scope_selector
    for each in (selector.match_expressions if selector else None) or ():
        yield each.scope_name, each.operator, each.values or ()


def _holds(scope: str, operator: str, values: tuple[str, ...], pod: CountedPod) -> bool:
    if scope == "PriorityClass":
        name = pod.priority_class
        asked = {"In": name in values, "NotIn": name not in values, "Exists": bool(name), "DoesNotExist": not name}
        return asked.get(operator, False)
    known = {
        "Terminating": pod.has_deadline is True,
        "NotTerminating": pod.has_deadline is False,
        "BestEffort": pod.is_best_effort,
        "NotBestEffort": not pod.is_best_effort,
    }
    return known.get(scope, False)


@dataclass(slots=True)
class QuotaRoom:
    """The quotas of a cluster, and what the moves of a plan have added to their use."""

    _cluster: ClusterSnapshot
    _replacements: Replacements
    _policies: ReplacementPolicies
    _by_namespace: Mapping[str, list[ResourceQuota]]
    #: Nanos by resource, for each quota.
    _added: dict[Key, Counter[str]] = field(default_factory=dict)
    #: By the identifier of resources.
    _amounts: dict[int, Mapping[str, Quantity]] = field(default_factory=dict)

    @staticmethod
    def of(state: ClusterState, replacements: Replacements) -> QuotaRoom:
        """The quotas of a state, in which the replacements that it has already are counted."""
        cluster, by_namespace = state.cluster, defaultdict[str, list[ResourceQuota]](list)
        for (namespace, _), quota in cluster.kind(_KIND).items():
            by_namespace[namespace].append(quota)
        room = QuotaRoom(cluster, replacements, ReplacementPolicies(cluster), by_namespace)
        for pod in np.flatnonzero(cluster.pods.replaces != NO_POD).tolist() if by_namespace else ():
            if state.exists[pod]:
                room.count(int(cluster.pods.replaces[pod]))
        return room

    def copy(self) -> QuotaRoom:
        """A copy that counts further moves separately."""
        return replace(self, _added={key: Counter(more) for key, more in self._added.items()})

    def when(self, pod: int) -> ReplacementPolicy:
        """When the replacement of a pod comes: later than its controller wants if there is no room for both."""
        policy = self._policies.of(pod)
        if policy is ReplacementPolicy.OVERLAPPING and self.lacking_beside(pod) is not None:
            return ReplacementPolicy.AFTERWARDS
        return policy

    def lacking_beside(self, pod: int) -> str | None:
        """Why the replacement of a pod cannot be created while the pod is there; None if it can."""
        return self._lacking(pod, "no room for one pod more")

    def refusal(self, pod: int) -> str | None:
        """Why the replacement of a pod cannot be created even when the pod is gone; None if it can, or if none comes."""
        if self._policies.of(pod) not in _COMING:
            return None
        return self._lacking(pod, "no room for the new pod even without this one", -1)

    def count(self, pod: int) -> None:
        """Count the move of a pod: the pod that comes, and not any more the one that goes.

        Where none comes, nothing: of a finished pod, which is cleared away, quotas count nothing anyhow.
        """
        if self._policies.of(pod) not in _COMING:
            return
        for quota in self._quotas(pod):
            used = self._added.setdefault(_key(quota), Counter())
            used.update(_nanos(quota, self._next(pod)))
            used.subtract(_nanos(quota, self._now(pod)))

    def _lacking(self, pod: int, what: str, times: int = 0) -> str | None:
        """Why a quota leaves no room for a replacement if the pod counts as often as this in addition."""
        for quota in self._quotas(pod):
            new = self._next(pod)
            if _concerns(quota, new):
                more = Counter(self._added.get(_key(quota), {}))
                more.update({name: times * nano for name, nano in _nanos(quota, self._now(pod)).items()})
                why = _lacking(quota, new, more)
                if why is not None:
                    return f"{title(_KIND, *_key(quota))} has {what}: {why}"
        return None

    def _quotas(self, pod: int) -> list[ResourceQuota]:
        pods = self._cluster.pods
        return self._by_namespace.get(pods.tables.namespaces[pods.namespace[pod]], [])

    def _now(self, pod: int) -> CountedPod:
        pods = self._cluster.pods
        return self._counted(pod, int(pods.resources[pod]), int(pods.origins[pod]))

    def _next(self, pod: int) -> CountedPod:
        pods, changes = self._cluster.pods, self._replacements.next_pod(pod).changes
        return self._counted(
            pod, *(int(changes.get(column, getattr(pods, column)[pod])) for column in ("resources", "origins"))
        )

    def _counted(self, pod: int, resources: int, origin: int) -> CountedPod:
        tables, owner = self._cluster.pods.tables, owner_of(self._cluster.pods, pod)
        found = tables.resources[resources]
        amounts = self._amounts.get(resources)
        if amounts is None:
            amounts = self._amounts[resources] = _amounts(found)
        has_deadline = False if owner is not None and owner.kind in _WITHOUT_DEADLINE else None
        return CountedPod(amounts, tables.origins[origin].priority_class, found.qos == _BEST_EFFORT, has_deadline)


def _key(quota: ResourceQuota) -> Key:
    return quota.metadata.namespace, quota.metadata.name


def _nanos(quota: ResourceQuota, pod: CountedPod) -> Mapping[str, int]:
    """What a quota counts of a pod."""
    return {name: amount.nano for name, amount in pod.amounts.items()} if _concerns(quota, pod) else {}
