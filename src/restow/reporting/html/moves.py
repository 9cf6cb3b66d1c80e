"""The moves as a table; the page's script adds sorting and a filter over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.descheduling.placement import NAMED
from restow.descheduling.plan import target_kind
from restow.policies.codes import Certainty, TargetKind
from restow.reporting.answer import RefusalGroup, also_staying, group_refusals, headline, predicts, stays
from restow.reporting.html.elements import EMPTY, Markup, joined, row, section, tag, text
from restow.reporting.strategies import strategy_shares
from restow.reporting.sureness import candidate_texts, landing_in_full, sureness_in_words
from restow.reporting.wording import with_caveat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from restow.descheduling.plan import Move, PlanDocument, Refusal

#: Rows of a table that are shown at once; more moves fold by strategy, and the script shows more on demand.
MOST_ROWS: Final = 200
#: Rows of a table on paper, as style.css has it.
_PRINTED: Final = 20
_MOST_CANDIDATES: Final = 3
_TARGETS: Final = {
    TargetKind.STEERED: "Steered: the replacement is nominated for its node, whatever the scheduler would prefer.",
    TargetKind.OPEN: "A number after a node: the probability that the replacement lands there. Below stand other nodes that could win.",
}
_GAINS: Final = {
    Certainty.CERTAIN: "Gain certain: the strategy gets what it wants whichever node the scheduler chooses.",
    Certainty.LIKELY: "Gain likely: the pod probably lands where the strategy gets what it wants; the number is the probability.",
    Certainty.POSSIBLE: "Gain possible: the pod may land where the move gains nothing, or depends on kinds missing from the input.",
}

_MOST_ROWS: Final = 500


def moves(plan: PlanDocument) -> Markup:
    """Write the section: a table, or one for each strategy where there are many moves; in upstream placement without targets."""
    title = "Moves" if predicts(plan) else "Evictions"
    if not plan.moves:
        return section("moves", title, tag("p", text(f"{headline(plan)}.")))
    numbered = list(enumerate(plan.moves, 1))
    if len(numbered) <= MOST_ROWS:
        return section("moves", title, _reading(plan), _printed(plan), _filter(plan), _table(plan, numbered))
    strategies = [each.name for each in strategy_shares(plan) if each.moved]
    folds = (_fold(plan, name, [each for each in numbered if each[1].plugin == name]) for name in strategies)
    return section("moves", title, _reading(plan), _filter(plan), *folds)


def _printed(plan: PlanDocument) -> Markup:
    """Say on paper that not all rows are there: the style prints as many."""
    if len(plan.moves) <= _PRINTED:
        return EMPTY
    sentence = f"On paper: the first {_PRINTED} of {len(plan.moves):,} moves. The file has all of them."
    return tag("p", text(sentence), class_="dim on-paper")


def _fold(plan: PlanDocument, strategy: str, found: Sequence[tuple[int, Move]]) -> Markup:
    """The moves of one strategy, which open on demand."""
    count = tag("span", text(f"{len(found):,}"), class_="count")
    summary = tag("summary", count, tag("span", text(strategy), class_="strategy"))
    more = f"Showing the first {MOST_ROWS:,} of {len(found):,}. The filter searches all of them; so does restow plan -o json."
    left_out = tag("p", text(more), class_="dim left-out") if len(found) > MOST_ROWS else EMPTY
    return tag("details", summary, left_out, _table(plan, found, strategy), class_="fold")


def _table(plan: PlanDocument, found: Sequence[tuple[int, Move]], strategy: str | None = None) -> Markup:
    shown = _prove_cells if predicts(plan) else _upstream_cells
    heads = tag("thead", tag("tr", *(tag("th", text(head), scope="col") for head in shown(*found[0]))))
    body = tag("tbody", *(_row(shown(*each)) for each in found[:MOST_ROWS]))
    return tag("table", heads, body, class_="moves", data_most=MOST_ROWS, data_named=f"{NAMED}", data_strategy=strategy)


def _reading(plan: PlanDocument) -> Markup:
    """Say what the columns mean, where a word of them needs it."""
    placed = [each for each in plan.moves if each.target]
    targets, gains = set(map(target_kind, placed)), {each.certainty for each in placed}
    sentences = [meaning for kind, meaning in _TARGETS.items() if kind in targets]
    sentences += [meaning for kind, meaning in _GAINS.items() if kind in gains]
    if any(each.in_vain for each in plan.moves):
        sentences.append("In vain: landing there gains nothing.")
    return tag("p", text(" ".join(sentences)), class_="dim") if sentences else EMPTY


def _filter(plan: PlanDocument) -> Markup:
    field = tag("input", type="search", id="move-filter", placeholder="pod, owner, node, reason")
    count = tag("output", text(f"{len(plan.moves):,} of {len(plan.moves):,}"), id="move-count")
    plan_file = tag("button", text("Download the plan"), type="button", id="download")
    how = tag("span", text("Apply it: "), tag("code", text("restow apply plan.json")), class_="dim")
    return tag("p", tag("label", text("Filter "), field), count, plan_file, how, class_="controls", hidden="")


def _upstream_cells(number: int, move: Move) -> dict[str, Markup]:
    """Return the cells by their column's head."""
    landings = with_caveat(move)
    reason = text(f": {landings}" if landings else "")
    return {
        "#": text(number),
        "Pod": text(move.pod),
        "Owner": text(move.owner or "-"),
        "From": text(move.source),
        "Why": joined((tag("b", text(move.plugin)), reason)),
    }


