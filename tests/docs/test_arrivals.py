"""The reference names the queries that Prometheus is asked about arrivals."""

from __future__ import annotations

from docs.pages import section, text_of
from restow.application.arrivals import QUERIES


def test_each_query_stands_in_the_reference_and_no_other_does() -> None:
    page = section(text_of("docs/reference/scenario.md"), "### Arrivals from Prometheus")
    block = page.split("```")[3].strip().splitlines()
    assert block == list(QUERIES.values())
