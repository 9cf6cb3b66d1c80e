"""The table of placements, and the clusters that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import placing
from bench.placement_clusters import SCENARIOS, objects
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule

ROW = placing.Row("basic", 5_000, restow=8_000.0, all_nodes=100.0, sampled=400.0, library=50.0, first_fit=9_000.0)


def test_a_row_says_how_many_times_as_fast_restow_is() -> None:
    assert ROW.cells() == ("5,000", "basic", "8,000", "100", "80", "400", "20", "50", "160", "9,000")


def test_a_row_has_no_figures_of_a_library_that_cannot_preempt() -> None:
    row = replace(ROW, library=None, first_fit=None)
    assert row.cells()[-3:] == ("-", "-", "-")


def test_the_table_takes_the_place_of_the_one_before(tmp_path) -> None:
    document = tmp_path / "page.md"
    document.write_text("above\n<!-- bench placement -->\nold\n<!-- end of bench placement -->\nbelow\n")
    placing.replace(document, [ROW])
    placing.replace(document, [ROW])
    text = document.read_text()
    assert text.startswith("above\n")
    assert text.endswith("\nbelow\n")
    assert "old" not in text
    assert text.count("| 5,000 | basic |") == 1


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path) -> None:
    (tmp_path / "page.md").write_text("nothing\n")
    with pytest.raises(ValueError, match="has no lines"):
        placing.replace(tmp_path / "page.md", [ROW])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_every_pod_of_a_scenario_finds_a_node(scenario) -> None:
    schedulers = Schedulers(Context.of(ClusterState(a_cluster(*objects(scenario, nodes=12, waiting=9)))))
    for decision in schedule(schedulers):
        assert (decision.nominated_node if scenario.preempts else decision.node) >= 0
