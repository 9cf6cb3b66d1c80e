"""``restow simulate -o html``: a run as a page to show to colleagues; it has no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.plain_text import printable
from restow.reporting.html.charts import Axis, eviction_charts, numbers_table, run_charts
from restow.reporting.html.elements import (
    EMPTY,
    Markup,
    cards,
    contents,
    facts,
    figure,
    joined,
    left_out,
    origin,
    section,
    tag,
    text,
    whole_page,
)
from restow.reporting.past_wording import WORKLOAD_TITLES, number_rows, sentences, workload_rows
from restow.reporting.simulation_wording import (
    AT_ZERO,
    DISRUPTED,
    EVICTED_BY,
    MARKS,
    TableColumn,
    assumed,
    happenings,
    moved_again,
    quiet_text,
    short_name,
    time_text,
    verdict_text,
)
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from msgspec import Struct

    from restow.reporting.simulation_document import MadeEviction, SimulationResult

STYLES: Final = ("style.css", "simulation.css")
MOST_LINES: Final = 400
MOST_ROWS: Final = 100
_MOST_STOPS: Final = 12


def form(result: SimulationResult) -> bytes:
    """Render ``-o html``."""
    return render_simulation(result).encode()


def render_simulation(result: SimulationResult) -> str:
    """Return the page; the same result gives the same text."""
    axis = Axis(result.metadata.seconds, sorted({each.at for each in result.events}))
    sections = {
        "run": _run(result, axis),
        "evictions": _evictions(result, axis),
        "again": _again(result),
        "disruption": _disruption(result),
        "past": _past(result),
        "events": _events(result),
        "expectations": _expectations(result),
        "versions": _versions(result),
    }
    titles = {"run": "The run", "evictions": "Evictions", "again": "Moved again", "disruption": "Disruption"}
    titles["past"] = "The past and its simulation"
    titles |= {"events": "What happened", "expectations": "Expectations", "versions": "Versions"}
    places = {name: title for name, title in titles.items() if sections[name]}
    page = (_header(result), contents(places), tag("main", *sections.values()))
    return whole_page(f"{_headline(result)} - restow simulate", page, STYLES)


def _header(result: SimulationResult) -> Markup:
    metadata = result.metadata
    policy = f"{metadata.policy}, {metadata.placement} placement" if metadata.policy else "no descheduler"
    return tag(
        "header",
        origin(("restow simulate", metadata.scenario, policy, f"seed {metadata.seed}")),
        tag("h1", text(_headline(result))),
        tag("p", text(_lead(result)), class_="lead"),
        tag("dl", *_figures(result), class_="figures"),
        _attention(result),
    )


def _headline(result: SimulationResult) -> str:
    summary = result.summary
    note = f"{counted(summary.evictions, 'eviction')} in {time_text(result.metadata.seconds)}"
    expected = len(result.expectations)
    if summary.failed:
        return f"{note}; {summary.failed:,} of {counted(expected, 'expectation')} failed"
    if summary.met:
        return f"{note}; {summary.met:,} of {counted(expected, 'expectation')} met"
    in_vain = sum(each.returned for each in result.strategies)
    return f"{note}, {in_vain:,} of them in vain" if in_vain else note


def _lead(result: SimulationResult) -> str:
    summary, described = result.summary, result.metadata.description.strip()
    calm = f"{quiet_text(summary.quiet_after_seconds).capitalize()}."
    holds = f"{counted(summary.nodes, 'node')} and {counted(summary.pods, 'pod')} at the end."
    return printable(" ".join([described.rstrip(".") + "." if described else "", holds, calm]).strip())


def _figures(result: SimulationResult) -> Iterator[Markup]:
    summary, samples = result.summary, result.samples
    in_vain = sum(each.returned for each in result.strategies)
    again = sum(each.again for each in result.strategies)
    yield figure("Evictions", text(f"{summary.evictions:,}"), f"{in_vain:,} in vain, {summary.refused:,} refused")
    yield figure("Moved again", text(f"{again:,}"), "of the evicted pods had replaced evicted ones")
    waited = f"pods at most, one of them for {time_text(summary.longest_pending_seconds)}"
    yield figure("Pending", text(f"{summary.most_pending:,}"), waited)
    highest, last = f"{max(*samples.cpu_spread, summary.cpu_spread):.2f}", f"{summary.cpu_spread:.2f}"
    change = joined([text(highest), tag("span", text(" → "), class_="dim"), text(last)])
    yield figure("CPU spread", change, "standard deviation over the nodes: its highest, and at the end")


def _attention(result: SimulationResult) -> Markup:
    sentences = [
        *(f"{each.path} did not happen: {each.message}" for each in result.mishaps[:MOST_ROWS]),
        *(f"{each.pod} stays pending: {each.message}" for each in result.unknown[:MOST_ROWS]),
    ]
    if not sentences:
        return EMPTY
    items = tag("ul", *(tag("li", text(each)) for each in sentences))
    return tag("aside", tag("strong", text("Please note")), items, class_="attention", aria_label="Notes")


def _run(result: SimulationResult, axis: Axis) -> Markup:
    marks = "Dashed lines mark scenario events. " if axis.marks else ""
    reading = f"{marks}A number every {time_text(result.samples.every_seconds)}; point at a moment to read it."
    return section(
        "run", "The run", tag("p", text(reading), class_="dim"), *run_charts(result, axis), numbers_table(result)
    )


def _evictions(result: SimulationResult, axis: Axis) -> Markup:
    if not result.strategies:
        return section("evictions", "Evictions", tag("p", text("No pod was evicted.")))
    return section("evictions", "Evictions", *eviction_charts(result, axis), _table(EVICTED_BY, result.strategies))


def _table(columns: Sequence[TableColumn], rows: Sequence[Struct]) -> Markup:
    """Write the first rows, and say how many there are."""
    body = ({each.title: text(each.text(row)) for each in columns} for row in rows[:MOST_ROWS])
    return joined([left_out(len(rows), MOST_ROWS), cards(body)])


def _again(result: SimulationResult) -> Markup:
    courses = moved_again(result.evictions)
    if not courses:
        return EMPTY
    reading = (
        f"{counted(len(courses), 'pod')} moved on after a move: the evicted pod had itself replaced an evicted one."
    )
    rows = (
        {
            "Workload": text(short_name(each[0].workload)),
            "Evictions": text(f"{len(each):,}"),
            "Nodes": text(" → ".join(_stops(each))),
            "When": text(_times(each)),
            "By": text(", ".join(dict.fromkeys(made.by for made in each))),
        }
        for each in courses[:MOST_ROWS]
    )
    note = tag("p", text(reading), class_="dim")
    return section("again", "Moved again", note, left_out(len(courses), MOST_ROWS), cards(rows))


def _stops(course: Sequence[MadeEviction]) -> list[str]:
    """The nodes on a pod's way; of a long one the beginning."""
    stops = [*(each.node for each in course), course[-1].replacement_node or "-"]
    return stops if len(stops) <= _MOST_STOPS else [*stops[:_MOST_STOPS], f"{len(stops) - _MOST_STOPS:,} more"]


