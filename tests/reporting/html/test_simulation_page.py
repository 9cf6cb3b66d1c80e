"""The page of a simulation: complete without script or network, safe with anyone's names in it, and small."""

from __future__ import annotations

import re

import pytest
from msgspec import structs

from builders.simulations import CALM, EVENTFUL, SAMPLES, a_long_result, an_eviction
from reporting.html.test_page import NASTY, Page
from reporting.work import calls
from restow.reporting.html.charts import Axis, scale_of
from restow.reporting.html.simulation import render_simulation
from restow.reporting.simulation_document import (
    BudgetTotals,
    EvictionTotals,
    HappenedEvent,
    MishapResult,
    SimulationResult,
    WorkloadTotals,
)

LONG = a_long_result(3000)
RESULTS = {"calm": CALM, "eventful": EVENTFUL, "long": LONG}


def page(result: SimulationResult) -> Page:
    return Page(render_simulation(result))


@pytest.mark.parametrize("name", RESULTS)
def test_elements_nest_ids_are_unique_and_links_lead_to_them(name: str) -> None:
    found = page(RESULTS[name])
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(attrs["href"] or "")[1:] for attrs in found.having("a")} <= set(ids)


@pytest.mark.parametrize("name", RESULTS)
def test_nothing_is_fetched_and_nothing_runs(name: str) -> None:
    found = page(RESULTS[name])
    assert not [attrs for _, attrs in found.tags if {"src", "srcset", "action", "style"} & attrs.keys()]
    assert not found.having("script")
    assert not re.findall(r"url\(|@import", found.scripts["style"])
    assert "://" not in found.source


@pytest.mark.parametrize("name", RESULTS)
def test_every_picture_says_what_it_shows_or_is_decoration(name: str) -> None:
    for attrs in page(RESULTS[name]).having("svg"):
        assert (attrs.get("role") == "img" and attrs.get("aria-label")) or attrs.get("aria-hidden") == "true"


def test_the_charts_are_there_as_numbers_too() -> None:
    """A row for each sample of a short run, and few of a long one."""
    found = page(EVENTFUL)
    assert len(found.having("svg", role="img")) == 3 + 2
    assert {"0.300", "Evictions so far", "1h"} <= set(found.texts)
    table = render_simulation(LONG).partition('class="numbers"')[2].partition("</table>")[0]
    assert 20 <= table.count("<tr>") <= 26


def test_the_top_says_what_came_of_it() -> None:
    found = page(EVENTFUL)
    assert "5 evictions in 1h; 1 of 5 expectations failed" in found.texts
    assert "A node comes and goes. 3 nodes and 9 pods at the end. Quiet since 30m30s." in found.texts
    assert {"3 in vain, 1 refused", "pods at most, one of them for 12s"} <= set(found.texts)
    assert "events[1] did not happen" in found.text


def test_evictions_are_drawn_by_strategy_and_outcome() -> None:
    made = [structs.replace(an_eviction(at, "job/a"), result=kind) for at, kind in ((0, "moved"), (3599, "returned"))]
    totals = (EvictionTotals("RemoveDuplicates", 2, 1, 1, 0, 0, 0, 0),)
    found = page(structs.replace(CALM, evictions=tuple(made), strategies=totals))
    up, down = (
        [attrs for attrs in found.having("rect", **{"class": kind}) if "x" in attrs] for kind in ("moved", "returned")
    )
    assert (up[0]["y"], up[0]["height"], down[0]["y"], down[0]["height"]) == ("0.0", "50.0", "50.0", "50.0")
    assert found.having("svg", **{"aria-label": "Evictions by RemoveDuplicates: 2 pods: 1 moved, 1 in vain"})


def test_of_many_strategies_the_last_are_drawn_together() -> None:
    names = [f"Strategy{number}" for number in range(12)]
    made = tuple(an_eviction(60, "job/a", by) for by in names)
    found = page(
        structs.replace(CALM, evictions=made, strategies=tuple(EvictionTotals(by, 1, 1, 0, 0, 0, 0, 0) for by in names))
    )
    assert found.having("svg", **{"aria-label": "Evictions by all others: 5 pods: 5 moved"})


