"""One pod, node by node: ``restow schedule --pod``, decided here, and ``restow explain scheduling``, as a running scheduler says.

Both say what the pod waits for or where it goes, then who rejects how many nodes and why, the most nodes first. The former
has the scores of the nodes that fit, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from restow.cluster.pods import PENDING
from restow.plain_text import printable, some
from restow.reporting.schedule_table import margin, reason_text
from restow.reporting.terminal import GAP, cut_middle, labelled, next_commands, paragraph, total_width
from restow.reporting.wording import counted
from restow.scheduling.framework.extension_points import NOT_ASKED
from restow.scheduling.plugins import dynamic_resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from restow.cluster.nodes import Nodes
    from restow.cluster.snapshot import ClusterSnapshot
    from restow.scheduler.explanation import LastAttempt, QueueExplanation
    from restow.scheduling.framework.extension_points import Scores
    from restow.scheduling.framework.scoring import Ranking
    from restow.scheduling.framework.verdicts import Verdicts
    from restow.scheduling.loop.decision import SchedulingDecision


_MOST_NODES, _MOST_VICTIMS, _MOST_CANDIDATES = 10, 8, 5
_INDENT: Final = " "
#: How far lines about nodes stand below their rejection.
_UNDER: Final = 3
#: The name for a PreFilter result that excludes nodes: no single plugin rejects them.
_PREFILTER: Final = "PreFilter"

_MOST_SCORED: Final = 12
_NARROWEST_NODE: Final = 12
_WORD: Final = re.compile(r"[A-Z]+[a-z0-9]*|[^A-Z]+")


@dataclass(slots=True, frozen=True)
class Aside:
    """What else to know about a decision."""

    #: How many pods the queue holds before the pod; where they would go is not considered.
    ahead: int = 0
    #: How many nodes could win, whichever of them kube-scheduler happens to score.
    could_win: int = 0
    #: What the pod lacks of devices on a node, a clause; empty where that is not a matter of numbers.
    lacking_devices: Callable[[int], str] = lambda _node: ""
    #: Why the kubelet of a node refuses the pod, or may, a clause; empty where nothing is known against it.
    kubelet: Callable[[int], str] = lambda _node: ""


def explanation(cluster: ClusterSnapshot, decision: SchedulingDecision, aside: Aside, width: int) -> list[list[Text]]:
    """What was decided about one pod, in sections."""
    sections = (
        _pod_line(cluster, decision.pod, aside.ahead, width),
        _answer_lines(cluster, decision, aside, width),
        _preemption_lines(cluster, decision, width),
        _rejection_lines(cluster, decision.verdicts, aside, width),
        _next_command(),
    )
    return list(map(list, sections))


def gated(cluster: ClusterSnapshot, pod: int, why: str, width: int) -> list[list[Text]]:
    """Why a pod may not be scheduled yet, in sections."""
    headline = Text(f"{printable(cluster.pods.full_name(pod))} is gated", style="bold")
    return [list(_pod_line(cluster, pod, 0, width)), [headline, *dim_lines(printable(why), width)]]


def _pod_line(cluster: ClusterSnapshot, pod: int, ahead: int, width: int) -> Iterator[Text]:
    pods, node = cluster.pods, int(cluster.pods.node[pod])
    if node >= 0:
        where = f"on {printable(cluster.nodes.names[node])}; scheduled as if it were pending"
    elif node == PENDING:
        where = (
            f"pending; the {counted(ahead, 'pod')} ahead of it in the queue {'is' if ahead == 1 else 'are'} ignored"
            if ahead
            else "pending"
        )
    else:
        where = "on a node that is missing from the input; scheduled as if it were pending"
    yield from labelled("pod", [printable(pods.full_name(pod)), f"priority {int(pods.priority[pod])}", where], width)


def _answer_lines(cluster: ClusterSnapshot, decision: SchedulingDecision, aside: Aside, width: int) -> Iterator[Text]:
    """Yield where the pod goes and the scores of the nodes that fit, or the scheduler's message."""
    name = printable(cluster.pods.full_name(decision.pod))
    if decision.ranking is None:
        wait = decision.group_wait
        waits = decision.unknown or (wait is not None and wait.message)
        yield Text(f"{name} gets no node" if waits else f"{name} finds no node", style="bold")
        yield from dim_lines(printable(decision.message), width)
        if wait is not None and wait.words:
            yield from dim_lines(printable(wait.words), width)
        return
    node = cluster.nodes.names[decision.node]
    verb = "stays on" if decision.node == cluster.pods.node[decision.pod] else "goes to"
    yield Text(f"{name} {verb} {printable(node)}: {printable(reason_text(*margin(cluster, decision)))}", style="bold")
    if len(decision.ranking.nodes) > 1:
        yield from score_lines(cluster.nodes.names, decision.ranking, width)
    if aside.could_win > len(decision.best):
        nodes = counted(aside.could_win, "node")
        yield from dim_lines(f"{nodes} could win: kube-scheduler scores only a sample of this many nodes", width)
    yield from _kubelet_lines(cluster, decision, decision.ranking, aside, width)


