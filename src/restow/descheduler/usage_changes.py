"""Keeps what moves change about the usage of nodes, until every figure shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.cluster.usage_changes import UsageChange
from restow.executing.outcomes import Evicted, Landed, Outcome
from restow.executing.settings import Clock
from restow.kube.duration import HOUR, SECOND

#: Figures of a longer window are taken as they are (nanoseconds).
_KEPT: Final = 24 * HOUR


@dataclass(slots=True)
class UsageChanges:
    """What was moved lately; kept by a process over all its cycles."""

    #: What time it is in the cluster.
    clock: Clock
    _known: list[UsageChange] = field(default_factory=list)

    def note(self, outcome: Outcome) -> None:
        """Write down who has left a node, or come to one."""
        match outcome:
            case Evicted(task):
                self._add(task.move.source, {name: -amount for name, amount in task.used.items()})
            case Landed(task, _, node, _):
                self._add(node, task.used)

    def now(self) -> tuple[UsageChange, ...]:
        """What figures may not show yet."""
        oldest = int(self.clock() * SECOND) - _KEPT
        self._known = [each for each in self._known if each.at >= oldest]
        return tuple(self._known)

    def _add(self, node: str, amounts: Mapping[str, int]) -> None:
        if amounts:
            self._known.append(UsageChange(node, int(self.clock() * SECOND), amounts))