def _times(course: Sequence[MadeEviction]) -> str:
    times = [time_text(each.at) for each in course[:_MOST_STOPS]]
    return ", ".join([*times, *(["..."] if len(course) > _MOST_STOPS else [])])


def _disruption(result: SimulationResult) -> Markup:
    if not result.workloads and not result.budgets:
        return EMPTY
    below = "Below desired: for how long a workload that had been complete had fewer ready pods than desired. "
    zero = "At zero: for how long a PodDisruptionBudget allowed no eviction."
    note = tag("p", text((below if result.workloads else "") + (zero if result.budgets else "")), class_="dim")
    return section(
        "disruption", "Disruption", note, _table(DISRUPTED, result.workloads), _table(AT_ZERO, result.budgets)
    )


def _past(result: SimulationResult) -> Markup:
    past = result.past
    if past is None:
        return EMPTY
    numbers = (dict(zip(("Number", "Recorded", "Simulated"), map(text, row), strict=True)) for row in number_rows(past))
    differing = workload_rows(past)
    workloads = (dict(zip(WORKLOAD_TITLES, map(text, row), strict=True)) for row in differing[:MOST_ROWS])
    more = left_out(len(differing), MOST_ROWS)
    notes = (tag("p", text(f"{each}."), class_="dim") for each in sentences(past))
    return section("past", "The past and its simulation", cards(numbers), *notes, more, cards(workloads))


def _events(result: SimulationResult) -> Markup:
    happened = happenings(result)
    if not happened:
        return EMPTY
    lines = (
        tag("li", tag("span", text(time_text(each.at)), class_="time"), text(f" {each.text}"))
        for each in happened[:MOST_LINES]
    )
    return section("events", "What happened", left_out(len(happened), MOST_LINES), tag("ol", *lines, class_="timeline"))


def _expectations(result: SimulationResult) -> Markup:
    if not result.expectations:
        return EMPTY
    items = (
        tag(
            "li",
            tag("span", text(f"{MARKS[each.result]} {each.result}"), class_="verdict"),
            tag("p", text(each.text)),
            tag("p", text(verdict_text(each)), class_="dim"),
            class_=each.result,
        )
        for each in result.expectations
    )
    return section("expectations", "Expectations", tag("ul", *items, class_="verdicts"))


def _versions(result: SimulationResult) -> Markup:
    metadata = result.metadata
    known = {
        "restow": metadata.restow_version,
        "scenario": metadata.scenario,
        "policy": metadata.policy or "no descheduler",
        "virtual time": f"{time_text(metadata.seconds)} from {metadata.begins}",
        "seed": str(metadata.seed),
        "assumes": assumed(metadata),
        "document": f"{result.kind} {result.api_version}",
    }
    return section("versions", "Versions", facts(known))
