"""``restow schedule`` on a terminal: where pending pods would go, one line each, and why others go nowhere.

Each decision becomes a row of a few words as it is made; decisions about thousands of pods and nodes are not kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rich.text import Text

from restow.plain_text import printable, some
from restow.reporting.terminal import (
    GAP,
    joined,
    labelled,
    more_lines,
    narrowed,
    paragraph,
    print_sections,
    total_width,
    widths,
    without_shared_domain,
    wrapped,
)
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.cluster.snapshot import ClusterSnapshot
    from restow.scheduling.loop.decision import SchedulingDecision


#: A pod gets a node, may preempt others, waits on a node for others, fits nowhere, goes to an unknown node, or may not be
#: scheduled yet.
Fate = Literal["placed", "preempting", "waiting", "unschedulable", "unknown", "gated"]


@dataclass(slots=True, frozen=True)
class PodRow:
    """One pod in the table of ``restow schedule``."""

    pod: str
    fate: Fate
    #: Where it goes, waits, or preempts others; empty where neither.
    node: str = ""
    #: How narrowly the node won, or why there is none.
    why: str = ""
    #: The next best node; empty where there is none, or where several tie.
    rival: str = ""
    #: The pods that it or its group preempts.
    victims: tuple[str, ...] = ()
    #: What it waits for, where it waits on a node, or it or its group preempts others.
    clause: str = ""


@dataclass(slots=True, frozen=True)
class ScheduledCluster:
    """The cluster in the first line of a table."""

    nodes: int
    pods: int
    #: Where it came from, such as ``cluster.json, 0.1 s``.
    sources: str
    #: The scheduler's configuration; empty is the default.
    configuration: str = ""
    #: Whether kube-scheduler would score only some of the nodes.
    sampled: bool = False

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the first lines of a table."""
        size = f"{counted(self.nodes, 'node')}, {counted(self.pods, 'pod')}"
        yield from labelled("cluster", [size, printable(self.sources)], width)
        if self.configuration:
            yield from labelled("config", [printable(self.configuration)], width)


def pod_row(cluster: ClusterSnapshot, decision: SchedulingDecision) -> PodRow:
    """The row of a decision about a cluster's pod."""
    name, nodes = cluster.pods.full_name, cluster.nodes.names
    if decision.node >= 0:
        why, rival = margin(cluster, decision)
        return PodRow(name(decision.pod), "placed", nodes[decision.node], why, rival)
    if decision.group_wait is not None and decision.group_wait.holds_node:
        node = nodes[decision.nominated_node]
        return PodRow(name(decision.pod), "waiting", node, decision.message, clause=f"waits on {node}")
    if decision.nominated_node >= 0:
        victims, node = tuple(map(name, decision.victims)), nodes[decision.nominated_node]
        return PodRow(
            name(decision.pod), "preempting", node, decision.message, victims=victims, clause=_clause(decision, nodes)
        )
    return PodRow(name(decision.pod), "unknown" if decision.unknown else "unschedulable", why=decision.message)


def _clause(decision: SchedulingDecision, nodes: Sequence[str]) -> str:
    """What a pod waits for that is nominated for a node."""
    pods = counted(len(decision.victims), "pod")
    if decision.chosen is not None:
        return f"would preempt {pods} on {decision.where(nodes)}"
    if decision.victims:
        return f"its group would preempt {pods}"
    return f"would go to {nodes[decision.nominated_node]} once its group has preempted"


def margin(cluster: ClusterSnapshot, decision: SchedulingDecision) -> tuple[str, str]:
    """How narrowly a node won - ``3 nodes tie``, ``next best -4``, ``the only node that fits`` - and which is next best."""
    ranking = decision.ranking
    assert ranking is not None, "only a pod that gets a node has a margin"
    if len(ranking.nodes) == 1:
        return "the only node that fits", ""
    if len(decision.best) > 1:
        return f"{counted(len(decision.best), 'node')} tie", ""
    others = ranking.total.copy()
    others[ranking.nodes == decision.node] = -1
    second = int(others.argmax())
    behind = int(ranking.total.max() - ranking.total[second])
    return f"next best -{behind}", cluster.nodes.names[ranking.nodes[second]]


