"""What is known after one result of each query, and the marks that follow: a pure step from one moment to the next.

Nodes are identified by uid, so a new node with an old name starts from the beginning. ``check`` takes the first step
only: like a new process, it knows nothing of the past but which nodes the previous process labelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from restow.client.prometheus import InstantVector
from restow.kube.duration import MINUTE, format_duration
from restow.pressure.evaluation import (
    BoolArray,
    FloatArray,
    IntArray,
    Marks,
    MissingDataPolicy,
    Pressure,
    Table,
    marks,
    over_threshold,
    step,
)
from restow.pressure.marking import Change, Mark, is_labelled, is_tainted, label_change, taint_change
from restow.pressure.nodes import MarkedNode, index_of, markable
from restow.pressure.rules import Rule
from restow.pressure.samples import NodeValues, join, unmatched_instances

SingleArray: TypeAlias = NDArray[np.float32]

#: How many minutes are kept.
KEPT: Final = 60


@dataclass(slots=True, frozen=True)
class Criteria:
    """The rules and settings by which nodes are evaluated."""

    rules: Sequence[Rule]
    mark: Mark
    #: The share of all nodes that one rule may mark.
    most: float
    missing_data: MissingDataPolicy


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


@dataclass(slots=True, frozen=True)
class History:
    """The last value in each minute; not-a-number where there was none."""

    #: Of shape (rules, nodes, ``KEPT``), the newest at the end. Half the precision is more than a line shows.
    values: SingleArray
    #: Since the epoch, of the newest column.
    minute: int

    @staticmethod
    def empty(rules: int) -> History:
        """Return the history of no nodes."""
        return History(np.empty((rules, 0, KEPT), dtype=np.float32), 0)

    def followed_by(self, values: FloatArray, positions: IntArray, now: int) -> History:
        """Return this history with the values of a moment; ``positions`` is where each node was before, -1 for a new one."""
        minute = now // MINUTE
        passed = min(max(minute - self.minute, 0), KEPT)
        kept = np.full((*values.shape, KEPT), np.nan, dtype=np.float32)
        old = positions >= 0
        if old.any():
            kept[:, old, : KEPT - passed] = self.values[:, positions[old], passed:]
        is_value = np.isfinite(values)
        kept[..., -1][is_value] = values[is_value]
        return History(kept, max(minute, self.minute))


def assess(
    criteria: Criteria,
    before: Situation | None,
    known: Iterable[MarkedNode],
    answers: Sequence[InstantVector | None],
    now: int,
) -> Situation:
    """Return the situation after one result for each rule, or None where its query failed.

    Without an earlier situation, only the existing marks are known of the past.
    """
    nodes = markable(known)
    index = index_of(nodes)
    joined = [_no_values(len(nodes)) if answer is None else join(answer, index, len(nodes)) for answer in answers]
    values = np.array([each.values for each in joined]).reshape(len(criteria.rules), len(nodes))
    table = Table.of(criteria.rules)
    past = _beginning(table, nodes, criteria.mark, now)
    if before is not None:
        past = before.pressure.carried(past, positions_among(before.nodes, nodes))
    pressure = step(past, table, values, now, criteria.missing_data)
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
    """Return the earlier position of each node, -1 for a new one."""
    was = {(node.name, node.uid): position for position, node in enumerate(before)}
    return np.array([was.get((node.name, node.uid), -1) for node in nodes], dtype=np.int64)


def _beginning(table: Table, nodes: Sequence[MarkedNode], mark: Mark, now: int) -> Pressure:
    labelled = np.array([is_labelled(node, mark) for node in nodes], dtype=np.bool_)
    tainted = np.array([is_tainted(node, mark) for node in nodes], dtype=np.bool_)
    return Pressure.beginning(table, labelled, tainted, now)


def _no_values(nodes: int) -> NodeValues:
    return NodeValues(np.full(nodes, math.nan), {}, ())


class CheckedRule(Struct, frozen=True, rename="camel"):
    """A rule, and how many nodes it finds under pressure; ``held_back`` if it would mark too many and so marks none."""

    name: str
    query: str
    threshold: float
    direction: str
    effect: str
    nodes_over: int
    held_back: bool


class CheckedNode(Struct, frozen=True, rename="camel"):
    """A node: its value by rule (null where there is none, and why), the rules that it exceeds, and how its marks change."""

    name: str
    values: dict[str, float | None]
    problems: dict[str, str]
    over: tuple[str, ...]
    #: Rules that it exceeds but not for long enough yet, with that time.
    waiting: dict[str, str]
    label: Change
    taint: Change


class PressureCheck(Struct, frozen=True, rename="camel"):
    """The document of ``restow pressure check``."""

    api_version: str
    kind: str
    rules: tuple[CheckedRule, ...]
    nodes: tuple[CheckedNode, ...]
    unmatched_instances: tuple[str, ...]


def check(
    rules: Sequence[Rule], answers: Sequence[InstantVector], listed: Sequence[MarkedNode], mark: Mark, most: float
) -> PressureCheck:
    """Return what the rules would do; ``most`` is the share of nodes that one rule may mark."""
    found = assess(Criteria(rules, mark, most, MissingDataPolicy(grace=0)), None, listed, answers, 0)
    return PressureCheck(
        api_version="restow.dev/v1alpha1",
        kind="PressureCheck",
        rules=tuple(_rule(rule, row, found) for row, rule in enumerate(rules)),
        nodes=tuple(_node(node, position, rules, found, mark) for position, node in enumerate(found.nodes)),
        unmatched_instances=tuple(unmatched_instances(found.joined)),
    )


def _rule(rule: Rule, row: int, found: Situation) -> CheckedRule:
    return CheckedRule(
        name=rule.name,
        query=rule.query,
        threshold=rule.threshold,
        direction=rule.direction,
        effect=rule.effect,
        nodes_over=int(found.over[row].sum()),
        held_back=bool(found.marks.held_back[row]),
    )


def _node(node: MarkedNode, position: int, rules: Sequence[Rule], found: Situation, mark: Mark) -> CheckedNode:
    values = {rule.name: float(found.values[row, position]) for row, rule in enumerate(rules)}
    return CheckedNode(
        name=node.name,
        values={name: value if math.isfinite(value) else None for name, value in values.items()},
        problems=dict(_problems(position, rules, found)),
        over=tuple(rule.name for row, rule in enumerate(rules) if found.over[row, position]),
        waiting=dict(_waiting(position, rules, found)),
        label=label_change(node, mark, wanted=bool(found.marks.label[position])),
        taint=taint_change(node, mark, wanted=bool(found.marks.taint[position])),
    )


def _waiting(position: int, rules: Sequence[Rule], found: Situation) -> Iterator[tuple[str, str]]:
    for row, rule in enumerate(rules):
        if found.over[row, position] and not found.pressure.pressed[row, position]:
            yield rule.name, format_duration(rule.hold)


def _problems(position: int, rules: Sequence[Rule], found: Situation) -> Iterator[tuple[str, str]]:
    for rule, each in zip(rules, found.joined, strict=True):
        if not math.isfinite(each.values[position]):
            yield rule.name, each.why_no_value(position)
