"""The places that a plan has for replacements, and which replacements may take each other's.

kube-scheduler chooses among equal nodes at random, so a replacement may land on another node than the one that the plan
assumes. If the plan has a place on that node for an interchangeable pod, the two have only changed places: no node gets
fuller than the plan makes it, and once all moves are made the cluster is the one that was proven. If no such place is
left, the later moves assume a cluster that does not exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from restow.cluster.pod_classes import Aspect, ClassKeys
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.arbiter import Eviction
from restow.descheduling.registry import strategies
from restow.executing.task import Task
from restow.policies.policy import Policy

#: What interchangeable pods have in common besides their priority.
_ALIKE = Aspect.NODE_FIT | Aspect.PORTS | Aspect.SCHEDULER
#: The kind of objects that says what single pods use.
_MEASURED = "PodMetrics"


class Interchange:
    """Which replacements of one plan are interchangeable.

    Two are if neither the scheduler nor a strategy would notice an exchange: they are alike, and the same strategy moved
    them. None is if a strategy of the policy looks at whose pods are where, or if usage is measured, since no two pods
    use the same.
    """

    def __init__(self, cluster: ClusterSnapshot, policy: Policy) -> None:
        self._pods = cluster.pods
        self._keys = ClassKeys(cluster.pods, _ALIKE)
        enabled = {name for profile in policy.profiles for name in (*profile.deschedule, *profile.balance)}
        measured = bool(cluster.usage) or bool(cluster.kind(_MEASURED))
        self._may = not measured and all(strategies()[name].by_parts for name in enabled)

    def kind(self, eviction: Eviction) -> Hashable | None:
        """Equal for replacements that may change places; None if a replacement may not.

        One that has volumes, is steered or is moved together with others has its own place.
        """
        pods, pod = self._pods, eviction.pod
        if not self._may or eviction.landing.steering is not None or eviction.together is not None:
            return None
        if pods.tables.volumes[pods.volumes[pod]]:
            return None
        return eviction.ref, int(pods.priority[pod]), self._keys.of(pod)


class FreePlaces:
    """The places of one plan that no replacement has taken yet."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        #: How many, by kind of pod and node.
        self._free: Counter[tuple[Hashable, str]] = Counter(
            (task.interchangeable, task.move.target)
            for task in tasks
            if task.interchangeable is not None and task.move.target is not None
        )

    def take(self, task: Task, node: str) -> bool:
        """Whether the plan holds if the replacement of a task is on a node; if so, its place there is taken."""
        move = task.move
        if task.interchangeable is None:
            return move.target in (None, node)
        place = task.interchangeable, node
        if not self._free[place] or (node == move.source and node != move.target) or node in move.in_vain:
            return False
        self._free[place] -= 1
        return True
