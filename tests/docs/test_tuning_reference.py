"""The reference of a search's result has every field and no others; its how-to's space is one."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import files, rows, section, text_of
from restow.reporting.tuning_result import TuningResult
from restow.tuning.space import read_space

PAGE = text_of("docs/reference/tuning-json.md")


def test_every_field_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(TuningResult))


def test_the_space_of_the_how_to_can_be_searched() -> None:
    space = files(text_of("docs/how-to/tune-a-policy.md"))["space.yaml"]
    assert [len(each.values) for each in read_space(space.encode(), "space.yaml")] == [13, 10, 3]
