"""Measuring one case, and the row of figures that comes of it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from bench.cases import Case, Size
from bench.inputs import Inputs, inputs
from bench.programs import Measured, Program

#: A process that took longer than this many seconds is not measured again.
CHEAP = 20.0
#: Ten times the cluster at ten times the cost is linear, at a hundred times quadratic. Processor time is steady; seconds
#: of deciding are few at a tenth of the size, and depend on what else the machine does.
MOST_PROCESS_GROWTH, MOST_DECIDING_GROWTH = 12.0, 40.0
#: Deciding in less than this many seconds tells nothing about growth.
SHORTEST = 0.02


@dataclass(slots=True, frozen=True)
class Row:
    """One case: medians of its runs."""

    case: Case
    upstream: Measured
    restow: Measured
    #: restow on a tenth of the cluster.
    tenth: Measured

    def agrees(self) -> bool:
        """Whether both programs evict as many pods, as far as that is certain and both came to their end."""
        counts = {self.upstream.evictions, self.restow.evictions}
        return self.case.varies or None in counts or len(counts) == 1

    def process_growth(self) -> float:
        """How many times the processor time of a tenth of the cluster the whole process takes."""
        return self.restow.cpu / self.tenth.cpu

    def deciding_growth(self) -> float | None:
        """The same of deciding alone; None where it is too short to tell."""
        if self.restow.deciding is None or self.tenth.deciding is None or self.tenth.deciding < SHORTEST:
            return None
        return self.restow.deciding / self.tenth.deciding

    def is_linear(self) -> bool:
        """Whether the cost grew about as the cluster did."""
        return self.process_growth() <= MOST_PROCESS_GROWTH and (self.deciding_growth() or 0.0) <= MOST_DECIDING_GROWTH


def measure(case: Case, size: Size, upstream: Program, restow: Program, repetitions: int) -> Row:
    """Both programs in turn, so that a machine that changes its pace changes it for both."""
    given = inputs(case, size)
    theirs, ours = [upstream(given)], [restow(given)]
    for _ in range(repetitions - 1):
        if theirs[0].wall < CHEAP:
            theirs.append(upstream(given))
        if ours[0].wall < CHEAP:
            ours.append(restow(given))
    tenth = _several(restow, inputs(case, size.tenth()), repetitions)
    return Row(case, median(theirs), median(ours), median(tenth))


def _several(program: Program, given: Inputs, repetitions: int) -> list[Measured]:
    return [program(given) for _ in range(repetitions)]


def median(runs: list[Measured]) -> Measured:
    """The median of each figure; that of an unfinished run where there is one."""
    unfinished = [run for run in runs if run.deciding is None]
    if unfinished:
        return unfinished[0]
    return Measured(
        deciding=statistics.median(run.deciding for run in runs if run.deciding is not None),
        evictions=runs[0].evictions,
        wall=statistics.median(run.wall for run in runs),
        cpu=statistics.median(run.cpu for run in runs),
        peak=round(statistics.median(run.peak for run in runs)),
    )
