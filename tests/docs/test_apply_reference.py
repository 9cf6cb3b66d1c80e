"""The reference of apply's result has every field, every result and every code of its own, and no others."""

from __future__ import annotations

import ast
from typing import get_args

from docs.fields import fields_of
from docs.pages import ROOT, rows, section, text_of
from restow.executing import ledger, outcomes
from restow.reporting.apply_result import ApplyResult

PAGE = text_of("docs/reference/apply-json.md")


def test_every_field_of_the_result_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(ApplyResult))


def test_every_result_has_a_row() -> None:
    assert set(rows(section(PAGE, "## Results"))) == set(get_args(ledger.Result))


def codes() -> set[str]:
    """Why a move is dropped, why its end is not known, and what is said where a plan is decided again."""
    dropped = set(get_args(outcomes.DropCode)) - {"Replanned", "Unsteered"}
    ends = {each.__name__ for each in (outcomes.Blocked, outcomes.Failed, outcomes.Requested)}
    evicted = {each.__name__ for each in (outcomes.Unready, outcomes.Missing, outcomes.Unverified)}
    source = (ROOT / "src" / "restow" / "descheduling" / "replaying.py").read_text(encoding="utf-8")
    returned = (each.value for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Return))
    stale = {
        each.elts[0].value
        for each in returned
        if isinstance(each, ast.Tuple) and isinstance(each.elts[0], ast.Constant)
    }
    return dropped | ends | evicted | stale | {"Declined"}


def test_every_code_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Codes"))) == codes()
