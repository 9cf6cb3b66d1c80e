"""The page of loops, and that of performance, tell what the known loops come to when they are simulated."""

from __future__ import annotations

import pytest

from bench.simulated_loops import EXPLANATION, PERFORMANCE, example_row, examples, outage_rows, scene_rows

#: Those that go on whoever deschedules.
WITHOUT_DESCHEDULER = {"no-execute.yaml"}


def table(page, name):
    """The cells of a table that the benchmark has written."""
    text = page.read_text().partition(f"<!-- bench {name} -->")[2].partition(f"<!-- end of bench {name} -->")[0]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.strip().splitlines()[2:]]


@pytest.mark.parametrize("path", examples(), ids=lambda path: path.stem)
def test_each_known_loop_is_as_the_page_says_and_does_not_happen_in_prove(path):
    row = example_row(path)
    assert row in table(EXPLANATION, "loops")
    assert row[3] != "none"
    assert (row[4] == "none") == (path.name not in WITHOUT_DESCHEDULER)


def test_the_page_tells_of_no_others():
    assert len(table(EXPLANATION, "loops")) == len(examples())


def test_simulated_scenes_of_the_live_benchmark_are_as_the_page_says():
    assert [*scene_rows()] == table(PERFORMANCE, "simulated loops")
    assert [*outage_rows()] == table(PERFORMANCE, "simulated outages")
