"""The page of the past: what was moved, whether it landed where the plan said, and what it cost each workload."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from restow.kube.duration import SECOND
from restow.kube.timestamps import parse_time
from restow.reporting.history_wording import balance, cycles, headline
from restow.reporting.html.charts import Axis, Line, bar_chart, legend, line_chart, scale_of, stretches
from restow.reporting.html.elements import Markup, cards, figure, left_out, origin, section, tag, text
from restow.reporting.simulation_wording import LEAST_SPREAD
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.history_result import GroupOfMoves, HistoryReport, MoveCounts, PastMove

_MOST: Final = 200
#: Of a line, and the fewest cycles that make one.
_SAMPLES: Final = 240
_FEWEST: Final = 2
#: The classes of ``simulation.css`` for the result of a move, with their words.
_LANDINGS: Final = {"moved": "landed where planned", "waiting": "on another good node", "returned": "elsewhere (below)"}
_KIND: Final = {"target": "moved", "other": "waiting", "missed": "returned"}
#: The ranges that the page offers.
RANGES: Final = ("1h", "8h", "24h", "168h")
_WITHOUT: Final = "restow run --history FILE keeps what it does; restow serve --history FILE shows it."


def past_content(found: HistoryReport, since: str) -> tuple[Markup, ...]:
    """The whole page; ``since`` is how far back it goes."""
    metadata, moves = found.metadata, found.moves
    lead = "; ".join([f"cycles: {cycles(found)}", *balance(found)])
    header = tag(
        "header",
        origin(("restow history", metadata.file, f"{metadata.since} to {metadata.until}")),
        tag("h1", text(headline(found))),
        tag("p", text(lead.replace(" -> ", " → ")), class_="lead"),
        tag("dl", *_figures(moves), class_="figures"),
        _ranges(since),
    )
    sections = (
        section("landings", "Predicted and landed", *_landings(found)),
        section("balance", "Balance", *_balance(found)),
        section("workloads", "Workloads", cards(map(_group, found.workloads[:_MOST])) or _nothing()),
        section("strategies", "Strategies", cards(map(_group, found.strategies)) or _nothing()),
        section("moves", "Moves", cards(map(_move, found.listed[:_MOST])) or _nothing(), _more(len(found.listed))),
    )
    return header, tag("main", *sections)


def without_history() -> tuple[Markup, ...]:
    """The page where no history is kept."""
    return tag("header", tag("h1", text("No history is shown")), tag("p", text(_WITHOUT), class_="lead")), tag("main")


def _more(count: int) -> Markup:
    return left_out(count, _MOST, "; restow history -o json has all of them")


def _nothing() -> Markup:
    return tag("p", text("None."), class_="dim")


def _ranges(since: str) -> Markup:
    links = (
        tag("a", text(each), href=f"/history?since={each}", aria_current="true" if each == since else None)
        for each in RANGES
    )
    return tag("p", text("The last "), *links, class_="ranges")


def _figures(moves: MoveCounts) -> Iterator[Markup]:
    known = moves.on_target + moves.on_other + moves.missed
    share = f"of {counted(known, 'landing')} with a known target" if known else "no landing was foretold"
    yield figure("Moved", text(f"{moves.evicted:,}"), f"{moves.planned:,} planned in dry runs")
    yield figure("Landed as planned", text(f"{moves.on_target:,}"), share)
    yield figure("Missed", text(f"{moves.missed:,}"), f"{moves.on_other:,} more on another good node")
    yield figure(
        "Not evicted",
        text(f"{moves.held:,}"),
        f"{moves.dropped:,} dropped, {moves.blocked:,} blocked, {moves.failed:,} failed",
    )


def _landings(found: HistoryReport) -> Iterator[Markup]:
    """Yield the chart: what landed as planned above the line, what did not below."""
    known = [(_seconds(each.at), _KIND[each.landing]) for each in found.listed if each.landing in _KIND]
    if not known:
        yield tag("p", text("No landing is known in this time."), class_="dim")
        return
    begin, end = _seconds(found.metadata.since), _seconds(found.metadata.until)
    counts = Counter(kind for _, kind in known)
    described = _told(counts)
    yield legend({kind: word for kind, word in _LANDINGS.items() if counts[kind]})
    axis = Axis(end - begin)
    chart = bar_chart(stretches([(at - begin, kind) for at, kind in known], axis, _told), axis, described)
    yield tag("figure", tag("figcaption", text(described)), chart)


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]:,} {word}" for kind, word in _LANDINGS.items() if counts[kind])


def _balance(found: HistoryReport) -> Iterator[Markup]:
    """Yield the course of the spread, as each cycle left it."""
    known = [(_seconds(each.at), each.cpu, each.memory) for each in found.balance]
    if len(known) < _FEWEST:
        yield tag("p", text("Too few cycles were done in this time."), class_="dim")
        return
    begin, end = known[0][0], _seconds(found.metadata.until)
    every = max((end - begin) / _SAMPLES, 1e-9)
    cpu, memory = (_held([(at - begin, values[row]) for at, *values in known], every) for row in (0, 1))
    caption = f"Spread after each cycle: CPU {cpu[0]:.2f} → {cpu[-1]:.2f}, memory {memory[0]:.2f} → {memory[-1]:.2f}"
    yield legend({"cpu": "CPU", "memory": "memory (dashed)"})
    lines, scale = (Line("CPU", "cpu", cpu), Line("memory", "memory", memory)), scale_of([*cpu, *memory], LEAST_SPREAD)
    chart = line_chart(lines, every, Axis(end - begin), caption, scale)
    yield tag("figure", tag("figcaption", text(caption)), chart)


def _held(known: Sequence[tuple[float, float | None]], every: float) -> list[float]:
    """Values at equal distances: each holds until the next one is known."""
    values, held, rest = [], 0.0, iter([*known, (math.inf, None)])
    at, value = next(rest)
    for sample in range(_SAMPLES):
        while at <= sample * every:
            held = held if value is None else round(value, 4)
            at, value = next(rest)
        values.append(held)
    return values


def _seconds(at: str) -> float:
    return parse_time(at) / SECOND


def _group(group: GroupOfMoves) -> dict[str, Markup]:
    moves, seconds = group.moves, group.median_seconds_to_ready
    return {
        "Name": text(group.name),
        "Moved": text(f"{moves.evicted:,}"),
        "As planned": text(f"{moves.on_target:,}"),
        "Other good node": text(f"{moves.on_other:,}"),
        "Missed": text(f"{moves.missed:,}"),
        "Again": text(f"{moves.again:,}"),
        "Not evicted": text(f"{moves.held:,}"),
        "Ready after (median)": text("-" if seconds is None else f"{seconds:,.1f} s"),
    }


def _move(move: PastMove) -> dict[str, Markup]:
    ready = "" if move.seconds_to_ready is None else f", ready in {move.seconds_to_ready:,.1f} s"
    planned = f"{move.target or '-'} ({move.certainty})" if move.certainty else move.target or "-"
    return {
        "Time": text(move.at),
        "Pod": text(f"{move.namespace}/{move.pod}"),
        "Strategy": text(move.strategy),
        "From": text(move.source),
        "Planned": text(f"{planned}{', steered' if move.steered else ''}"),
        "Landed": text(move.landed or "-"),
        "Result": text(f"{move.result}{f': {move.message}' if move.message else ''}{ready}"),
    }
