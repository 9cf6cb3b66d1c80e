"""``restow explain node`` on a terminal: how full it is, who leaves and comes, and who was wanted and stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.kube.quantity import amount
from restow.plain_text import printable, some
from restow.policies.codes import Stage
from restow.reporting.columns import next_commands, wrapped
from restow.reporting.explain_lines import headline, labelled_line
from restow.reporting.sureness import landing_in_full, sureness_in_words
from restow.reporting.wording import counted, percent, resource_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.explaining.explanation import NodeClassification, NodeExplanation, NodeResource
    from restow.descheduling.plan import Move

_MOST_PODS: Final = 10
_MOST_NAMES: Final = 3


def node_sections(explanation: NodeExplanation, width: int) -> list[list[Text]]:
    """The whole answer, in sections."""
    sections = (
        headline(_about(explanation), _outcome(explanation), width),
        _load_lines(explanation, width),
        (line for each in explanation.strategies for line in _view_lines(each, width)),
        _moves("leave", explanation.leaving, width),
        _moves("arrive", explanation.coming, width),
        _staying_lines(explanation, width),
        _next_commands(explanation, width),
    )
    return list(map(list, sections))


def _about(explanation: NodeExplanation) -> list[str]:
    return [explanation.node, *([f"zone {explanation.zone}"] if explanation.zone else [])]


def _outcome(explanation: NodeExplanation) -> str:
    if not explanation.ready:
        return "is not ready: strategies skip it"
    if not explanation.selected:
        return "is excluded by the policy's nodeSelector"
    staying = len({str(pod) for group in explanation.staying for pod in group.pods})
    counts = [
        _travelling("leave", len(explanation.leaving)) if explanation.leaving else "",
        _travelling("arrive", len(explanation.coming)) if explanation.coming else "",
        f"{counted(staying, 'candidate')} refused" if staying else "",
    ]
    return ", ".join(filter(None, counts)) or "nothing moves"


def _travelling(verb: str, pods: int) -> str:
    """Write ``1 pod leaves``, ``3 pods leave``."""
    return f"{counted(pods, 'pod')} {verb}{'s' if pods == 1 else ''}"


def _load_lines(explanation: NodeExplanation, width: int) -> Iterator[Text]:
    if explanation.unschedulable:
        yield from labelled_line("cordoned", "no new pods", width, indent=0, style="yellow")
    if explanation.taints:
        yield from labelled_line("taints", ", ".join(explanation.taints), width, indent=0)
    if explanation.closed:
        yield from labelled_line("closed", explanation.closed, width, indent=0, style="yellow")
    for each in sorted(explanation.resources, key=lambda resource: resource_order(resource.name)):
        if each.allocatable and (each.before or each.after or each.name in {"cpu", "memory"}):
            yield from labelled_line(each.name, _load(each), width, indent=0)
    change = f" -> {explanation.pods_after:,}" if explanation.pods_after != explanation.pods_before else ""
    yield from labelled_line("pods", f"{explanation.pods_before:,}{change}", width, indent=0)


def _load(resource: NodeResource) -> str:
    """Write ``92 % -> 61 % of 4 (3680m requested)``."""
    before, after = (percent(each / resource.allocatable) for each in (resource.before, resource.after))
    change = f"{before} -> {after}" if before != after else before
    requested = amount(resource.name, resource.before)
    return f"{change} of {amount(resource.name, resource.allocatable)} ({requested} requested)"


def _view_lines(view: NodeClassification, width: int) -> Iterator[Text]:
    if view.before is None and view.after is None:
        line = f"{view.plugin}: {view.message}"
    else:
        change = f" -> {_class(view.after)}" if view.after != view.before else ""
        line = f"{view.plugin}: {_class(view.before)}{change}; {_figures(view)}"
    yield from map(Text, wrapped(printable(line), width, subsequent_indent="  "))


def _class(name: str | None) -> str:
    return {"over": "overused", "under": "underused", "between": "between its thresholds", None: "not classified"}[name]


def _figures(view: NodeClassification) -> str:
    parts = []
    measured = f", {view.origin}" if view.origin else ""
    for name, load in sorted(view.load_before.items()):
        after = view.load_after.get(name, load)
        change = f" -> {after:.0f} %" if round(after) != round(load) else ""
        bounds = [f"{limits[name]:.0f} %" for limits in (view.low, view.high) if name in limits]
        parts.append(f"{name} {load:.0f} %{change}{measured} (thresholds {' and '.join(bounds)})")
    return ", ".join(parts).replace("thresholds", "threshold") if not view.high else ", ".join(parts)


def _moves(verb: str, moves: Sequence[Move], width: int) -> Iterator[Text]:
    if not moves:
        return
    yield Text(_travelling(verb, len(moves)), style="bold")
    for each in moves[:_MOST_PODS]:
        origin = f"from {each.source} " if verb == "arrive" else ""
        line = f" {each.pod}  {origin}{_landing(each)}  {each.plugin}: {each.reason}"
        yield from map(Text, wrapped(printable(line), width, subsequent_indent="   "))
    if len(moves) > _MOST_PODS:
        yield Text(f" ... and {len(moves) - _MOST_PODS:,} more: see -o json", style="dim")


def _landing(move: Move) -> str:
    if move.target:
        return f"to {landing_in_full(move)}, gain {sureness_in_words(move)}"
    return "no replacement needed" if move.certainty else "target not predicted"


def _staying_lines(explanation: NodeExplanation, width: int) -> Iterator[Text]:
    if not explanation.staying:
        return
    yield Text("Candidates refused", style="bold")
    for each in explanation.staying:
        names = some([str(pod) for pod in each.pods], _MOST_NAMES)
        line = f" {len(each.pods):,}  {each.stage}  {each.code}  {each.message} ({names})"
        yield from map(Text, wrapped(printable(line), width, subsequent_indent="    "))


def _next_commands(explanation: NodeExplanation, width: int) -> Iterator[Text]:
    if explanation.staying:
        # A pod that passes the evictor has the most to explain.
        asked = min(explanation.staying, key=lambda each: each.stage == Stage.EVICTOR)
        pod = asked.pods[0]
        yield from next_commands(
            {f"restow explain pod {printable(str(pod))} ...": "why it is refused, and what would have to change"}, width
        )
