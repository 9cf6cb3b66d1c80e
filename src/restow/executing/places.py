"""The places that a plan has for replacements, and which of them are still free.

kube-scheduler chooses among equal nodes by chance, so a replacement may land on another node than the one that the
plan goes on with. If the plan has a place on that node for a pod alike, the two have only changed places: no node gets
fuller than the plan makes it, and when all moves are made the cluster is the one that was proven. Where there is no such
place left, later moves count on something else than what has come about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from restow.executing.task import Task


class Places:
    """What one plan has of them."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        #: By kind of pod and node.
        self._free: Counter[tuple[Hashable, str]] = Counter(
            (task.interchangeable, task.move.target)
            for task in tasks
            if task.interchangeable is not None and task.move.target is not None
        )

    def take(self, task: Task, node: str) -> bool:
        """Whether the plan holds with the replacement of a task on a node; if so, it has taken its place there."""
        move = task.move
        if task.interchangeable is None:
            return move.target in (None, node)
        place = task.interchangeable, node
        if not self._free[place] or (node == move.source and node != move.target) or node in move.in_vain:
            return False
        self._free[place] -= 1
        return True
