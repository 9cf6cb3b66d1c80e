"""The benchmark's own rules: what a row says, what fails the run, and where the table goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.cases import CASES, SIZES, Case, chosen
from bench.programs import Measured
from bench.rows import Row, median
from bench.table import Table, header, line
from bench.table import replace as put

DONE = Measured(deciding=0.5, evictions=40, wall=2.0, cpu=1.8, peak=100_000_000)
UNFINISHED = Measured(deciding=None, evictions=None, wall=130.0, cpu=140.0, peak=900_000_000)
TENTH = Measured(deciding=0.05, evictions=4, wall=0.4, cpu=0.3, peak=50_000_000)


def a_row(*, upstream=DONE, restow=DONE, tenth=TENTH, case=CASES[0]):
    return Row(case, upstream, restow, tenth)


def cells(row):
    return [cell.strip() for cell in line(row, limit=120.0).strip("|").split("|")]


def test_a_row_has_a_cell_for_every_heading():
    assert len(cells(a_row())) == len(header().splitlines()[0].strip("|").split("|"))


def test_a_finished_row_tells_seconds_factor_and_growth():
    row = a_row(upstream=replace(DONE, deciding=25.0, wall=30.0))
    figures = ["40", "25.00 s", "0.50 s", "50", "30.0 s", "2.0 s", "100 MB", "100 MB", "6.0 / 10.0"]
    assert cells(row)[1:] == figures


def test_an_unfinished_row_tells_the_limit():
    assert cells(a_row(upstream=UNFINISHED))[1:6] == ["40", "> 120 s", "0.50 s", "> 240", "> 130.0 s"]


@pytest.mark.parametrize(
    ("upstream", "varies", "agrees"),
    [
        pytest.param(DONE, False, True, id="equal"),
        pytest.param(replace(DONE, evictions=41), False, False, id="different"),
        pytest.param(replace(DONE, evictions=41), True, True, id="left to chance"),
        pytest.param(UNFINISHED, False, True, id="unknown"),
    ],
)
def test_both_must_evict_as_many_pods(upstream, varies, agrees):
    assert a_row(upstream=upstream, case=Case("a", "b", "c", varies=varies)).agrees() is agrees


@pytest.mark.parametrize(
    ("restow", "linear"),
    [
        pytest.param(DONE, True, id="linear"),
        pytest.param(replace(DONE, cpu=6.0), False, id="the process grows faster"),
        pytest.param(replace(DONE, deciding=2.5), False, id="deciding grows faster"),
    ],
)
def test_ten_times_the_cluster_may_cost_about_ten_times_as_much(restow, linear):
    assert a_row(restow=restow).is_linear() is linear


def test_the_median_of_each_figure_counts():
    runs = [DONE, replace(DONE, deciding=0.7, wall=2.5), replace(DONE, deciding=0.1, wall=9.0)]
    assert median(runs) == replace(DONE, wall=2.5)


def test_an_unfinished_run_has_no_median():
    assert median([DONE, UNFINISHED]) == UNFINISHED


def test_an_unknown_scenario_is_told():
    with pytest.raises(ValueError, match="there is no scenario nonsense; there are: lifetime"):
        chosen(["nonsense"])


def test_the_table_replaces_what_is_between_the_markers_of_its_size(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- bench small -->\nold\n<!-- end of bench small -->\nafter\n")
    table = Table("small", SIZES["small"], 120.0, [a_row()])
    for _ in range(2):
        put(document, table)
    assert document.read_text() == (
        f"before\n<!-- bench small -->\n{table.markdown()}\n<!-- end of bench small -->\nafter\n"
    )


def test_a_document_without_markers_stays_as_it_is(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("before\n")
    with pytest.raises(ValueError, match="has no lines <!-- bench small -->"):
        put(document, Table("small", SIZES["small"], 120.0, [a_row()]))
    assert document.read_text() == "before\n"
