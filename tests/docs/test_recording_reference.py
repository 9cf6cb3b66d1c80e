"""The reference of recordings has every field and no others."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.recordings.lines import RecordLine, SegmentHead

PAGE = text_of("docs/reference/recording.md")


def test_every_field_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## The head"))) == set(fields_of(SegmentHead))
    assert set(rows(section(PAGE, "## The lines"))) == set(fields_of(RecordLine))
