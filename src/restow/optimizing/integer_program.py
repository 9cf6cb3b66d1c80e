"""An integer program: whole numbers with costs, and rows that limit their sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

#: Parts of a row: columns, and what each counts.
Entries: TypeAlias = list[tuple[int, int]]


@dataclass(slots=True)
class IntegerProgram:
    """Columns are whole numbers from 0 to `most` that cost `cost` each; a row is what a sum of them is at least and at most."""

    cost: list[int] = field(default_factory=list)
    most: list[int] = field(default_factory=list)
    rows: list[tuple[Entries, int | None, int | None]] = field(default_factory=list)

    def column(self, most: int, cost: int = 0) -> int:
        """Add a column; returns its number."""
        self.cost.append(cost)
        self.most.append(most)
        return len(self.cost) - 1

    def at_most(self, entries: Entries, most: int) -> None:
        """Add a row, unless no values of its columns can break it."""
        if sum(max(factor, 0) * self.most[column] for column, factor in entries) > most:
            self.rows.append((entries, None, most))

    def exactly(self, entries: Entries, amount: int) -> None:
        """Add a row that leaves no choice."""
        self.rows.append((entries, amount, amount))

    def only_with(self, columns: Iterable[int], switches: Entries) -> None:
        """Each of some columns is zero unless the sum of the switches is at least one."""
        for column in columns:
            self.at_most([(column, 1), *((each, -factor * self.most[column]) for each, factor in switches)], 0)