def reason_text(why: str, rival: str) -> str:
    """How narrowly a node won, in one clause: ``next best -4: n2``."""
    return f"{why}: {rival}" if rival else why


_MOST_LISTED, _OF_MANY = 20, 10
_MOST_GROUPS, _MOST_NAMES, _MOST_VICTIMS = 8, 4, 3
_MOST_TOTALS: Final = 4
_INDENT: Final = " "
_MEANING_GAP: Final = "   "
_SAMPLED: Final = (
    "These are the best of all nodes. kube-scheduler scores only a sample of this many; --pod shows how many could win."
)
_HEADER: Final = (" POD", "NODE", "WHY")


def print_schedule(rows: Sequence[PodRow], cluster: ScheduledCluster, console: Console) -> None:
    """Print the rows, in the order in which the pods were scheduled, cut to the console's width."""
    width = console.width
    placed = [row for row in rows if row.fate == "placed"]
    without = [row for row in rows if row.fate in {"preempting", "waiting", "unschedulable", "unknown"}]
    sections = (
        cluster.lines(width),
        _placed_lines(rows, placed, width, sampled=cluster.sampled),
        _group_lines(_without(without), without, width) if placed else (),
        _gated_lines([row for row in rows if row.fate == "gated"], width),
        _next_commands(rows, width),
    )
    print_sections(sections, console)


def headline(rows: Sequence[PodRow]) -> str:
    """Say how many of the pods find a node: ``5 of 7 pending pods find a node``."""
    total, placed = len(rows), sum(row.fate == "placed" for row in rows)
    if not total:
        return "No pod is pending: nothing to schedule"
    if total == 1:
        return f"The only pending pod finds {'a' if placed else 'no'} node"
    if placed == total:
        return f"All {total:,} pending pods find a node"
    if not placed:
        return f"None of the {total:,} pending pods finds a node"
    return f"{placed:,} of {total:,} pending pods {'finds' if placed == 1 else 'find'} a node"


def _placed_lines(rows: Sequence[PodRow], placed: Sequence[PodRow], width: int, *, sampled: bool) -> Iterator[Text]:
    """Yield the answer, and under it the pods that find a node, or why none does."""
    yield Text(headline(rows), style="bold")
    if not placed:
        without = [row for row in rows if row.fate != "gated"]
        yield from _message_groups(without, width)
        return
    shown = placed if len(placed) <= _MOST_LISTED else placed[:_OF_MANY]
    if len(shown) < len(placed):
        yield from _totals(placed, width)
    cells = _cells(shown, width)
    columns = narrowed(widths(cells), width)
    yield Text(joined(cells[0], columns), style="bold")
    for row in cells[1:]:
        line = Text(joined(row, columns))
        line.stylize("dim", columns[0] + columns[1] + 2 * len(GAP))
        yield line
    yield from more_lines(len(placed), len(shown))
    if sampled:
        yield from paragraph(_SAMPLED, width, "dim", indent=4)


def _cells(rows: Sequence[PodRow], width: int) -> list[tuple[str, str, str]]:
    """The table of placed pods, without what matters least where it would not fit: domains of nodes, then the next best."""
    short = without_shared_domain([each for row in rows for each in (row.node, row.rival) if each])
    variants = [
        [(row.node, reason_text(row.why, row.rival)) for row in rows],
        [(short.get(row.node, ""), reason_text(row.why, short.get(row.rival, ""))) for row in rows],
        [(short.get(row.node, ""), row.why) for row in rows],
    ]
    tables = [
        [_HEADER, *((_INDENT + printable(row.pod), printable(node), printable(why)) for row, (node, why) in pairs)]
        for pairs in (zip(rows, each, strict=True) for each in variants)
    ]
    return next((each for each in tables if total_width(widths(each)) <= width), tables[-1])


