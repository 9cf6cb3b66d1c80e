"""The reference of the plan has every field, every stage and every refusal code, and no others."""

from __future__ import annotations

import re

import pytest

from docs.fields import fields_of
from docs.pages import code_spans, rows, section, text_of
from restow.descheduling.plan import PlanDocument
from restow.policies.codes import Certainty, Placement, PlacementConstraint, RefusalCode, Stage

PAGE = text_of("docs/reference/plan-json.md")
CODES = section(PAGE, "## Stages and codes")


def test_every_field_of_the_plan_has_a_row_and_no_row_is_of_another():
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(PlanDocument))


def test_every_refusal_code_has_a_row_and_no_row_is_of_another():
    assert set(rows(CODES)) == set(RefusalCode)


def test_the_stages_have_a_section_each_in_their_order():
    assert re.findall(r"^### (\w+)$", CODES, re.MULTILINE) == list(Stage)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("metadata.placement", Placement),
        ("moves[].certainty", Certainty),
        ("moves[].constraint", PlacementConstraint),
        ("refusals[].stage", Stage),
    ],
)
def test_values_of_fields_are_told_of(field, values):
    assert set(values) <= set(code_spans(rows(section(PAGE, "## Fields"))[field][-1]))
