"""The reference of apply's result has every field, every result and every code of its own, and no others."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.policies.codes import AppliedResult, OutcomeCode
from restow.reporting.apply_result import ApplyResult

PAGE = text_of("docs/reference/apply-json.md")


def test_every_field_of_the_result_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(ApplyResult))


def test_every_result_has_a_row() -> None:
    assert set(rows(section(PAGE, "## Results"))) == set(AppliedResult)


#: What is left open by these is decided again, so no move ends with one.
OPEN = {OutcomeCode.REPLANNED, OutcomeCode.UNSTEERED}


def test_every_code_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Codes"))) == set(OutcomeCode) - OPEN
