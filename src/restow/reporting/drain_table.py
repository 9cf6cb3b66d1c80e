"""A node's drain on a terminal: what goes where and when, what stays, and what it costs the workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.terminal import joined, more_lines, narrowed, paragraph, widths
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.drain_result import DrainedPod, NodeDrain

_LISTED: Final = 40
_FEW_LISTED: Final = 10
_ASSUMED: Final = (
    "Simulated: the scheduler's rules and the budgets are the cluster's own; containers are taken to run 2 s after their "
    "pod is bound, and to end 1 s after its deletion. A pod that others scale or replace may behave otherwise."
)


def drain_sections(found: NodeDrain, width: int) -> list[list[Text]]:
    """Return the sections, each as lines of at most so many characters."""
    head = list(paragraph(headline(found), width, "bold"))
    return [
        head,
        list(_pods(found.pods, width)),
        list(_waiting(found.pods, width)),
        list(_refused(found, width)),
        list(_belonging(found, width)),
        list(_costs(found, width)),
        list(paragraph(_ASSUMED, width, "dim")),
    ]


def headline(found: NodeDrain) -> str:
    """Say whether the node gets empty, when the last pod is evicted, and what goes wrong."""
    if not found.pods and not found.refused:
        return f"Nothing to drain: {printable(found.node)} has no pods but its own"
    done = "cannot be emptied" if found.refused else "can be emptied"
    parts = [f"{printable(found.node)} {done}: {counted(len(found.pods), 'pod')} evicted"]
    if found.pods:
        parts[0] += f" within {_seconds(max(each.at for each in found.pods))}"
    if found.refused:
        parts.append(f"{counted(len(found.refused), 'pod')} cannot go")
    for outcome, words in (("waiting", "without a node afterwards"), ("unreplaced", "not replaced")):
        count = sum(each.outcome == outcome for each in found.pods)
        parts += [f"{counted(count, 'pod')} {words}"] if count else []
    return ", ".join(parts)


def _seconds(value: float) -> str:
    return f"{value:,.0f} s"


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, most: int) -> Iterator[Text]:
    columns = narrowed(widths([heads, *rows]), width)
    yield Text(joined(heads, columns), style="bold")
    for each in rows[:most]:
        yield Text(joined(each, columns))
    yield from more_lines(len(rows), most)


def _pods(pods: Sequence[DrainedPod], width: int) -> Iterator[Text]:
    """In the order in which they are evicted."""
    ends = {"waiting": "(no node)", "unreplaced": "(not replaced)"}
    rows = [
        (_seconds(each.at), printable(each.pod), printable(each.workload), printable(each.to) or ends[each.outcome])
        for each in pods
    ]
    if rows:
        yield from _rows(("AT", "POD", "WORKLOAD", "TO"), rows, width, _LISTED)


def _waiting(pods: Sequence[DrainedPod], width: int) -> Iterator[Text]:
    waiting = [each for each in pods if each.outcome == "waiting"]
    if waiting:
        yield Text("Without a node afterwards", style="bold")
    for each in waiting[:_FEW_LISTED]:
        yield from paragraph(f"{printable(each.replacement)}: {printable(each.message)}", width, further=2)
    yield from more_lines(len(waiting), _FEW_LISTED)


def _refused(found: NodeDrain, width: int) -> Iterator[Text]:
    if found.refused:
        yield Text("Cannot go", style="bold")
    for each in found.refused[:_FEW_LISTED]:
        yield from paragraph(f"{printable(each.pod)}: {printable(each.message)}", width, further=2)
    yield from more_lines(len(found.refused), _FEW_LISTED)


def _belonging(found: NodeDrain, width: int) -> Iterator[Text]:
    """What a drain leaves on the node."""
    names = [f"{printable(each.pod)} ({each.message})" for each in found.staying if each.reason == "belongs"]
    if names:
        yield from paragraph(f"Stays with the node: {', '.join(names)}", width, further=2)


def _costs(found: NodeDrain, width: int) -> Iterator[Text]:
    """The workloads that have fewer ready pods than they want for a while."""
    rows = [
        (
            printable(each.workload),
            f"{each.evicted:,}",
            _seconds(each.below_seconds),
            _seconds(each.longest_below_seconds),
        )
        for each in found.workloads
        if each.below_seconds
    ]
    if rows:
        yield from _rows(("WORKLOAD", "EVICTED", "TOO FEW READY", "LONGEST"), rows, width, _FEW_LISTED)