def _prove_cells(number: int, move: Move) -> dict[str, Markup]:
    cells = _upstream_cells(number, move)
    why = cells.pop("Why")
    gain = tag("span", text(sureness_in_words(move)), class_=move.certainty)
    return {**cells, "To": _landing(move), "Gain": gain, "Why": why}


def _landing(move: Move) -> Markup:
    """Say where the move leads, and name a few of the other nodes that could win."""
    target = text(landing_in_full(move))
    if target_kind(move) != TargetKind.OPEN:
        return target
    landings = zip(move.candidates, candidate_texts(move), strict=True)
    shown = [each for name, each in landings if name != move.target][:_MOST_CANDIDATES]
    unshown = move.candidate_count - 1 - len(shown)
    more = f" and {unshown:,} more" if unshown > 0 else ""
    listed = ", ".join(shown)
    return joined([target, tag("span", text(f"or {listed}{more}"), class_="others")], " ")


def _row(cells: dict[str, Markup]) -> Markup:
    return tag("tr", *(tag("td", cell, data_head=head) for head, cell in cells.items()))


def refusals(plan: PlanDocument) -> Markup:
    """Write the section, one ``<details>`` a reason."""
    groups = group_refusals(plan.refusals)
    if not groups:
        return section("stays", "Refusals", tag("p", text("No candidate was refused.")))
    intro = tag("p", text(f"{stays(plan)}. Open a reason to see its pods."), class_="dim")
    return section("stays", "Refusals", intro, _finder(), *map(_group, groups))


def _finder() -> Markup:
    field = tag("input", type="search", id="refusal-filter", placeholder="pod, node, message")
    found = tag("output", id="refusal-count")
    box = tag("p", tag("label", text("Find "), field), found, class_="controls", hidden="")
    heads = ("Pod", "Node", "Strategy", "Reason")
    table = tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody"), id="found-refusals", hidden="")
    return Markup(box + table)


def _group(group: RefusalGroup) -> Markup:
    summary = tag(
        "summary",
        tag("span", text(f"{len(group.refusals):,}"), class_="count"),
        tag("span", text(group.stage), class_="stage"),
        tag("span", text(group.code), class_="code"),
        tag("span", text(group.example), class_="message"),
    )
    return tag("details", summary, _refusals_left_out(group), _pods(group))


def _refusals_left_out(group: RefusalGroup) -> Markup:
    if len(group.refusals) <= _MOST_ROWS:
        return EMPTY
    sentence = f"Showing the first {_MOST_ROWS:,} of {len(group.refusals):,}. Find searches all of them."
    return tag("p", text(sentence), class_="dim")


def _pods(group: RefusalGroup) -> Markup:
    """List the pods; a message that all share stands in the summary only."""
    heads = ("Pod", "Node", "Strategy", *(("Message",) if group.messages > 1 else ()))
    body = (row(_cells(each)[: len(heads)]) for each in group.refusals[:_MOST_ROWS])
    return tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody", *body))


def _cells(refusal: Refusal) -> tuple[Markup, ...]:
    more = len(also_staying(refusal))
    pods = f"{refusal.pod}{f' and {more:,} more' if more else ''}"
    return (text(pods), text(refusal.node), text(refusal.plugin), text(refusal.message))
