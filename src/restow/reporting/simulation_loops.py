"""What a simulation tells of loops: the part of its document, and the section of its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.descheduling.container_states import short_duration
from restow.kube.timestamps import SECOND
from restow.plain_text import printable
from restow.reporting.columns import wrapped
from restow.reporting.simulation_document import LoopedWorkloadResult, LoopResult
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from restow.simulating.scenarios.loops import EvictionLoop

_MOST_LOOPS: Final = 10
_MOST_NAMES: Final = 3
_MARK: Final = "↻"


def loop_results(loops: Iterable[EvictionLoop]) -> Iterator[LoopResult]:
    """Yield each loop as the document has it."""
    for loop in loops:
        workloads = (
            LoopedWorkloadResult(str(each.workload), each.moved, each.scaled, each.nodes) for each in loop.workloads
        )
        since, until, period = (round(each / SECOND, 3) for each in (loop.since, loop.until, loop.period))
        yield LoopResult(since, until, loop.rounds, period, loop.by, tuple(workloads))


def loop_lines(loops: Sequence[LoopResult], width: int, short: Callable[[str], str]) -> Iterator[Text]:
    """Yield the loops, a sentence each; ``short`` is how a workload is called."""
    if not loops:
        return
    yield Text(f"{counted(len(loops), 'loop')}: the same state time after time", style="bold")
    for loop in loops[:_MOST_LOOPS]:
        first, *rest = wrapped(printable(_sentence(loop, short)), width - 3)
        yield Text.assemble(" ", (_MARK, "red"), f" {first}")
        yield from (Text(f"   {line}") for line in rest)
    if len(loops) > _MOST_LOOPS:
        yield Text(f" ... and {len(loops) - _MOST_LOOPS:,} more: see -o json", style="dim")


def _sentence(loop: LoopResult, short: Callable[[str], str]) -> str:
    """``LowNodeUtilization drives replicaset/huge in a loop: every 5m, 9 times from 5m to 50m; ...``."""
    period, since, until = (short_duration(round(each)) for each in (loop.period_seconds, loop.since, loop.until))
    driven = _listed([short(each.workload) for each in loop.workloads])
    verb = "drives" if len(loop.driven_by) == 1 else "drive"
    moved, scaled = sum(each.moved for each in loop.workloads), sum(each.scaled for each in loop.workloads)
    done = [counted(moved, "eviction")] * bool(moved) + [counted(scaled, "change") + " of size"] * bool(scaled)
    nodes = sorted({node for each in loop.workloads for node in each.nodes})
    where = f" on {_listed(nodes)}" if nodes else ""
    rounds = f"{loop.rounds:,} times from {since} to {until}"
    return f"{_listed(loop.driven_by)} {verb} {driven} in a loop: every {period}, {rounds}; {' and '.join(done)}{where}"


def _listed(names: Sequence[str]) -> str:
    """``a, b and c``; of many names the first ones."""
    shown = [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else [*names]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
