"""The queries to Prometheus, and their results as values of nodes, now and over a range; and which samples are unusable.

A value counts only if it is finite, recent and the only one of its node. Otherwise the node has no value, and its mark
stays as it is for a while.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restow.client.prometheus import InstantVector, VectorSample, query
from restow.client.transport import Api
from restow.cluster.amounts import LARGEST
from restow.cluster.usage_series import SampleSeries
from restow.errors import ClientError
from restow.pressure.rules import Rule

#: Seconds after which a sample is stale, as in Prometheus itself.
STALE_AFTER = 300.0

#: Largest float that is a whole amount.
_MOST = float(LARGEST - 2**11)


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


@dataclass(slots=True, frozen=True)
class RuleResults:
    """The results of the queries, by rule; None for a query that failed, and why."""

    answers: Sequence[InstantVector | None]
    #: By the rule's name.
    failures: dict[str, str]

    @property
    def any_answered(self) -> bool:
        """Whether Prometheus answers at all."""
        return any(answer is not None for answer in self.answers)


# A sample counts only if it is finite, not negative and the only one of its node at its time. What cannot be used is
# left out; a node has a gap then.
@dataclass(slots=True, frozen=True)
class NodeRanges:
    """The series of one query by node, and what was left out."""

    series: Mapping[str, SampleSeries]
    #: Instances that are no node, sorted.
    unmatched: tuple[str, ...]
    #: How many samples could not be used.
    unusable: int


def join(answer: InstantVector, index: Mapping[str, int], nodes: int) -> NodeValues:
    """Return the values of the nodes; ``index`` has the position of a node by each of its names."""
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


def _problem(sample: VectorSample, at: float) -> str:
    if not math.isfinite(sample.value):
        return "not a number"
    return "an old sample" if at - sample.at > STALE_AFTER else ""


async def ask(prometheus: Api, rules: Sequence[Rule]) -> RuleResults:
    """Run all queries; a failing one does not affect the others."""
    once = prometheus.once()
    found = await asyncio.gather(*(_answer(once, rule) for rule in rules))
    failures = {rule.name: each for rule, each in zip(rules, found, strict=True) if isinstance(each, str)}
    return RuleResults([None if isinstance(each, str) else each for each in found], failures)


async def _answer(prometheus: Api, rule: Rule) -> InstantVector | str:
    try:
        return await query(prometheus, rule.query)
    except ClientError as error:
        return str(error)


def ranges(
    answer: InstantVector, index: Mapping[str, int], nodes: Sequence[str], *, per_unit: int, query: str
) -> NodeRanges:
    """The series of nodes by their names; ``index`` has the position of a node by each of its names and addresses.

    ``per_unit`` converts a sample to the amounts of ``cluster.amounts``: 1000 for cores, 1 for bytes.
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


def _positions(answer: InstantVector, index: Mapping[str, int]) -> Mapping[str, int | None]:
    instances = dict.fromkeys(sample.instance for sample in answer.samples)
    return {instance: position_of(instance, index) for instance in instances}


def _usable(found: Mapping[int, Sequence[float]]) -> dict[int, int]:
    return {at: round(each[0]) for at, each in sorted(found.items()) if len(each) == 1 and 0 <= each[0] <= _MOST}


def _series(found: Mapping[int, int], query: str) -> SampleSeries:
    times, values = np.array([*found], dtype=np.int64), np.array([*found.values()], dtype=np.int64)
    return SampleSeries(times, values, query)
