"""The reference of the plan of many clusters has every field, and no others."""

from __future__ import annotations

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.reporting.clusters_result import ClustersPlan


def test_every_field_has_a_row_and_no_row_is_of_another() -> None:
    page = text_of("docs/reference/clusters-json.md")
    assert set(rows(section(page, "## Fields"))) == set(fields_of(ClustersPlan))
