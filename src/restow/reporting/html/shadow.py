"""The page of ``restow run --shadow``: what the evictions of a day came to, how good the forecasts were, which workloads suffered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.plain_text import printable
from restow.reporting.html.elements import (
    EMPTY,
    Markup,
    cards,
    contents,
    facts,
    figure,
    left_out,
    origin,
    section,
    tag,
    text,
    whole_page,
)
from restow.reporting.html.simulation import STYLES
from restow.reporting.wording import counted, percent
from restow.shadowing.day import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.reporting.shadow_result import Score, ShadowedEviction, ShadowedWorkload, ShadowReport

#: Rows of a table.
_MOST: Final = 200
_OUTCOMES: Final = {
    "moved": "moved",
    "inVain": "came back",
    "pending": "left pending",
    "unreplaced": "not replaced",
    "open": "still open",
}
_LEAD: Final = (
    "Others evicted these pods. restow forecast each landing when it saw the eviction, and evicted nothing itself. Its own moves "
    "are those that it planned on the cluster as it was, each pod once."
)
_SCORES: Final = (
    "The Brier score is the mean squared error of the forecast that a pod moves, comes back or stays pending: 0 is perfect, and 0.25 is "
    "no better than a coin. On its most probable node each forecast claims a probability; these add up to the landings expected there."
)


def render_shadow(report: ShadowReport) -> str:
    """Return the page; the same report gives the same text."""
    metadata = report.metadata
    header = tag(
        "header",
        origin(("restow run --shadow", metadata.cluster, f"{metadata.since} to {metadata.until}")),
        tag("h1", text(headline(report.evictions, report.own_moves.total))),
        tag("p", text(_LEAD), class_="lead"),
        tag("dl", *_figures(report), class_="figures"),
    )
    versions = facts(
        {
            "restow": metadata.restow_version,
            "policy": metadata.policy,
            "document": f"{report.kind} {report.api_version}",
        }
    )
    main = tag("main", *_sections(report), section("versions", "Versions", versions))
    places = {"workloads": "Workloads", "forecasts": "Forecasts", "evictions": "Evictions", "versions": "Versions"}
    return whole_page(_title(report), (header, contents(places), main), [*STYLES])


def _title(report: ShadowReport) -> str:
    return f"{counted(report.evictions.total, 'eviction')}, {report.metadata.since[:10]} - restow shadow"


def _figures(report: ShadowReport) -> Iterator[Markup]:
    counts, own = report.evictions, report.own_moves
    yield figure(
        "Evictions by others", text(f"{counts.total:,}"), f"{counts.moved:,} moved, {counts.open:,} still open"
    )
    useless = counts.in_vain / counts.total if counts.total else 0.0
    yield figure("In vain", text(f"{counts.in_vain:,}"), f"{percent(useless)} came back to their node")
    yield figure("Harm", text(f"{counts.pending + counts.downtimes:,}"), _harm(report))
    sure = f"{own.certain:,} certain, {own.likely:,} likely, {own.possible:,} possible"
    yield figure("restow's own moves", text(f"{own.total:,}"), sure)


def _harm(report: ShadowReport) -> str:
    counts = report.evictions
    return f"{counts.pending:,} left pending, {counts.downtimes:,} without a ready pod ({counts.seconds_down:,.0f} s)"


def _sections(report: ShadowReport) -> Iterator[Markup]:
    workloads = report.workloads
    rows = cards(_workload(each) for each in workloads[:_MOST])
    none = tag("p", text("No pod was evicted by others."), class_="dim")
    yield section("workloads", "Workloads", rows or none, left_out(len(workloads), _MOST))
    explained = tag("p", text(_SCORES), class_="dim")
    yield section("forecasts", "Forecasts", explained, cards(_score(each) for each in report.scores if each.forecasts))
    listed = report.listed
    rows = cards(_eviction(each) for each in listed[:_MOST])
    yield section("evictions", "Evictions", rows or EMPTY, left_out(report.evictions.total, _MOST))


def _workload(workload: ShadowedWorkload) -> dict[str, Markup]:
    counts = workload.evictions
    return {
        "Workload": text(printable("/".join(filter(None, (workload.namespace, workload.name))))),
        "Evictions": text(f"{counts.total:,}"),
        "Came back": text(f"{counts.in_vain:,}"),
        "Repeated": text(f"{counts.repeated:,}"),
        "Left pending": text(f"{counts.pending:,}"),
        "Without a ready pod": text(f"{counts.seconds_down:,.1f} s" if counts.downtimes else "-"),
        "Brier": text(_figure(workload.brier)),
    }


def _score(score: Score) -> dict[str, Markup]:
    return {
        "Certainty": text(score.certainty),
        "Forecasts": text(f"{score.forecasts:,}"),
        "Came true": text(f"{score.right:,}"),
        "Brier": text(_figure(score.brier)),
        "On the most probable node": text(f"{score.landed_on_node:,}"),
        "Expected there": text(f"{score.expected_on_node:,.1f}"),
    }


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _eviction(eviction: ShadowedEviction) -> dict[str, Markup]:
    took = eviction.seconds_to_ready
    return {
        "Time": text(eviction.at[11:19]),
        "Pod": text(printable(f"{eviction.namespace}/{eviction.pod}")),
        "By": text(printable(eviction.reason)),
        "From": text(eviction.node),
        "To": text(eviction.replacement_node or "-"),
        "Outcome": text(_OUTCOMES[eviction.outcome] + (", again" if eviction.repeated else "")),
        "Ready after": text("-" if took is None else f"{took:,.1f} s"),
        "Forecast": text(_forecast(eviction)),
    }


def _forecast(eviction: ShadowedEviction) -> str:
    if eviction.certainty is None:
        return f"none: {eviction.message}"
    if eviction.foretold_pending >= max(eviction.foretold_moved, eviction.foretold_in_vain):
        return f"pending, {eviction.certainty}"
    what = "comes back" if eviction.foretold_in_vain > eviction.foretold_moved else "moves"
    return f"{what}, {eviction.certainty}; {_where(eviction)}"


def _where(eviction: ShadowedEviction) -> str:
    if eviction.candidates == 1:
        return eviction.foretold_node
    likely = eviction.foretold_node_probability
    among = f"{eviction.candidates:,} nodes"
    return among if likely is None else f"{eviction.foretold_node} {likely:.2f} of {among}"
