"""``restow explain`` for many clusters on a terminal: a line for each cluster, then why, a sentence for each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.explain_table import node_outcome, resource_change
from restow.reporting.sureness import landing_in_full, sureness_in_words
from restow.reporting.terminal import next_commands, paragraph, print_sections, table
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.explaining.explanation import NodeExplanation, PodExplanation
    from restow.reporting.clusters_explanation import ClustersExplanation, ExplainedCluster

_POD_HEADS: Final = ("CLUSTER", "NODE", "OUTCOME")
_NODE_HEADS: Final = ("CLUSTER", "PODS", "CPU", "MEMORY", "OUTCOME")
_NONE: Final = "-"
_ABSENT: Final = "not there"
_FAILED: Final = "no answer"
_OUTCOMES: Final = {"moves": "moves", "stays": "stays", "pending": "has no node", "lost": "is on an unknown node"}


def print_explanations(found: ClustersExplanation, console: Console) -> None:
    """Print the table, cut to the console's width."""
    width = console.width
    first = [Text(printable(f"{found.object_kind} {found.object_name}: {_headline(found)}"), style="bold")]
    print_sections((first, _lines(found, width), _reasons(found, width), _next(found, width)), console)


def _headline(found: ClustersExplanation) -> str:
    """Write ``in 3 of 12 clusters: moves in 1, stays in 2; 1 cluster gave no answer``."""
    holding = list(found.holding)
    outcomes = Counter(_OUTCOMES[each.pod.outcome] for each in holding if each.pod is not None)
    parts = [f"{outcome} in {number:,}" for outcome, number in sorted(outcomes.items())]
    what = f"in {len(holding):,} of {counted(len(found.clusters), 'cluster')}"
    told = f"{what}: {', '.join(parts)}" if parts else what
    lost = len(found.failed)
    return f"{told}; {counted(lost, 'cluster')} gave no answer" if lost else told


def _lines(found: ClustersExplanation, width: int) -> Iterator[Text]:
    heads = _POD_HEADS if found.object_kind == "pod" else _NODE_HEADS
    rows = [heads, *(_cells(each, len(heads)) for each in found.clusters)]
    return table(rows, width)


def _cells(each: ExplainedCluster, columns: int) -> Sequence[str]:
    name = printable(each.name)
    if each.pod is not None:
        return (name, printable(each.pod.node or _NONE), _OUTCOMES[each.pod.outcome])
    if each.node is not None:
        return (name, *_node_cells(each.node))
    return (name, *[_NONE] * (columns - 2), _FAILED if each.error else _ABSENT)


def _node_cells(node: NodeExplanation) -> Sequence[str]:
    pods = f"{node.pods_before:,}" + (f" -> {node.pods_after:,}" if node.pods_after != node.pods_before else "")
    loads = {each.name: resource_change(each) for each in node.resources if each.allocatable}
    return (pods, loads.get("cpu", _NONE), loads.get("memory", _NONE), node_outcome(node))


def _reasons(found: ClustersExplanation, width: int) -> Iterator[Text]:
    for each in found.clusters:
        why = each.error or ("" if each.pod is None else _why(each.pod))
        if why:
            style = "red" if each.error else ""
            yield from paragraph(printable(f"{each.name}: {why}"), width, style, further=2)


def _why(pod: PodExplanation) -> str:
    """Where a pod goes and who moves it, or what holds it back; empty where no strategy wants to move it."""
    if pod.move is not None:
        where = "" if pod.move.target is None else f" to {landing_in_full(pod.move)}, {sureness_in_words(pod.move)}"
        return f"{pod.move.plugin} moves it{where}: {pod.move.reason}"
    held = next((each for each in pod.strategies if each.wanted and each.refusal is not None), None)
    if held is None or held.refusal is None:
        return ""
    return f"{held.plugin} wants to move it; {held.refusal.stage} {held.refusal.code}: {held.refusal.message}"


def _next(found: ClustersExplanation, width: int) -> Iterator[Text]:
    command = f"restow explain {found.object_kind} {printable(found.object_name)} ..."
    yield from next_commands({command: "the whole answer of one cluster, with --context or -f"}, width)
