"""Trials that are given up after their first futures, because another one is better in each of these.

If two policies were equally good, one would be better in all five first futures in one case of 32 at most. Only with the best
complete trials so far is it compared, so that many trials do not make many chances. What a trial that is given up comes to
is told by the differences to the better one, which has seen the same futures and all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

#: How many futures decide.
FIRST: Final = 5

#: The objectives of a trial in each of its futures; less is better.
Outcomes: TypeAlias = Sequence[Sequence[float]]


@dataclass(slots=True)
class BestTrials:
    """The complete trials than which no other is as good in all objectives and better in one."""

    _front: list[Outcomes] = field(default_factory=list)

    def add(self, complete: Outcomes) -> None:
        """A trial has seen all futures."""
        means = means_of(complete)
        if any(_is_no_worse(means_of(each), means) for each in self._front):
            return
        self._front = [each for each in self._front if not _is_no_worse(means, means_of(each))]
        self._front.append(complete)

    def projected(self, first: Outcomes) -> list[float] | None:
        """The objectives of a trial that is to be given up after its first futures; None where it has to go on."""
        better = next((each for each in self._front if _is_better_in_each(each, first)), None)
        if better is None:
            return None
        seen = better[: len(first)]
        return [
            round(whole + mine - theirs, 6)
            for whole, mine, theirs in zip(means_of(better), means_of(first), means_of(seen), strict=True)
        ]


def means_of(outcomes: Outcomes) -> list[float]:
    """The mean of each objective over the futures."""
    return [round(math.fsum(each) / len(outcomes), 6) for each in zip(*outcomes, strict=True)]


def _is_no_worse(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def _is_better_in_each(complete: Outcomes, first: Outcomes) -> bool:
    """Whether a trial is better in each of the futures that another has seen, in all objectives."""
    return all(
        theirs < mine
        for future, other in zip(first, complete, strict=False)
        for mine, theirs in zip(future, other, strict=True)
    )
