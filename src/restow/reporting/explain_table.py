"""``restow explain pod`` and ``restow explain node`` on a terminal.

Of a pod: what happens to it, who wants it to move, what prevents that, and what would help. Of a node: how full it is, which
pods leave and arrive, and which candidates on it are refused. The next command is the other of the two.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.kube.quantity import amount
from restow.plain_text import printable, some
from restow.policies.codes import Placement, RefusalCode, Stage
from restow.reporting.sureness import candidate_text, candidate_texts, landing_in_full, sureness_in_words
from restow.reporting.terminal import GAP, more_lines, next_commands, paragraph, wrapped
from restow.reporting.wording import counted, percent, resource_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import Move
    from restow.explaining.explanation import (
        Load,
        NodeClassification,
        NodeExplanation,
        NodeResource,
        PodExplanation,
        Rejected,
        StageResult,
        StrategyView,
        SuggestedChange,
    )


_LABEL: Final = 9
_BEFORE_OUTCOME: Final = "     "


def labelled_line(label: str, text: str, width: int, *, indent: int = 2, style: str = "") -> Iterator[Text]:
    """Yield a label and a sentence, whose further lines are indented under its first."""
    start = f"{' ' * indent}{label:<{_LABEL}}{GAP}"
    for index, line in enumerate(wrapped(printable(text), max(width - len(start), 20)) or [""]):
        yield Text.assemble((start if index == 0 else " " * len(start), "dim"), (line, style))


def headline(parts: Sequence[str], outcome: str, width: int) -> Iterator[Text]:
    """Yield the object asked about, with as many parts on a line as fit, and the outcome in a word."""
    lines: list[str] = []
    for part in map(printable, parts):
        if lines and len(lines[-1]) + len(GAP) + len(part) <= width:
            lines[-1] += GAP + part
        else:
            lines.append(part)
    if len(lines[-1]) + len(_BEFORE_OUTCOME) + len(outcome) <= width:
        lines[-1] += _BEFORE_OUTCOME + outcome
    else:
        lines.append(outcome)
    yield from (Text(line, style="bold") for line in lines)


def load_text(load: Load) -> str:
    """Write ``cpu 92 % -> 61 %, memory 60 %``: CPU and memory, and what else is asked for."""
    names = sorted(load.before, key=resource_order)
    shown = [name for name in names if load.before[name] or load.after[name] or name in {"cpu", "memory"}]
    return ", ".join(f"{name} {_load_change(load.before[name], load.after[name])}" for name in shown)


def _load_change(before: float, after: float) -> str:
    same = percent(before) == percent(after)
    return percent(before) if same else f"{percent(before)} -> {percent(after)}"


_MOST_NODES: Final = 5
_MOST_NAMES: Final = 3
_INDENT: Final = 4


def pod_sections(explanation: PodExplanation, width: int) -> list[list[Text]]:
    """The whole answer, in sections."""
    wanting = [each for each in explanation.strategies if each.wanted]
    others = [each for each in explanation.strategies if not each.wanted]
    sections = [
        headline(_about(explanation), _outcome(explanation, wanting), width),
        _move_lines(explanation, width),
        *(_view_lines(explanation, each, width, with_places=each is wanting[0]) for each in wanting),
        _unwanted(others, width),
        _next_commands(explanation, width),
    ]
    return list(map(list, sections))


def _about(explanation: PodExplanation) -> list[str]:
    parts = [str(explanation.pod), *([str(explanation.owner)] if explanation.owner else [])]
    if explanation.group is not None:
        parts.append(f"of {explanation.group}")
    if explanation.node is not None:
        load = load_text(explanation.load) if explanation.load else ""
        parts.append(f"on {explanation.node}{f' ({load})' if load else ''}")
    return parts


def _outcome(explanation: PodExplanation, wanting: Sequence[StrategyView]) -> str:
    match explanation.outcome:
        case "moves":
            return "moves" if explanation.metadata.placement == Placement.PROVE else "is evicted"
        case "pending":
            return "has no node yet"
        case "lost":
            return "is on a node that is missing from the input"
    return "stays" if wanting else "stays: no strategy wants to move it"


def _move_lines(explanation: PodExplanation, width: int) -> Iterator[Text]:
    move = explanation.move
    if move is None:
        return
    yield from paragraph(printable(f"{move.plugin}: {move.reason}"), width, further=2)
    if move.target is not None:
        yield from labelled_line("to", landing_in_full(move), width, style="green")
        yield from labelled_line("gain", sureness_in_words(move), width)
    elif move.certainty is not None:
        yield from labelled_line("to", "nowhere: it needs no replacement", width)
    else:
        yield from labelled_line("to", "not predicted: placement upstream", width)
    if move.caveat:
        yield from labelled_line("likely at most", move.caveat, width)
    if len(move.candidates) > 1:
        yield from labelled_line("could win", some(list(candidate_texts(move)), _MOST_NODES), width)


def _view_lines(explanation: PodExplanation, view: StrategyView, width: int, *, with_places: bool) -> Iterator[Text]:
    wants = "wanted to move it before the plan's other moves" if view.before else "wants to move it"
    yield from paragraph(
        printable(f"{view.plugin} {wants}{f': {view.reason}' if view.reason else ''}"), width, further=2
    )
    if view.refusal is not None and not _repeats_a_gate(view):
        sentence = f"{view.refusal.stage} {view.refusal.code}: {view.refusal.message}"
        yield from labelled_line("the plan", sentence, width, style="red")
    for gate in view.gates:
        yield from labelled_line(gate.stage, gate.message, width, style="red" if gate.passes is False else "")
        if gate.stage == Stage.PLACEMENT:
            if gate.passes or gate.code in _ABOUT_WINNERS:
                yield from _winners(explanation, view, width)
            if with_places and not gate.passes:
                yield from _rejections(explanation, width)
    yield from _change_lines(view.changes, width)


#: Refusals for what could win.
_ABOUT_WINNERS: Final = (RefusalCode.NOT_CERTAIN, RefusalCode.HARMFUL, RefusalCode.NOT_ALIGNED)


def _repeats_a_gate(view: StrategyView) -> bool:
    """Whether a gate already shows the refusal of the plan."""
    refusal = view.refusal
    return refusal is not None and any(_holds_back(each, refusal.code) for each in view.gates)


def _holds_back(gate: StageResult, code: str) -> bool:
    return gate.passes is not True and gate.code == code


def _winners(explanation: PodExplanation, view: StrategyView, width: int) -> Iterator[Text]:
    """Say which nodes could win, and which of them the strategy could do with."""
    places = explanation.places
    if places and places.candidates:
        chances = places.probabilities if len(places.candidates) > 1 else ()
        candidates = [candidate_text(*each) for each in zip_longest(places.candidates, chances)]
        satisfied = f"{len(view.welcome):,} of them" if view.welcome else "none of them"
        sentence = f"{some(candidates, _MOST_NODES)}; {satisfied} would satisfy {view.plugin}"
        yield from labelled_line("could win", sentence, width)
        doubted = [name for name in places.candidates if name in places.kubelets]
        for name in doubted[:_MOST_NAMES]:
            yield from _node_line(name, places.kubelets[name], width)


def _rejections(explanation: PodExplanation, width: int) -> Iterator[Text]:
    for each in explanation.places.rejected if explanation.places else ():
        nodes = [name for name in each.nodes if name != explanation.node]
        if nodes:
            yield from _group(each, nodes, width)


def _group(group: Rejected, nodes: Sequence[str], width: int) -> Iterator[Text]:
    reasons = "; ".join(group.reasons)
    plugin = group.plugin or "PreFilter"
    if len(nodes) > _MOST_NODES:
        yield from _node_line(
            counted(len(nodes), "node"), f"{plugin}{GAP}{reasons} ({some(nodes, _MOST_NAMES)})", width
        )
        return
    alike: dict[str, list[str]] = {}
    for name in nodes:
        alike.setdefault(group.details.get(name, ""), []).append(name)
    for detail, names in alike.items():
        sentence = f"{reasons}: {detail}" if detail else reasons
        yield from _node_line(", ".join(names), f"{plugin}{GAP}{sentence}", width)


def _node_line(start: str, sentence: str, width: int) -> Iterator[Text]:
    sentence = f"{printable(start)}{GAP}{printable(sentence)}"
    yield from paragraph(sentence, width, "dim", indent=_INDENT, further=_INDENT + 2)


def _change_lines(changes: Sequence[SuggestedChange], width: int) -> Iterator[Text]:
    for verified, opening in ((True, "It would move"), (False, "It might move")):
        sentences = [_change(each) for each in changes if each.verified is verified]
        if sentences:
            yield from paragraph(printable(f"{opening} {', or '.join(sentences)}."), width, "green")


def _change(change: SuggestedChange) -> str:
    *first, last = [each.message for each in change.steps]
    steps = f"{', '.join(first)} and {last}" if first else last
    return f"{steps} (or the same on {some(change.others, _MOST_NAMES)})" if change.others else steps


def _unwanted(views: Sequence[StrategyView], width: int) -> Iterator[Text]:
    """Yield why strategies leave the pod alone; those that do not say in one sentence."""
    silent = [each.plugin for each in views if not each.reason]
    sentences = [f"{each.plugin} does not want to move it: {each.reason}" for each in views if each.reason]
    if silent:
        *first, last = silent
        names = f"{', '.join(first)} and {last}" if first else last
        sentences.append(f"{names} {'do' if first else 'does'} not want to move it")
    for sentence in sentences:
        yield from paragraph(printable(sentence), width, "dim", further=2)


def _next_commands(explanation: PodExplanation, width: int) -> Iterator[Text]:
    wanted = {
        f"restow schedule ... --pod {printable(str(explanation.pod))}": "where it would be scheduled, node by node"
    }
    if explanation.node is not None:
        wanted = {f"restow explain node {printable(explanation.node)} ...": "what the plan does to its node", **wanted}
    yield from next_commands(wanted, width)


_MOST_PODS: Final = 10


def node_sections(explanation: NodeExplanation, width: int) -> list[list[Text]]:
    """The whole answer, in sections."""
    sections = (
        headline(_about_node(explanation), node_outcome(explanation), width),
        _load_lines(explanation, width),
        (line for each in explanation.strategies for line in _classification_lines(each, width)),
        _moves("leave", explanation.leaving, width),
        _moves("arrive", explanation.coming, width),
        _staying_lines(explanation, width),
        _after_node(explanation, width),
    )
    return list(map(list, sections))


def _about_node(explanation: NodeExplanation) -> list[str]:
    return [explanation.node, *([f"zone {explanation.zone}"] if explanation.zone else [])]


def node_outcome(explanation: NodeExplanation) -> str:
    """Say in a few words what a plan does to a node."""
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


def resource_change(resource: NodeResource) -> str:
    """Write ``92 % -> 61 %``, of a resource that the node has."""
    before, after = (percent(each / resource.allocatable) for each in (resource.before, resource.after))
    return f"{before} -> {after}" if before != after else before


def _load(resource: NodeResource) -> str:
    """Write ``92 % -> 61 % of 4 (3680m requested)``."""
    requested = amount(resource.name, resource.before)
    return f"{resource_change(resource)} of {amount(resource.name, resource.allocatable)} ({requested} requested)"


def _classification_lines(view: NodeClassification, width: int) -> Iterator[Text]:
    if view.before is None and view.after is None:
        line = f"{view.plugin}: {view.message}"
    else:
        change = f" -> {_class(view.after)}" if view.after != view.before else ""
        line = f"{view.plugin}: {_class(view.before)}{change}; {_figures(view)}"
    yield from paragraph(printable(line), width, further=2)


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
        yield from paragraph(printable(line), width, further=3)
    yield from more_lines(len(moves), _MOST_PODS)


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
        yield from paragraph(printable(line), width, further=4)


def _after_node(explanation: NodeExplanation, width: int) -> Iterator[Text]:
    if explanation.staying:
        # A pod that passes the evictor has the most to explain.
        asked = min(explanation.staying, key=lambda each: each.stage == Stage.EVICTOR)
        pod = asked.pods[0]
        yield from next_commands(
            {f"restow explain pod {printable(str(pod))} ...": "why it is refused, and what would have to change"}, width
        )
