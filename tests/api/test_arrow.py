"""Tables for Arrow: what polars reads by the PyCapsule protocol."""

from __future__ import annotations

import gc

import polars as pl
import pytest

import restow
from restow.api import arrow
from restow.api.arrow import ArrowTable, Column

VALUES = {
    "name": ["shop/web", None, "\u00fcber"],
    "count": [1, None, 2**40],
    "share": [0.5, None, 1.0],
    "ready": [True, False, None],
}
TABLE = ArrowTable(
    [
        Column("name", "text", VALUES["name"]),
        Column("count", "integer", VALUES["count"]),
        Column("share", "number", VALUES["share"]),
        Column("ready", "flag", VALUES["ready"]),
    ]
)


def test_every_kind_of_column_is_read_and_nulls() -> None:
    assert pl.DataFrame(TABLE).to_dict(as_series=False) == VALUES


def test_a_table_can_be_read_again_and_outlives_its_source() -> None:
    table = ArrowTable([Column("name", "text", [f"pod-{number}" for number in range(1000)])])
    first, second = pl.DataFrame(table), pl.DataFrame(table)
    del table
    gc.collect()
    assert first["name"].to_list() == second["name"].to_list() == [f"pod-{number}" for number in range(1000)]


@pytest.mark.parametrize("kind", ["text", "integer", "number", "flag"])
def test_a_table_without_rows_has_its_columns(kind: arrow.ColumnKind) -> None:
    read = pl.DataFrame(ArrowTable([Column("empty", kind, [])]))
    assert (read.height, read.columns) == (0, ["empty"])


def test_what_readers_have_released_is_not_kept() -> None:
    before = len(arrow._held), len(arrow._streams)
    for _ in range(20):
        pl.DataFrame(TABLE)
        TABLE.__arrow_c_stream__()
    gc.collect()
    assert (len(arrow._held), len(arrow._streams)) == before


def test_moves_nodes_and_pods_are_tables() -> None:
    cluster = restow.Cluster.generate(nodes=6, pods=60)
    plan = cluster.plan(now="2026-11-21T00:00:00Z")
    assert pl.DataFrame(plan.to_arrow()).height == len(plan.moves)
    nodes = pl.DataFrame(cluster.nodes.to_arrow())
    assert nodes["name"].to_list() == [each.name for each in cluster.nodes]
    assert pl.DataFrame(cluster.pods.to_arrow()).filter(pl.col("node").is_null()).height == sum(
        each.node is None for each in cluster.pods
    )
