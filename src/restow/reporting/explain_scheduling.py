"""``restow explain scheduling`` on a terminal: why one pod waits, as the scheduler says that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable, some
from restow.reporting.columns import GAP, next_commands, wrapped
from restow.reporting.schedule_explanation import dim_lines, reason_lines
from restow.reporting.table import labelled
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.scheduler.explanation import LastAttempt, QueueExplanation

_MINUTE: Final = 60
_HOUR: Final = 3600


def scheduling_sections(explanation: QueueExplanation, server: str, width: int) -> list[list[Text]]:
    """The whole answer of the scheduler at a URL, in sections."""
    sections = (
        _head(explanation, server, width),
        _queue_lines(explanation, width),
        _attempt_lines(explanation.last_attempt, width) if explanation.last_attempt is not None else (),
        _node_lines(explanation, width),
        next_commands({f"restow schedule --pod {_name(explanation)} --scheduler-config FILE": "with scores"}, width),
    )
    return list(map(list, sections))


def span(seconds: float) -> str:
    """Write ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR:,} h {whole % _HOUR // _MINUTE} min"


def _name(explanation: QueueExplanation) -> str:
    return printable(f"{explanation.namespace}/{explanation.name}")


def _head(explanation: QueueExplanation, server: str, width: int) -> Iterator[Text]:
    parts = [f"scheduler {printable(explanation.scheduler)}", f"has waited {span(explanation.waited)}"]
    yield from labelled("pod", [_name(explanation), *parts], width)
    yield from labelled("asked", [printable(server)], width)


def _queue_lines(explanation: QueueExplanation, width: int) -> Iterator[Text]:
    place = "is being tried" if explanation.queue == "in flight" else f"is in the queue {printable(explanation.queue)}"
    yield Text(f"{_name(explanation)} {place}", style="bold")
    for sentence in explanation.sentences:
        yield from map(Text, wrapped(f" {printable(sentence)}", width, subsequent_indent="   "))
    if explanation.nominated_node:
        yield Text(f" {printable(explanation.nominated_node)} is kept for it.")


def _attempt_lines(attempt: LastAttempt, width: int) -> Iterator[Text]:
    where = f", on {printable(attempt.node)}" if attempt.node else ""
    yield Text(f"The last attempt, {span(attempt.seconds_ago)} ago{where}: {printable(attempt.result)}", style="bold")
    yield from dim_lines(printable(attempt.message), width)


def _node_lines(explanation: QueueExplanation, width: int) -> Iterator[Text]:
    """Yield who objects to which nodes now, in the form of ``restow schedule --pod``."""
    out = sum(each.count for each in explanation.objections)
    if explanation.feasible_nodes:
        verb = "fits" if explanation.feasible_nodes == 1 else "fit"
        yield Text(f"{counted(explanation.feasible_nodes, 'node')} {verb} now", style="bold")
    if out:
        yield Text(f"{counted(out, 'node')} {'does' if out == 1 else 'do'} not fit now", style="bold")
    digits = len(f"{max((each.count for each in explanation.objections), default=0):,}")
    for each in explanation.objections:
        more = each.count - len(each.nodes)
        nodes = some(each.nodes, len(each.nodes)) + (f" and {more:,} more" if more > 0 else "")
        yield from reason_lines(each.plugin, each.reasons, f"{each.count:>{digits},}{GAP}", nodes, width)
