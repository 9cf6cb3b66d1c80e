"""What is known after one answer to each query, and what follows from it for the marks: a pure step from one moment to the next.

Nodes come and go between two moments; each is known by its uid, so a new node of an old name begins anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from restow.client.prometheus import Answer
from restow.pressure.evaluation import (
    BoolArray,
    FloatArray,
    IntArray,
    Marks,
    Patience,
    Pressure,
    Table,
    marks,
    over_threshold,
    step,
)
from restow.pressure.marking import Mark, is_labelled, is_tainted
from restow.pressure.nodes import MarkedNode, index_of, markable
from restow.pressure.rules import Rule
from restow.pressure.samples import NodeValues, join


@dataclass(slots=True, frozen=True)
class Criteria:
    """By what nodes are judged."""

    rules: Sequence[Rule]
    mark: Mark
    #: The share of all nodes that one rule may mark.
    most: float
    patience: Patience


@dataclass(slots=True, frozen=True)
class Situation:
    """All arrays are of rules by nodes, which are sorted by name."""

    #: Nanoseconds since the epoch.
    at: int
    nodes: Sequence[MarkedNode]
    #: By rule.
    joined: Sequence[NodeValues]
    values: FloatArray
    over: BoolArray
    pressure: Pressure
    marks: Marks


def assess(
    criteria: Criteria,
    before: Situation | None,
    known: Iterable[MarkedNode],
    answers: Sequence[Answer | None],
    now: int,
) -> Situation:
    """Return the situation after an answer to each rule's query, or None where there was none.

    Without a situation before it, the marks that nodes bear are all that is known of the past.
    """
    nodes = markable(known)
    index = index_of(nodes)
    joined = [_no_values(len(nodes)) if answer is None else join(answer, index, len(nodes)) for answer in answers]
    values = np.array([each.values for each in joined]).reshape(len(criteria.rules), len(nodes))
    table = Table.of(criteria.rules)
    past = _beginning(table, nodes, criteria.mark, now)
    if before is not None:
        past = before.pressure.carried(past, positions_among(before.nodes, nodes))
    pressure = step(past, table, values, now, criteria.patience)
    return Situation(
        at=now,
        nodes=nodes,
        joined=joined,
        values=values,
        over=over_threshold(table, values),
        pressure=pressure,
        marks=marks(pressure, table, criteria.most),
    )


def positions_among(before: Sequence[MarkedNode], nodes: Sequence[MarkedNode]) -> IntArray:
    """Return where each node was among those of before, and -1 for a new one."""
    was = {(node.name, node.uid): position for position, node in enumerate(before)}
    return np.array([was.get((node.name, node.uid), -1) for node in nodes], dtype=np.int64)


def _beginning(table: Table, nodes: Sequence[MarkedNode], mark: Mark, now: int) -> Pressure:
    labelled = np.array([is_labelled(node, mark) for node in nodes], dtype=np.bool_)
    tainted = np.array([is_tainted(node, mark) for node in nodes], dtype=np.bool_)
    return Pressure.beginning(table, labelled, tainted, now)


def _no_values(nodes: int) -> NodeValues:
    return NodeValues(np.full(nodes, math.nan), {}, ())