def _totals(placed: Sequence[PodRow], width: int) -> Iterator[Text]:
    """Say onto how many nodes many pods go, and onto which the most."""
    counts = Counter(row.node for row in placed)
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_MOST_TOTALS]
    most = ", ".join(f"{printable(node)} {count:,}" for node, count in ranked)
    more = ", ..." if len(counts) > len(ranked) else ""
    yield from paragraph(f"{_INDENT}onto {counted(len(counts), 'node')}: {most}{more}", width)


def _without(rows: Sequence[PodRow]) -> str:
    fates, is_one = Counter[str](row.fate for row in rows), len(rows) == 1
    verb = "get" if fates["waiting"] else "find"
    asides = {"preempting": "would preempt others", "waiting": "would wait on one for others"}
    told = [f", {'it' if is_one else f'{fates[fate]:,}'} {what}" for fate, what in asides.items() if fates[fate]]
    return f"{counted(len(rows), 'pod')} {verb}{'s' if is_one else ''} no node{''.join(told)}"


def _group_lines(title: str, rows: Sequence[PodRow], width: int) -> Iterator[Text]:
    if rows:
        yield Text(title, style="bold")
        yield from _message_groups(rows, width)


def _message_groups(rows: Sequence[PodRow], width: int) -> Iterator[Text]:
    """Yield the pods by the scheduler's message, in the order of the first pod of each."""
    groups: dict[str, list[PodRow]] = defaultdict(list)
    for row in rows:
        groups[row.why].append(row)
    for message, members in list(groups.items())[:_MOST_GROUPS]:
        shown = members if len(members) <= _MOST_NAMES else members[: _MOST_NAMES - 1]
        yield from (line for row in shown for line in _pod_lines(row, width))
        if len(shown) < len(members):
            yield Text(f"{_INDENT}... and {counted(len(members) - len(shown), 'more pod')}")
        yield from paragraph(printable(message), width, "dim", indent=4)
    if len(groups) > _MOST_GROUPS:
        hidden = counted(len(groups) - _MOST_GROUPS, "more message")
        yield Text(f"{_INDENT}... and {hidden}: see -o json", style="dim")


def _pod_lines(row: PodRow, width: int) -> Iterator[Text]:
    """Yield a pod's name, and what it waits for: the pods that it would preempt, or others on a node."""
    name = f"{_INDENT}{printable(row.pod)}"
    if not row.clause:
        yield Text(name)
        return
    victims = f": {some(row.victims, _MOST_VICTIMS)}" if row.victims else ""
    lines = wrapped(f"{name}{GAP}{printable(row.clause)}{victims}", width, subsequent_indent=" " * 4)
    for index, line in enumerate(lines):
        text = Text(line)
        text.stylize("yellow", len(name) if index == 0 else 0)
        yield text


def _gated_lines(rows: Sequence[PodRow], width: int) -> Iterator[Text]:
    if rows:
        verb = "is" if len(rows) == 1 else "are"
        yield Text(f"{counted(len(rows), 'pod')} {verb} gated", style="bold")
        yield from _message_groups(rows, width)


def _next_commands(rows: Sequence[PodRow], width: int) -> Iterator[Text]:
    if not rows:
        return
    asked = next((row for row in rows if row.fate in {"preempting", "waiting", "unschedulable"}), rows[0])
    commands = {
        f"restow schedule ... --pod {printable(asked.pod)}": "why, node by node",
        "restow schedule ... -o json": "every node and score",
    }
    longest = max(map(len, commands))
    if longest + len(_MEANING_GAP) + max(map(len, commands.values())) > width:
        longest = 0
    for command, meaning in commands.items():
        reason_text = f"{command:<{longest}}{_MEANING_GAP}"
        yield (
            Text.assemble(reason_text, (meaning, "dim")) if len(reason_text) + len(meaning) <= width else Text(command)
        )
