"""What the queries of a policy came to by a time, as the input has stored it: in place of a Prometheus that answers.

A series that is of no query, as those of CSV, stands for any. Each step of the history before counts as one cycle, so
that what has to last for several cycles can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from restow.cluster.snapshot import Cluster
from restow.cluster.usage_columns import KIND, PER_SHARE, SHARE, unpacked
from restow.cluster.usage_history import Series
from restow.cluster.usage_samples import NodeSamples, QueryResult


def stored_results(cluster: Cluster, queries: Iterable[str], now: int, cycles: int = 1) -> dict[str, QueryResult]:
    """The results of the queries that are stored, at a time in seconds, with those of the cycles before.

    Nodes without a sample by then have none; a query without nodes has no result.
    """
    shares = [each for each in cluster.kind(KIND).values() if each.resource == SHARE]
    series = [(each.query, each.node, unpacked(each)) for each in sorted(shares, key=lambda each: each.query)]
    found = {}
    for query in queries:
        # The exact query sorts behind the empty one, so it replaces that.
        of_node = {node: each for own, node, each in series if own in ("", query)}
        result = _result(of_node, now)
        if result.samples:
            earlier = tuple(_result(of_node, now - back * _step(of_node)) for back in range(1, cycles))
            found[query] = QueryResult(
                result.at, result.samples, earlier=tuple(each for each in earlier if each.samples)
            )
    return found


def _result(of_node: Mapping[str, Series], at: int) -> QueryResult:
    samples = []
    for node, series in sorted(of_node.items()):
        end = int(np.searchsorted(series.times, at, side="right"))
        if end:
            shares = series.values[:end] / PER_SHARE
            samples.append(NodeSamples(node, series.times[:end].astype(np.float64), shares))
    return QueryResult(float(at), tuple(samples))


def _step(of_node: Mapping[str, Series]) -> int:
    """The usual seconds between two samples; a minute where there are no two."""
    steps = np.concatenate([np.diff(series.times) for series in of_node.values()])
    return int(np.median(steps)) if len(steps) else 60