def test_disruption_and_budgets_are_tables() -> None:
    found = page(EVENTFUL)
    assert {"deployment/shop/web-0", "1m35s", "30s", "pdb/shop/db", "15s"} <= set(found.texts)
    assert "disruption" not in {attrs.get("id") for attrs in page(CALM).having("section")}


def test_what_is_left_out_is_said() -> None:
    found = page(LONG)
    assert "Showing the first 100 of 700; -o json has all of them." in found.texts
    assert "Showing the first 100 of 300; -o json has all of them." in found.texts
    assert len(found.having("td", **{"data-head": "Budget"})) == 100


def test_a_day_of_thousands_of_evictions_is_a_small_page() -> None:
    assert len(render_simulation(a_long_result(8000)).encode()) < 500_000


def test_a_run_twice_as_long_is_twice_the_work_at_most() -> None:
    one, two = (calls(lambda each=each: render_simulation(each)) for each in (LONG, a_long_result(6000)))
    assert two < 2.2 * one


def test_the_same_result_gives_the_same_page() -> None:
    assert render_simulation(LONG) == render_simulation(LONG)


def test_names_cannot_become_markup() -> None:
    again = structs.replace(an_eviction(60, NASTY, NASTY), pod=NASTY, node=NASTY, replacement_node=NASTY)
    pods = [structs.replace(again, pod="a/p", replacement="q"), structs.replace(again, pod="a/q", again=True)]
    result = structs.replace(
        EVENTFUL,
        metadata=structs.replace(CALM.metadata, scenario=NASTY, description=NASTY, policy=NASTY),
        events=(HappenedEvent(0, NASTY),),
        evictions=tuple(pods),
        strategies=(EvictionTotals(NASTY, 2, 2, 0, 0, 0, 1, 0),),
        workloads=(WorkloadTotals(NASTY, 1, 1, 1, 1),),
        budgets=(BudgetTotals(NASTY, 1, 1),),
        expectations=(structs.replace(EVENTFUL.expectations[0], text=NASTY, objects=(NASTY,)),),
        mishaps=(MishapResult(1, NASTY, NASTY),),
    )
    found = page(result)
    assert found.having("td", **{"data-head": "Nodes"})
    assert not found.having("img")
    assert not found.having("script")
    assert "\x00" not in found.source


def test_a_run_that_ended_at_once_can_be_shown() -> None:
    samples = structs.replace(SAMPLES, pending=(0,), nodes_in_use=(0,), cpu_spread=(0.0,), memory_spread=(0.0,))
    none = structs.replace(CALM.summary, evictions=0, failed=0, met=0)
    moment = structs.replace(CALM, summary=none, metadata=structs.replace(CALM.metadata, seconds=0.0), samples=samples)
    assert "0 evictions in 0s" in page(moment).text


@pytest.mark.parametrize(("seconds", "ticks"), [(3600, 7), (60, 7), (86400, 5), (700, 6), (0, 1), (10**9, 7)])
def test_a_time_axis_has_a_few_round_times(seconds: float, ticks: int) -> None:
    found = Axis(seconds).ticks()
    assert (found[0], len(found)) == (0, ticks)
    assert found[-1] <= seconds


@pytest.mark.parametrize(
    ("numbers", "low", "high"),
    [([0, 0], 0, 1), ([0, 11], 0, 12), ([960, 999], 950, 1000), ([3, 3], 0, 3), ([1000, 1000], 990, 1000), ([], 0, 1)],
)
def test_a_scale_begins_at_zero_unless_all_numbers_are_far_from_it(
    numbers: list[float], low: float, high: float
) -> None:
    found = scale_of(numbers)
    assert found.high == high
    assert found.low == pytest.approx(low, abs=10)
    assert found.low < min(numbers, default=1) or found.low == 0
