"""The reference of a history has every field and every result, and no others."""

from __future__ import annotations

import inspect
import re

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.descheduler import history
from restow.reporting.history_result import HistoryReport

PAGE = text_of("docs/reference/history-json.md")


def test_every_field_has_a_row_and_no_row_is_of_another() -> None:
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(HistoryReport))


def test_every_result_has_a_row() -> None:
    written = set(re.findall(r'"(moved|evicted|requested|dropped|blocked|failed|planned)"', inspect.getsource(history)))
    assert set(rows(section(PAGE, "## Results"))) == written
