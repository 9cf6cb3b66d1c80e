"""What the nodes of a synthetic cluster used: the hours of a day, each node at its own, with noise."""

from __future__ import annotations

import math
from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from restow.cluster.amounts import parse_amounts
from restow.cluster.usage_series import RESOURCES, SampleSeries, packed, rounded
from restow.kube.timestamps import SECOND, parse_time
from restow.sources.synthetic.names import DAY, NOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from restow.sources.synthetic.names import Object

#: Share of what is allocatable: the least and the most that a node uses on average, how much the hour adds, and noise.
_LEAST, _MOST, _SWING, _NOISE = 0.1, 0.7, 0.15, 0.03
_END = parse_time(NOW) // SECOND


def with_usage(objects: Iterable[Object], seconds: int, step: int, seed: int) -> Iterator[Object]:
    """Yield all objects, then what their nodes used every ``step`` seconds of a period that ends at ``NOW``."""
    nodes = {}
    for each in objects:
        yield each
        if each["kind"] == "Node":
            nodes[each["metadata"]["name"]] = each["status"]["allocatable"]
    rng = Random(f"usage {seed}")  # noqa: S311  no secret is drawn
    times = np.arange(_END - (seconds // step - 1) * step, _END + 1, step, dtype=np.int64)
    for name, allocatable in nodes.items():
        capacity = parse_amounts({resource: allocatable[resource] for resource in RESOURCES})
        for resource in RESOURCES:
            yield _stored(name, resource, _series(times, capacity[resource], rng))


def _series(times: np.ndarray[tuple[int], np.dtype[np.int64]], capacity: int, rng: Random) -> SampleSeries:
    average, phase = rng.uniform(_LEAST, _MOST), rng.random()
    shares = (
        average + _SWING * math.sin(2 * math.pi * (time / DAY + phase)) + rng.gauss(0, _NOISE)
        for time in times.tolist()
    )
    values = [int(capacity * min(max(share, 0.0), 1.0)) for share in shares]
    return rounded(SampleSeries(times, np.array(values, dtype=np.int64)))


def _stored(node: str, resource: str, series: SampleSeries) -> Object:
    wire = packed(node, resource, series)
    return {
        "apiVersion": wire.api_version,
        "kind": wire.kind,
        "metadata": {"name": wire.metadata.name},
        "node": node,
        "resource": resource,
        "samples": wire.samples,
        "unit": wire.unit,
        "columns": b64encode(wire.columns).decode(),
    }
