"""The reference of the schedule has every field, and no others."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.reporting.schedule_result import ScheduleResult

PAGE = text_of("docs/reference/schedule.md")


def test_every_field_of_the_schedule_has_a_row_and_no_row_is_of_another():
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(ScheduleResult))
