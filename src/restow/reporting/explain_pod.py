"""``restow explain pod`` on a terminal: what happens to the pod, who wants it to move, what prevents it, what would help."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable, some
from restow.policies.codes import Placement, RefusalCode, Stage
from restow.reporting.columns import GAP, next_commands, wrapped
from restow.reporting.explain_lines import headline, labelled_line, load_text
from restow.reporting.sureness import candidate_text, candidate_texts, landing_in_full, sureness_in_words
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.explaining.explanation import (
        PodExplanation,
        Rejected,
        StageResult,
        StrategyView,
        SuggestedChange,
    )

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
    yield from _sentence(f"{move.plugin}: {move.reason}", width)
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
    yield from _sentence(f"{view.plugin} {wants}{f': {view.reason}' if view.reason else ''}", width)
    if view.refusal is not None and not _repeats_a_gate(view):
        sentence = f"{view.refusal.stage} {view.refusal.code}: {view.refusal.message}"
        yield from labelled_line("the plan", sentence, width, style="red")
    for gate in view.gates:
        yield from labelled_line(gate.stage, gate.message, width, style="red" if gate.passes is False else "")
        if gate.stage == Stage.PLACEMENT:
            if gate.passes or gate.code in (RefusalCode.NOT_CERTAIN, RefusalCode.HARMFUL):
                yield from _winners(explanation, view, width)
            if with_places and not gate.passes:
                yield from _rejections(explanation, width)
    yield from _change_lines(view.changes, width)


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
    indent = " " * _INDENT
    lines = wrapped(
        f"{indent}{printable(start)}{GAP}{printable(sentence)}", width, subsequent_indent=" " * (_INDENT + 2)
    )
    yield from (Text(line, style="dim") for line in lines)


def _change_lines(changes: Sequence[SuggestedChange], width: int) -> Iterator[Text]:
    for verified, opening in ((True, "It would move"), (False, "It might move")):
        sentences = [_change(each) for each in changes if each.verified is verified]
        if sentences:
            yield from (
                Text(line, style="green") for line in wrapped(printable(f"{opening} {', or '.join(sentences)}."), width)
            )


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
        for line in wrapped(printable(sentence), width, subsequent_indent="  "):
            yield Text(line, style="dim")


def _sentence(text: str, width: int) -> Iterator[Text]:
    yield from map(Text, wrapped(printable(text), width, subsequent_indent="  "))


def _next_commands(explanation: PodExplanation, width: int) -> Iterator[Text]:
    wanted = {
        f"restow schedule ... --pod {printable(str(explanation.pod))}": "where it would be scheduled, node by node"
    }
    if explanation.node is not None:
        wanted = {f"restow explain node {printable(explanation.node)} ...": "what the plan does to its node", **wanted}
    yield from next_commands(wanted, width)