def _kubelet_lines(
    cluster: ClusterSnapshot, decision: SchedulingDecision, ranking: Ranking, aside: Aside, width: int
) -> Iterator[Text]:
    """Yield what kubelets have against the pod, which the scheduler does not know: first that of its node."""
    names, others = cluster.nodes.names, [node for node in ranking.nodes.tolist() if node != decision.node]
    told = [(names[node], text) for node in (decision.node, *others) if (text := aside.kubelet(node))]
    for name, text in told[:_MOST_CANDIDATES]:
        style = "bold yellow" if name == names[decision.node] else "dim"
        yield from paragraph(printable(f"{name}: {text}"), width, style, indent=1, further=3)
    if len(told) > _MOST_CANDIDATES:
        yield from dim_lines(f"and {len(told) - _MOST_CANDIDATES:,} more", width)


def _preemption_lines(cluster: ClusterSnapshot, decision: SchedulingDecision, width: int) -> Iterator[Text]:
    """Yield which pods the pod or its group would preempt, and where else the pod could."""
    if decision.group_wait is not None and decision.group_wait.victims:
        of_group = [cluster.pods.full_name(pod) for pod in decision.group_wait.victims]
        yield Text(f"Its group would preempt {counted(len(of_group), 'pod')}", style="bold yellow")
        yield from dim_lines(some(of_group, _MOST_VICTIMS), width)
    if decision.preemption is None or not decision.preemption.best:
        return
    nodes, first = cluster.nodes.names, decision.preemption.best[0]
    victims = counted(len(first.victims), "pod")
    yield Text(f"It would preempt {victims} on {printable(first.where(nodes))}", style="bold yellow")
    names = [cluster.pods.full_name(pod) for pod in first.victims]
    yield from dim_lines(some(names, _MOST_VICTIMS), width)
    if first.violations:
        yield from dim_lines(f"this violates the disruption budgets of {first.violations:,} of them", width)
    others = [printable(nodes[each.node]) for each in decision.preemption.candidates if each.node != first.node]
    if others:
        more = ", ..." if len(others) > _MOST_CANDIDATES else ""
        yield from dim_lines(f"it could also preempt on {', '.join(others[:_MOST_CANDIDATES])}{more}", width)


def _rejection_lines(cluster: ClusterSnapshot, verdicts: Verdicts, aside: Aside, width: int) -> Iterator[Text]:
    """Yield who rejects how many nodes and why, the most nodes first, and which nodes these are."""
    if verdicts.prefilter is not None:
        yield Text("No node was checked", style="bold")
        first = verdicts.prefilter
        yield from reason_lines(first.plugin, first.outcome.reasons, "", "", width)
        return
    groups, not_asked = _grouped(verdicts)
    out = sum(map(len, groups.values()))
    if out:
        yield Text(f"{counted(out, 'node')} {'does' if out == 1 else 'do'} not fit", style="bold")
    digits = len(f"{max(map(len, groups.values()), default=0):,}")
    for category, nodes in sorted(groups.items(), key=lambda each: (-len(each[1]), each[1])):
        each, names = verdicts.rejections[category], some([cluster.nodes.names[node] for node in nodes], _MOST_NODES)
        about = list(_device_lines(cluster.nodes, nodes, aside, width)) if each.plugin == dynamic_resources.NAME else []
        count = f"{len(nodes):>{digits},}{GAP}"
        yield from reason_lines(each.plugin, each.outcome.reasons, count, "" if about else names, width)
        yield from about
    elsewhere = len(verdicts.verdict) - verdicts.total
    if not_asked > elsewhere:
        told = counted(not_asked - elsewhere, "node")
        yield from dim_lines(f"{told} not checked: the pod is nominated to a node that fits", width)
    if elsewhere:
        yield from dim_lines(f"{counted(elsewhere, 'node')} not checked: outside the domain of its group", width)


def _device_lines(nodes: Nodes, rejected: Sequence[int], aside: Aside, width: int) -> Iterator[Text]:
    """Yield how many devices there are on nodes, and how many are wanted; nothing where that is not known of any."""
    alike: dict[str, list[str]] = {}
    for node in rejected[:_MOST_NODES]:
        alike.setdefault(aside.lacking_devices(node), []).append(nodes.names[node])
    if not any(alike):
        return
    for clause, names in alike.items():
        text = f"{', '.join(names)}{': ' * bool(clause)}{clause}"
        yield from dim_lines(printable(text), width, len(_INDENT) + _UNDER)
    if len(rejected) > _MOST_NODES:
        yield from dim_lines(f"and {len(rejected) - _MOST_NODES:,} more", width, len(_INDENT) + _UNDER)


