"""A cluster as a value: read from files, from an API server, or made up; then planned, scheduled, explained, simulated."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from restow.api.rows import Columns, Rows

if TYPE_CHECKING:
    from restow.api.answers import Explanation, Schedule
    from restow.api.plans import Plan
    from restow.api.rows import NodeSummary, PodSummary
    from restow.api.simulations import Simulation
    from restow.application.clusters import LoadedCluster
    from restow.application.feedback import Collected
    from restow.application.files import NamedFile
    from restow.application.planning import PlanRequest

#: A path, or the content: YAML or JSON as bytes, or an object as Python has it.
Document = str | os.PathLike[str] | bytes | Mapping[str, Any]
#: RFC 3339, or a datetime with a time zone.
Moment = str | datetime

_NODES: Final[Columns] = {
    "name": ("text", lambda node: node.name),
    "ready": ("flag", lambda node: node.ready),
    "unschedulable": ("flag", lambda node: node.unschedulable),
    "cpu_milli": ("integer", lambda node: node.cpu_milli),
    "cpu_requested_milli": ("integer", lambda node: node.cpu_requested_milli),
    "memory_bytes": ("integer", lambda node: node.memory_bytes),
    "memory_requested_bytes": ("integer", lambda node: node.memory_requested_bytes),
    "pods": ("integer", lambda node: node.pods),
}
_PODS: Final[Columns] = {
    "namespace": ("text", lambda pod: pod.namespace),
    "name": ("text", lambda pod: pod.name),
    "node": ("text", lambda pod: pod.node),
    "phase": ("text", lambda pod: pod.phase),
    "cpu_requested_milli": ("integer", lambda pod: pod.cpu_requested_milli),
    "memory_requested_bytes": ("integer", lambda pod: pod.memory_requested_bytes),
    "owner": ("text", lambda pod: pod.owner),
    "priority": ("integer", lambda pod: pod.priority),
}


@dataclass(frozen=True, repr=False, eq=False)
class Cluster:
    """The nodes, pods and other objects of a cluster at one moment; it never changes."""

    #: Sentences about the input, such as objects that were left out.
    warnings: tuple[str, ...]
    _found: LoadedCluster = field(compare=False)

    @classmethod
    def read(cls, *paths: str | os.PathLike[str], scheduler_version: str | None = None) -> Cluster:
        """Read dumps: files or folders, JSON, YAML or a snapshot, also packed (.gz).

        Several paths make one cluster. ``scheduler_version`` is that of its kube-scheduler, 1.33 to 1.37 (1.36 where it is
        not told). InputError where something cannot be read; it names the file.
        """
        from restow.application.clusters import ClusterSource, read_cluster
        from restow.application.feedback import Collected

        source = ClusterSource(tuple(os.fspath(each) for each in paths), scheduler_version=scheduler_version)
        return cls._of(read_cluster(source, Collected()))

    @classmethod
    def live(cls, *, context: str | None = None, kubeconfig: str | None = None) -> Cluster:
        """Read the cluster of a kubeconfig's context, or the one that this program runs in; nothing is written.

        What metrics.k8s.io serves is read too. InputError where no configuration leads to a cluster, ClientError where
        its API server does not answer.
        """
        from restow.application.clusters import ClusterSource, read_cluster
        from restow.application.feedback import Collected

        source = ClusterSource(kubeconfig=kubeconfig, context=context)
        return cls._of(read_cluster(source, Collected(), usage=True))

    @classmethod
    async def live_async(cls, *, context: str | None = None, kubeconfig: str | None = None) -> Cluster:
        """As ``live``, without holding up the event loop of the caller."""
        import asyncio

        return await asyncio.to_thread(partial(cls.live, context=context, kubeconfig=kubeconfig))

    @classmethod
    def generate(cls, *, nodes: int = 30, pods: int | None = None, seed: int = 1, profile: str = "mixed") -> Cluster:
        """Make up a cluster; the same arguments give the same one. ``pods`` are 20 for each node unless it says.

        InputError for an unknown profile, and for more than Kubernetes supports.
        """
        from restow.application.generating import delete, generated

        found = generated(profile, nodes, 20 * nodes if pods is None else pods, seed)
        cluster = cls._of(found)
        weakref.finalize(cluster, delete, found.source)
        return cluster

    @classmethod
    def _of(cls, found: LoadedCluster) -> Cluster:
        return cls(tuple(found.notes), structs.replace(found, notes=()))

    @cached_property
    def nodes(self) -> Rows[NodeSummary]:
        """The nodes, by name."""
        from restow.api.rows import nodes_of

        return Rows("nodes", nodes_of(self._found.cluster), _NODES)

    @cached_property
    def pods(self) -> Rows[PodSummary]:
        """The pods, by namespace and name."""
        from restow.api.rows import pods_of

        return Rows("pods", pods_of(self._found.cluster), _PODS)

    def plan(
        self,
        policy: Document | None = None,
        *,
        placement: Literal["prove", "upstream"] | None = None,
        steering: Literal["none", "nominate", "fence", "prefer"] | None = None,
        scheduler_config: Document | None = None,
        now: Moment | None = None,
    ) -> Plan:
        """Plan what a DeschedulerPolicy would move; without one, the bundled policy. The options are those of ``restow plan``.

        InputError for anything that cannot be used; it names file, object and field.
        """
        from restow.application.planning import PlanRequest
        from restow.policies.codes import Placement, SteeringMode

        request = PlanRequest(
            self._found,
            policy=_file(policy, "policy"),
            placement=None if placement is None else Placement(placement),
            steering=None if steering is None else SteeringMode(steering),
            configuration=_file(scheduler_config, "scheduler configuration"),
            now=_time(now),
        )
        return _planned(request)

    def plan_for(
        self,
        goal: str,
        *,
        budget: int | None = None,
        free: str = "",
        pods: Sequence[str] = (),
        prices: Document | None = None,
        scheduler_config: Document | None = None,
        now: Moment | None = None,
    ) -> Plan:
        """Plan the moves that together do most for a goal, such as "balance", or "pack,balance", as ``--goal`` of ``restow plan``.

        InputError for anything that cannot be used.
        """
        from restow.application.goals import GoalRequest, policy_or_goal
        from restow.application.planning import PlanRequest

        asked = GoalRequest(goal, budget, free, tuple(pods), _file(prices, "prices"))
        configuration = _file(scheduler_config, "scheduler configuration")
        policy = policy_or_goal(None, asked)
        return _planned(PlanRequest(self._found, policy=policy, configuration=configuration, now=_time(now)))

    async def plan_async(self, policy: Document | None = None, **options: Any) -> Plan:
        """As ``plan``, without holding up the event loop: a policy may ask Prometheus, and a large plan takes seconds."""
        import asyncio

        return await asyncio.to_thread(partial(self.plan, policy, **options))

    def schedule(
        self, pod: str | None = None, *, scheduler_config: Document | None = None, now: Moment | None = None
    ) -> Schedule:
        """Schedule the pending pods one after the other as kube-scheduler would, or one pod (NAMESPACE/NAME).

        InputError for a pod that is not there, or a configuration that cannot be used.
        """
        from restow.api.answers import scheduled
        from restow.application.scheduling import ScheduleRequest

        configuration = _file(scheduler_config, "scheduler configuration")
        return scheduled(ScheduleRequest(self._found, pod, configuration, _time(now)), _feedback())

    def explain(self, name: str, policy: Document | None = None, *, now: Moment | None = None) -> Explanation:
        """Explain why a pod (NAMESPACE/NAME) stays or moves, or what a plan does to a node (NAME).

        InputError for a pod or node that is not there, and for a policy that cannot be used.
        """
        from restow.api.answers import explained
        from restow.application.planning import PlanRequest

        request = PlanRequest(self._found, policy=_file(policy, "policy"), now=_time(now))
        return explained(request, name, _feedback())

    def simulate(
        self,
        scenario: str | os.PathLike[str] | None = None,
        policy: Document | None = None,
        *,
        duration: timedelta | None = None,
        until_stable: bool = False,
        seed: int | None = None,
        now: Moment | None = None,
    ) -> Simulation:
        """Run this cluster, its controllers and a policy in virtual time; a scenario (a path) says what happens and is expected.

        The options are those of ``restow simulate``; without a scenario one of ``duration`` and ``until_stable`` is
        needed. InputError for anything that cannot be used.
        """
        from restow.api.simulations import simulated

        return simulated(
            self._found,
            None if scenario is None else os.fspath(scenario),
            _file(policy, "policy"),
            duration=None if duration is None else duration // timedelta(microseconds=1) * 1000,
            until_stable=until_stable,
            now=_time(now),
            seed=seed,
        )

    def __repr__(self) -> str:
        cluster = self._found.cluster
        warnings = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<Cluster of {len(cluster.nodes):,} nodes, {len(cluster.pods):,} pods: {self._found.origin}{warnings}>"

    def _repr_html_(self) -> str:
        return self.nodes._repr_html_()


def _planned(request: PlanRequest) -> Plan:
    from restow.api.plans import Plan
    from restow.application.planning import make

    feedback = _feedback()
    planned = make(request, feedback)
    return Plan(tuple(feedback.warnings), planned)


def _feedback() -> Collected:
    from restow.application.feedback import Collected

    return Collected()


def _file(document: Document | None, name: str) -> NamedFile | None:
    """A document as the application takes it."""
    from restow.application.files import NamedText

    if isinstance(document, bytes):
        return NamedText(name, document)
    if isinstance(document, Mapping):
        import msgspec

        return NamedText(name, msgspec.json.encode(document))
    return None if document is None else str(Path(document))


def _time(moment: Moment | None) -> str | None:
    """A time as ``--now`` has it; ValueError for one without a time zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"now: {moment} has no time zone; say which, such as datetime.now(UTC)")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
