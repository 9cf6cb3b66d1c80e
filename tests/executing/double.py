"""A small cluster in memory and in virtual time: controllers, a scheduler, budgets, and an API server that evicts."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import looptime

from restow.client import eviction
from restow.client.transport import Permit, always
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import Flag, Phase, PodNow
from restow.descheduling.plan import Move, OwnerRef, PodRef
from restow.executing.execution import Execution
from restow.executing.history import EvictionHistory
from restow.executing.steering import NoSteering, Steers
from restow.executing.surroundings import ExecutionSettings
from restow.executing.task import ENDINGS, Outcome, Task
from restow.kube.objects import Condition, OwnerReference
from restow.policies.codes import PlacementConstraint
from restow.workloads.replacements import ReplacementPolicy

T = TypeVar("T")

READY = (Condition(type="Ready", status="True"),)
#: Seconds since the epoch at which tests begin.
START = 1_800_000_000.0
#: Seconds that an eviction takes, until a replacement is created, and until it has a node.
LATENCY, CREATED, PLACED = 0.1, 0.05, 0.2
OLD = int((START - 86400) * 1e9)


def now() -> float:
    """Virtual seconds since the epoch."""
    return START + asyncio.get_running_loop().time()


def a_task(
    pod: str,
    app: str = "web",
    *,
    number: int = 0,
    source: str = "a",
    candidates: Iterable[str] = (),
    budgets: Iterable[str] = (),
    limit: int = 1,
    kind: str = "ReplicaSet",
    replacement_policy: ReplacementPolicy = ReplacementPolicy.OVERLAPPING,
    plugin: str = "LowNodeUtilization",
    constraint: PlacementConstraint = PlacementConstraint.BETTER,
) -> Task:
    """A task to evict a pod of an app."""
    nodes = tuple(candidates)
    move = Move(
        pod=PodRef("default", pod, f"uid-{pod}"),
        owner=OwnerRef(kind, app),
        source=source,
        target=nodes[0] if nodes else None,
        certainty="certain" if nodes else None,
        candidates=nodes,
        candidate_count=len(nodes),
        plugin=plugin,
        constraint=constraint,
    )
    owner = OwnerReference(kind=kind, name=app, uid=f"uid-{app}", controller=True)
    owned = owner if replacement_policy is not ReplacementPolicy.NONE else None
    return Task(number, move, owned, f"uid-{app}", replacement_policy, limit, frozenset(budgets))


def tasks(app: str, count: int, first: int = 0, **features: Any) -> list[Task]:
    """Tasks to evict all pods of an app."""
    return [a_task(f"{app}-{at}", app, number=first + at, **features) for at in range(count)]


@dataclass
class Double:
    """Has the pods that its tasks are about, all ready; a ClusterView and an Evicting."""

    pods: dict[str, PodNow]
    #: Pods that have to stay ready, by budget.
    budgets: dict[str, int] = field(default_factory=dict)
    #: Whether it is told at once how much room they have.
    counts: bool = False
    #: The node of the replacement of a pod; None: none fits.
    land: Callable[[str], str | None] = lambda _: "b"
    ready_after: float = 1.0
    terminates: float = 0.5
    #: Answers instead of evictions, by pod, each once.
    answers: defaultdict[str, list[eviction.Outcome]] = field(default_factory=lambda: defaultdict(list))
    closed: set[str] = field(default_factory=set)
    evicted: list[str] = field(default_factory=list)
    asked: list[tuple[float, str]] = field(default_factory=list)
    #: The most that happened at a time, by budget, by workload, and in all.
    asking: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    made: int = 0
    interruptions: int = 0
    #: How many pods the controllers want of which that is known; none is made beyond.
    wanted: dict[str, int] = field(default_factory=dict)
    #: What namespaces say of evictions.
    annotations: dict[str, str] = field(default_factory=dict)
    #: What is known of nodes.
    rows: dict[str, NodeRow] = field(default_factory=dict)
    #: Kinds that are not known any more.
    hidden: set[str] = field(default_factory=set)
    #: Seconds since kinds were heard of.
    ages: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(tasks: Iterable[Task], **features: Any) -> Double:
        return Double({each.move.pod.name: a_pod(each) for each in tasks}, **features)

    def unknown(self, kinds: Iterable[str]) -> str | None:
        return next((f"nobody knows of {kind}" for kind in kinds if kind in self.hidden), None)

    def age(self, kind: str) -> float:
        return self.ages.get(kind, 0.0)

    def pod(self, namespace: str, name: str) -> PodNow | None:
        return self.pods.get(name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        same = [pod for pod in self.pods.values() if pod.namespace == namespace]
        return [pod for pod in same if pod.owners and pod.owners[0].uid == owner]

    def takes_pods(self, node: str) -> bool:
        return node not in self.closed

    def node_row(self, node: str) -> NodeRow | None:
        return self.rows.get(node)

    def opt_out(self, namespace: str) -> str | None:
        return self.annotations.get(namespace)

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        return self.wanted.get(owner.name)

    def has_room(self, budget: str) -> bool:
        """As far as is known: here nobody says before the API server does, unless ``counts`` is set."""
        return not self.counts or self._ready(budget) > self.budgets[budget]

    async def evict(self, task: Task) -> eviction.Outcome:
        name = task.move.pod.name
        self.asked.append((now(), name))
        self._count(task, 1)
        await asyncio.sleep(LATENCY)
        self._count(task, -1)
        if self.answers[name]:
            return self.answers[name].pop(0)
        pod = self.pods.get(name)
        if pod is None or pod.uid != task.move.pod.uid:
            return eviction.AlreadyGone("not found")
        if any(self._ready(budget) <= self.budgets[budget] for budget in task.budgets):
            return eviction.BudgetExhausted("no", f"The disruption budget {min(task.budgets)} needs all", None)
        self.disrupt(name)
        return eviction.EvictionAccepted()

    def disrupt(self, name: str) -> None:
        """A pod is deleted and, where it has an owner, replaced."""
        pod = self.pods[name]
        self.evicted.append(name)
        self.pods[name] = replace(pod, flags=pod.flags | Flag.TERMINATING, conditions=())
        owner = f"on the way {pod.owners[0].uid}" if pod.owners else ""
        self.asking[owner] += 1
        self.most[owner] = max(self.most[owner], self.asking[owner])
        loop = asyncio.get_running_loop()
        loop.call_later(self.terminates, self.pods.pop, name, None)
        if pod.owners:
            keeps = pod.owners[0].kind == "StatefulSet"
            loop.call_later(self.terminates + 0.01 if keeps else CREATED, self._create, pod, keeps)

    def _create(self, old: PodNow, keeps: bool) -> None:
        owner = old.owners[0]
        there = self.pods_of(old.namespace, owner.uid)
        if sum(not each.is_terminating for each in there) >= self.wanted.get(owner.name, 10**6):
            return
        self.made += 1
        name = old.name if keeps else f"new-{self.made}"
        created = int(now() * 1e9)
        self.pods[name] = replace(
            old,
            name=name,
            uid=f"uid-{name}-{self.made}",
            node=None,
            phase=Phase.PENDING,
            flags=Flag(0),
            conditions=(),
            created=created,
        )
        asyncio.get_running_loop().call_later(PLACED, self._place, name, old.name)

    def _place(self, name: str, old: str) -> None:
        if (node := self.land(old)) is not None:
            self.pods[name] = replace(self.pods[name], node=node, phase=Phase.RUNNING)
            asyncio.get_running_loop().call_later(self.ready_after, self._become_ready, name)

    def _become_ready(self, name: str) -> None:
        self.pods[name] = replace(self.pods[name], conditions=READY)
        self.asking[f"on the way {self.pods[name].owners[0].uid}"] -= 1

    def _ready(self, budget: str) -> int:
        """Budgets are called after the app that they cover, or cover all pods."""
        app = budget.partition("/")[2]
        return sum(p.is_ready for p in self.pods.values() if app in ("all", p.owners[0].name))

    def _count(self, task: Task, change: int) -> None:
        for what in (*task.budgets, "requests"):
            self.asking[what] += change
            self.most[what] = max(self.most[what], self.asking[what])


def a_pod(task: Task) -> PodNow:
    """The pod that a task is about."""
    pod, owners = task.move.pod, (task.owner,) if task.owner else ()
    return PodNow(pod.namespace, pod.name, pod.uid, task.move.source, Phase.RUNNING, Flag(0), owners, READY, OLD)


def an_execution(
    double: Double,
    *,
    memory: EvictionHistory | None = None,
    permit: Permit = always,
    clock: Callable[[], float] = now,
    steering: Steers | None = None,
    **settings: Any,
) -> Execution:
    steers = steering or NoSteering()
    return Execution(double, double, permit, ExecutionSettings(**settings), memory or EvictionHistory(), clock, steers)


async def outcomes(execution: Execution, tasks: Iterable[Task]) -> list[Outcome]:
    """All that is told, to the end."""
    async with aclosing(execution.carry_out(tasks)) as told:
        return [each async for each in told]


def carry_out(double: Double, tasks: Iterable[Task], **features: Any) -> list[Outcome]:
    """Runs an execution in virtual time."""
    return virtually(outcomes(an_execution(double, **features), tasks))


def virtually(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in a loop of its own, where pauses cost nothing."""
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(work)


def endings(told: Iterable[Outcome]) -> dict[str, str]:
    """What became of each pod; an AssertionError where one has two endings."""
    found: dict[str, str] = {}
    for each in told:
        if isinstance(each, ENDINGS):
            assert each.task.move.pod.name not in found, f"two endings: {each}"
            found[each.task.move.pod.name] = type(each).__name__
    return found


def messages(told: Iterable[Outcome], kind: type) -> list[str]:
    return [each.message for each in told if isinstance(each, kind)]
