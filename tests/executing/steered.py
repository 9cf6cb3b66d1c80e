"""Steering in memory: a gate for new pods of the controllers that are announced, and a scheduler that asks nominations."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from executing.double import Double, a_task
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.task import Task


def steered(task: Task) -> Task:
    """The task, brought to its target."""
    return structs.replace(task, move=structs.replace(task.move, steering="nominate"))


def steered_tasks(app: str, count: int, **features: Any) -> list[Task]:
    """Tasks whose replacements are to go to ``t``."""
    features = {"candidates": ["t"]} | features
    return [steered(a_task(f"{app}-{at}", app, number=at, **features)) for at in range(count)]


@dataclass
class Gatekeeper:
    """A ``Steers`` for a double, whose scheduler puts pods on ``b`` unless they are nominated."""

    double: Double
    #: What is said of every announcement.
    problem: str | None = None
    #: Whether the admission policy has heard of announcements.
    gates: bool = True
    #: What a gated pod waits for.
    flags: Flag = Flag.STEERING_GATE
    #: What is said of every place that is to be held.
    unreservable: str | None = None
    #: What was done, in order: announce, nominate, withdraw and the pod of the task.
    done: list[str] = field(default_factory=list)
    awaited: set[tuple[str, int]] = field(default_factory=set)
    _nominated: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        create, place = self.double._create, self.double._place

        def gated(old: PodNow, keeps: bool) -> None:
            create(old, keeps)
            name = old.name if keeps else f"new-{self.double.made}"
            if self.gates and any(owner == old.owners[0].uid for owner, _ in self.awaited):
                self.double.pods[name] = replace(self.double.pods[name], flags=self.flags)

        def placed(name: str, old: str) -> None:
            if self.double.pods[name].is_gated:
                asyncio.get_running_loop().call_later(0.01, placed, name, old)
                return
            place(name, old)
            if name in self._nominated:
                self.double.pods[name] = replace(self.double.pods[name], node=self._nominated[name])

        self.double._create, self.double._place = gated, placed  # type: ignore[method-assign]

    async def announce(self, task: Task) -> str | None:
        await self._do("announce", task)
        if self.problem is None:
            self.awaited.add((task.gated_by, task.number))
        return self.problem

    async def reserve(self, task: Task) -> str | None:
        await self._do("reserve", task)
        return self.unreservable

    async def nominate(self, task: Task, pod: PodNow) -> None:
        await self._do("nominate", task)
        assert task.move.target is not None
        self._nominated[pod.name] = task.move.target
        self.let_go(pod.name)
        await self.withdraw(task)

    async def withdraw(self, task: Task) -> None:
        if (task.gated_by, task.number) in self.awaited:
            self.awaited.discard((task.gated_by, task.number))
            await self._do("withdraw", task)

    def let_go(self, name: str) -> None:
        self.double.pods[name] = replace(self.double.pods[name], flags=Flag(0))

    async def _do(self, what: str, task: Task) -> None:
        self.done.append(f"{what} {task.move.pod.name}")
        await asyncio.sleep(0.005)
