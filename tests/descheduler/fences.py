"""Fences of a small cluster as far as a plan sees them: whether they can be set, and whether they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from restow.descheduler.offering import Choice
from restow.policies.codes import SteeringMode


@dataclass
class Fences:
    """What becomes of them; a ``Fencing`` for whoever carries out a plan."""

    #: The pods that were asked for.
    asked: list[str]
    #: Why they cannot be set.
    problem: str | None = None
    is_whole: bool = True
    has_lasted: bool = False
    #: Called while they are set.
    on_set: Callable[[], None] = lambda: None
    #: In order, with the number of pods that were asked for by then.
    done: list[tuple[str, int]] = field(default_factory=list)

    def choice(self, kind: SteeringMode = "fence") -> Choice:
        """The way to steer that these are."""
        fencing: Any = self
        return Choice(kind, fencing=fencing)

    async def now(self, _: Any) -> Choice:
        return self.choice()

    async def set(self, nodes: Any, effect: str) -> str | None:
        self.is_whole = True
        self.on_set()
        self.done.append((f"{','.join(nodes)} {effect}", len(self.asked)))
        return self.problem

    async def lift(self) -> None:
        self.done.append(("lift", len(self.asked)))

    def stop(self) -> None:
        self.done.append(("stop", len(self.asked)))
