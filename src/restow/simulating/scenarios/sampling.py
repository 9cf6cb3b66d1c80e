"""Numbers of a run at even intervals, few enough to plot for a run of any length.

It begins with a number every ten seconds. When there are too many, every other one is dropped and the interval doubles,
so the length of a run need not be known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.tallies import Tally

_FIRST_DISTANCE: Final = 10 * SECOND
_MOST: Final = 120


@dataclass(slots=True, frozen=True)
class Samples:
    """By name, the numbers at 0, ``every``, twice that and so on, in nanoseconds since the start of the run."""

    every: int
    numbers: Mapping[str, tuple[float, ...]]
    #: Those of the end, which may be between two of the others.
    last: Mapping[str, float]


@dataclass(slots=True)
class Sampler:
    """Reads tallies as a run goes."""

    tallies: Mapping[str, Tally]
    _every: int = _FIRST_DISTANCE
    _rows: list[tuple[float, ...]] = field(default_factory=list)

    def pass_to(self, time: int) -> None:
        """Read the tallies for all moments before ``time`` that have not been read: nothing has changed until then."""
        while len(self._rows) * self._every < time:
            self._rows.append(tuple(each.number for each in self.tallies.values()))
            if len(self._rows) > _MOST:
                self._rows = self._rows[::2]
                self._every *= 2

    def finish(self, end: int) -> Samples:
        """Return the numbers of a run that ended at ``end``, that moment included."""
        self.pass_to(end + 1)
        numbers = dict(zip(self.tallies, zip(*self._rows, strict=True), strict=True))
        return Samples(self._every, numbers, {name: each.number for name, each in self.tallies.items()})