def _grouped(verdicts: Verdicts) -> tuple[dict[int, list[int]], int]:
    """The rejected nodes by their rejection, and how many nodes were not checked."""
    groups: dict[int, list[int]] = defaultdict(list)
    for node, category in enumerate(verdicts.verdict.tolist()):
        groups[category].append(node)
    not_asked = len(groups.pop(NOT_ASKED, ()))
    return {category: nodes for category, nodes in groups.items() if category >= 0}, not_asked


def reason_lines(plugin: str, reasons: Sequence[str], count: str, nodes: str, width: int) -> Iterator[Text]:
    """Yield what a plugin (empty for several together) has against some nodes; ``count`` and ``nodes`` may be empty."""
    start = f"{_INDENT}{count}"
    sentence = printable(f"{plugin or _PREFILTER}{GAP}{'; '.join(reasons)}")
    yield from paragraph(f"{start}{sentence}", width, further=len(start) + 2)
    if nodes:
        yield from dim_lines(nodes, width, len(start))


def dim_lines(text: str, width: int, indent: int = 1) -> Iterator[Text]:
    """Yield a text of little weight, wrapped below an indent."""
    return paragraph(text, width, "dim", indent=indent)


def _next_command() -> Iterator[Text]:
    yield Text.assemble("restow schedule ... -o json   ", ("every node and score", "dim"))


# Plugins that give every node the same are named in a line below. Names of plugins are long, so they stand above
# their columns word by word: ``Node``, ``Resources``, ``Fit``.
def score_lines(names: Sequence[str], ranking: Ranking, width: int) -> Iterator[Text]:
    """Yield the table of a ranking; ``names`` are those of all nodes."""
    order = (-ranking.total).argsort(kind="stable").tolist()
    shown = order[:_MOST_SCORED]
    differing = {name: each for name, each in ranking.by_plugin.items() if each.min() != each.max()}
    columns = {"total": ranking.total} | differing
    nodes = [printable(names[ranking.nodes[at]]) for at in shown]
    cells = [[str(int(each[at])) for each in columns.values()] for at in shown]
    yield from _table(list(map(_heading, columns)), nodes, cells, width)
    if len(order) > len(shown):
        yield Text(f"{_INDENT}... and {counted(len(order) - len(shown), 'more node')} that fit", style="dim")
    yield from _same_everywhere(ranking.by_plugin, differing, width)


def _table(headings: list[list[str]], nodes: list[str], cells: list[list[str]], width: int) -> Iterator[Text]:
    columns = [max(map(len, [*heading, *(row[at] for row in cells)])) for at, heading in enumerate(headings)]
    natural = max(map(cell_len, [*nodes, "NODE"]))
    room = min(natural, max(width - total_width([*columns, len(_INDENT)]) - len(GAP), _NARROWEST_NODE))
    height = max(map(len, headings))
    padded = [[""] * (height - len(heading)) + heading for heading in headings]
    for level in range(height):
        first = "NODE" if level == height - 1 else ""
        yield Text(_line(first, [heading[level] for heading in padded], room, columns), style="bold")
    best = cells[0][0]
    for node, row in zip(nodes, cells, strict=True):
        yield Text(_line(cut_middle(node, room), row, room, columns), style="green" if row[0] == best else "")


def _line(first: str, rest: Sequence[str], room: int, columns: Sequence[int]) -> str:
    cells = [f"{cell:>{column}}" for cell, column in zip(rest, columns, strict=True)]
    return GAP.join([f"{_INDENT}{first}{' ' * (room - cell_len(first))}", *cells]).rstrip()


def _heading(name: str) -> list[str]:
    """The words of a plugin's name, grouped by what fits on one line."""
    words = _WORD.findall(name) if name != "total" else ["TOTAL"]
    longest, lines = max(map(len, words)), [""]
    for word in words:
        if len(lines[-1]) + len(word) <= longest:
            lines[-1] += word
        else:
            lines.append(word)
    return [line for line in lines if line]


def _same_everywhere(every: Mapping[str, Scores], differing: Mapping[str, Scores], width: int) -> Iterator[Text]:
    same = ", ".join(f"{name} {int(each[0])}" for name, each in every.items() if name not in differing)
    if same:
        text = f"{_INDENT}the same on every node: {same}"
        yield from paragraph(text, width, "dim", further=3)


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
        yield from paragraph(f" {printable(sentence)}", width, further=3)
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
