"""The reference of a simulation's result has every field and every result of an eviction, and no others."""

from __future__ import annotations

from typing import get_args

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.application.kept_runs import KeptRun
from restow.reporting.comparison_result import Comparison
from restow.reporting.simulation_document import SimulationResult
from restow.simulating.scenarios.landings import Landing

PAGE = text_of("docs/reference/simulation-json.md")


def test_every_field_of_the_result_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(SimulationResult))


def test_every_field_of_a_comparison_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Comparison"))) == set(fields_of(Comparison))


def test_every_field_of_a_run_with_results_has_a_row_and_no_row_is_of_another() -> None:
    names = [*fields_of(KeptRun), "number", "values", "policy"]
    assert set(rows(section(PAGE, "## Results in a directory"))) == set(names)


def test_every_result_of_an_eviction_has_a_row() -> None:
    assert set(rows(section(PAGE, "## What becomes of evicted pods"))) == set(get_args(Landing))
