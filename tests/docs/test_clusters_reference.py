"""The reference of the documents about many clusters has every field, and no others."""

from __future__ import annotations

import msgspec
import pytest

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.reporting.clusters_explanation import ClustersExplanation
from restow.reporting.clusters_pressure import ClustersPressure
from restow.reporting.clusters_result import ClustersPlan

#: What other pages describe.
ELSEWHERE = ("clusters[].pod.", "clusters[].node.", "clusters[].check.")


def test_every_field_of_a_plan_has_a_row_and_no_row_is_of_another() -> None:
    page = text_of("docs/reference/clusters-json.md")
    assert set(rows(section(page, "## Fields"))) == set(fields_of(ClustersPlan))


@pytest.mark.parametrize(
    ("heading", "document"), [("## Explanations", ClustersExplanation), ("## Pressure", ClustersPressure)]
)
def test_so_does_each_document_of_other_commands(heading: str, document: type[msgspec.Struct]) -> None:
    page = text_of("docs/reference/clusters-json.md")
    assert set(rows(section(page, heading))) == {each for each in fields_of(document) if not each.startswith(ELSEWHERE)}
