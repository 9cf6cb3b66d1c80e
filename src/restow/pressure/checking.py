"""What the rules would do now, from one answer to each query: for each node its values, and what becomes of its label.

A check knows no more of the past than a new process: which nodes bear the label of the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from msgspec import Struct

from restow.client.prometheus import Answer
from restow.kube.duration import format_duration
from restow.pressure.evaluation import BoolArray, Marks, Patience, Pressure, Table, marks, step
from restow.pressure.nodes import MarkedNode, bears_label, bears_taint, index_of, label_is_of, markable
from restow.pressure.rules import Rule
from restow.pressure.samples import NodeValues, join, unmatched_instances

#: Who writes the marks, in ``managedFields``.
FIELD_MANAGER: Final = "restow-pressure"

#: What happens to a mark: it comes, it stays, it goes, it is somebody else's, or there is none.
Change = Literal["set", "keep", "clear", "foreign", "none"]


@dataclass(slots=True, frozen=True)
class Mark:
    """The key and value of label and taint."""

    key: str = "status"
    value: str = "presure"


class CheckedRule(Struct, frozen=True, rename="camel"):
    """A rule, and how many nodes it finds under pressure; one that is held back would mark too many and marks none."""

    name: str
    query: str
    threshold: float
    direction: str
    effect: str
    nodes_over: int
    held_back: bool


class CheckedNode(Struct, frozen=True, rename="camel"):
    """A node: its value by rule (null where there is none, and why), the rules that it is over, and what becomes of its marks."""

    name: str
    values: dict[str, float | None]
    problems: dict[str, str]
    over: tuple[str, ...]
    #: Rules that it is over and that have to wait, with the time: they mark it if it stays so.
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
    rules: Sequence[Rule], answers: Sequence[Answer], listed: Sequence[MarkedNode], mark: Mark, most: float
) -> PressureCheck:
    """Return what the rules would do; ``most`` is the share of nodes that one rule may mark."""
    nodes = markable(listed)
    index = index_of(nodes)
    joined = [join(answer, index, len(nodes)) for answer in answers]
    values = np.array([each.values for each in joined]).reshape(len(rules), len(nodes))
    table = Table.of(rules)
    before = Pressure.beginning(table, _flags(nodes, mark, _is_labelled), _flags(nodes, mark, _is_tainted), 0)
    pressure = step(before, table, values, 0, Patience(grace=0))
    made = marks(pressure, table, most)
    is_over = np.where(np.isfinite(values), table.sign * values, -math.inf) > table.threshold
    view = _View(rules, joined, is_over, pressure, made)
    return PressureCheck(
        api_version="restow.dev/v1alpha1",
        kind="PressureCheck",
        rules=tuple(_rule(rule, row, view) for row, rule in enumerate(rules)),
        nodes=tuple(_node(node, position, view, mark) for position, node in enumerate(nodes)),
        unmatched_instances=tuple(unmatched_instances(joined)),
    )


@dataclass(slots=True, frozen=True)
class _View:
    rules: Sequence[Rule]
    joined: Sequence[NodeValues]
    is_over: BoolArray
    pressure: Pressure
    marks: Marks


def _rule(rule: Rule, row: int, view: _View) -> CheckedRule:
    return CheckedRule(
        name=rule.name,
        query=rule.query,
        threshold=rule.threshold,
        direction=rule.direction,
        effect=rule.effect,
        nodes_over=int(view.is_over[row].sum()),
        held_back=bool(view.marks.held_back[row]),
    )


def _node(node: MarkedNode, position: int, view: _View, mark: Mark) -> CheckedNode:
    values = {rule.name: float(each.values[position]) for rule, each in zip(view.rules, view.joined, strict=True)}
    over = [rule for row, rule in enumerate(view.rules) if view.is_over[row, position]]
    waiting = dict(_waiting(position, view))
    is_foreign = bears_label(node, mark.key, mark.value) and not _is_labelled(node, mark)
    label = _change(before=_is_labelled(node, mark), wanted=bool(view.marks.label[position]))
    return CheckedNode(
        name=node.name,
        values={name: value if math.isfinite(value) else None for name, value in values.items()},
        problems=dict(_problems(position, view)),
        over=tuple(rule.name for rule in over),
        waiting=waiting,
        label="foreign" if is_foreign else label,
        taint=_change(before=_is_tainted(node, mark), wanted=bool(view.marks.taint[position])),
    )


def _change(*, before: bool, wanted: bool) -> Change:
    if before:
        return "keep" if wanted else "clear"
    return "set" if wanted else "none"


def _waiting(position: int, view: _View) -> Iterator[tuple[str, str]]:
    for row, rule in enumerate(view.rules):
        if view.is_over[row, position] and not view.pressure.pressed[row, position]:
            yield rule.name, format_duration(rule.hold)


def _problems(position: int, view: _View) -> Iterator[tuple[str, str]]:
    for rule, each in zip(view.rules, view.joined, strict=True):
        if not math.isfinite(each.values[position]):
            yield rule.name, each.unusable.get(position, "no sample")


def _flags(nodes: Sequence[MarkedNode], mark: Mark, bears: Callable[[MarkedNode, Mark], bool]) -> BoolArray:
    return np.array([bears(node, mark) for node in nodes], dtype=np.bool_)


def _is_labelled(node: MarkedNode, mark: Mark) -> bool:
    """Whether a node bears our label; one that somebody else wrote is none of ours."""
    return bears_label(node, mark.key, mark.value) and label_is_of(node, mark.key, FIELD_MANAGER)


def _is_tainted(node: MarkedNode, mark: Mark) -> bool:
    """Whether a node bears the taint; the API does not tell who wrote one of several taints."""
    return bears_taint(node, mark.key, mark.value)
