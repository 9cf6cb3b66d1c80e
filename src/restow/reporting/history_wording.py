"""What a descheduler did and whether it helped, in words: the same on a terminal and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.reporting.wording import counted, resource_title

if TYPE_CHECKING:
    from restow.reporting.history_result import HistoryReport


def headline(found: HistoryReport) -> str:
    """Say what was done, and how well: ``142 pods moved: 120 to their targets, 19 to other good nodes, 3 missed``."""
    moves = found.moves
    if not moves.evicted:
        return f"No pod was moved; {counted(moves.planned, 'move')} planned" if moves.planned else "No pod was moved"
    parts = [f"{moves.on_target:,} to their targets"] if moves.on_target else []
    parts += [f"{moves.on_other:,} to other good nodes"] if moves.on_other else []
    parts += [f"{moves.missed:,} missed"] if moves.missed else []
    parts += [f"{moves.not_ready:,} not seen to be ready"] if moves.not_ready else []
    parts += [f"{moves.again:,} moved again"] if moves.again else []
    sentence = f"{counted(moves.evicted, 'pod')} moved"
    return f"{sentence}: {', '.join(parts)}" if parts else sentence


def cycles(found: HistoryReport) -> str:
    """Say how many cycles there were: ``288, of which 2 failed``."""
    known = found.cycles
    wrong = [f"{number:,} {what}" for number, what in ((known.failed, "failed"), (known.skipped, "skipped")) if number]
    return f"{known.total:,}, of which {' and '.join(wrong)}" if wrong else f"{known.total:,}"


def balance(found: HistoryReport) -> list[str]:
    """Say how each resource was spread before the first cycle and after the last one."""
    said = [f"{resource_title(each.resource)} {each.before:.2f} -> {each.after:.2f}" for each in found.spread]
    return [f"{'; '.join(said)} (spread of the nodes' requested shares)"] if said else []
