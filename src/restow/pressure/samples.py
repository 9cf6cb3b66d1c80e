"""The answers of Prometheus as values of nodes, and what in them cannot be used.

A value counts only if it is one: finite, not old, and the only one of its node. Whatever is wrong with the samples of a
node, the node then has no value, and its mark stays as it is for a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restow.client.prometheus import Answer, Sample

#: Seconds after which a sample is old. Prometheus itself looks back so far.
STALE_AFTER = 300.0


@dataclass(slots=True, frozen=True)
class NodeValues:
    """The values of one rule by position of the node, not-a-number where there is none, and what was left out."""

    values: NDArray[np.float64]
    #: Why a node has no value although it has samples, by position.
    unusable: Mapping[int, str]
    #: Instances that are no node, each once.
    unmatched: tuple[str, ...]

    def why_no_value(self, position: int) -> str:
        """Return why the node at a position has no value."""
        return self.unusable.get(position, "no sample")


def join(answer: Answer, index: Mapping[str, int], nodes: int) -> NodeValues:
    """Return the values of so many nodes; ``index`` knows the position of a node by each of its names."""
    values = np.full(nodes, math.nan)
    unusable: dict[int, str] = {}
    unmatched: dict[str, None] = {}
    seen: set[int] = set()
    for sample in answer.samples:
        position = position_of(sample.instance, index)
        if position is None:
            unmatched.setdefault(sample.instance)
            continue
        problem = "several samples" if position in seen else _problem(sample, answer.at)
        seen.add(position)
        if problem:
            unusable[position] = problem
        else:
            values[position] = sample.value
    values[list(unusable)] = math.nan
    return NodeValues(values, unusable, tuple(unmatched))


def position_of(instance: str, index: Mapping[str, int]) -> int | None:
    """Return the position of the node that an ``instance`` label names, with or without a port; None if there is none."""
    if instance in index:
        return index[instance]
    host, colon, port = instance.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        host = instance
    return index.get(host.removeprefix("[").removesuffix("]"))


def reasons_by_node(joined: NodeValues) -> Mapping[int, str]:
    """Return why nodes have no value, by position."""
    missing = np.flatnonzero(~np.isfinite(joined.values)).tolist()
    return {position: joined.why_no_value(position) for position in missing}


def unmatched_instances(joined: Iterable[NodeValues]) -> list[str]:
    """Return all instances that are no node, each once, sorted."""
    return sorted({instance for each in joined for instance in each.unmatched})


def _problem(sample: Sample, at: float) -> str:
    if not math.isfinite(sample.value):
        return "not a number"
    return "an old sample" if at - sample.at > STALE_AFTER else ""
