"""What the rules would do now, from one result of each query: the values of each node, and how its label would change.

Like a new process, a check knows nothing of the past but which nodes the previous process labelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from restow.client.prometheus import InstantVector
from restow.kube.duration import format_duration
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import Change, Mark, label_change, taint_change
from restow.pressure.nodes import MarkedNode
from restow.pressure.rules import Rule
from restow.pressure.samples import unmatched_instances
from restow.pressure.situation import Criteria, Situation, assess


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
