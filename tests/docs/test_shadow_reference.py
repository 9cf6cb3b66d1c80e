"""The reference of a shadow's report has every field and every outcome, and no others."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.reporting.shadow_result import ShadowReport
from restow.shadowing.outcomes import EvictionOutcome

PAGE = text_of("docs/reference/shadow-report.md")


def test_every_field_of_the_report_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(ShadowReport))


def test_every_outcome_has_a_row() -> None:
    assert set(rows(section(PAGE, "## Outcomes"))) == set(EvictionOutcome)
