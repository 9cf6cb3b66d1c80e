"""What Prometheus has measured of nodes over time, as series of usage.

A sample counts only if it is finite, not negative and the only one of its node at its time. What cannot be used is left
out; a node has a gap then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from restow.client.prometheus import Answer
from restow.cluster.amounts import LARGEST
from restow.cluster.usage_history import Series
from restow.pressure.samples import position_of

#: Largest float that is a whole amount.
_MOST = float(LARGEST - 2**11)


@dataclass(slots=True, frozen=True)
class NodeRanges:
    """The series of one query by node, and what was left out."""

    series: Mapping[str, Series]
    #: Instances that are no node, sorted.
    unmatched: tuple[str, ...]
    #: How many samples could not be used.
    unusable: int


def ranges(answer: Answer, index: Mapping[str, int], nodes: Sequence[str], *, per_unit: int, query: str) -> NodeRanges:
    """The series of nodes by their names; ``index`` knows the position of a node by each of its names and addresses.

    A sample of 1 is so many of the amounts of ``cluster.amounts``: 1000 for cores, 1 for bytes.
    """
    where = _positions(answer, index)
    values: dict[int, dict[int, list[float]]] = {}
    for sample in answer.samples:
        position = where[sample.instance]
        if position is not None:
            values.setdefault(position, {}).setdefault(int(sample.at), []).append(sample.value * per_unit)
    usable = {position: _usable(found) for position, found in sorted(values.items())}
    kept = sum(map(len, usable.values()))
    return NodeRanges(
        {nodes[position]: _series(found, query) for position, found in usable.items() if found},
        tuple(sorted(instance for instance, position in where.items() if position is None)),
        sum(len(each) for found in values.values() for each in found.values()) - kept,
    )


def _positions(answer: Answer, index: Mapping[str, int]) -> Mapping[str, int | None]:
    instances = dict.fromkeys(sample.instance for sample in answer.samples)
    return {instance: position_of(instance, index) for instance in instances}


def _usable(found: Mapping[int, Sequence[float]]) -> dict[int, int]:
    return {at: round(each[0]) for at, each in sorted(found.items()) if len(each) == 1 and 0 <= each[0] <= _MOST}


def _series(found: Mapping[int, int], query: str) -> Series:
    times, values = np.array([*found], dtype=np.int64), np.array([*found.values()], dtype=np.int64)
    return Series(times, values, query)
