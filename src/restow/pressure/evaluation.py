"""From values to pressure, by rules, over time: arrays of rules by nodes, and no clock but the one that is handed in.

A rule finds a node under pressure once its value has been over the threshold for long enough, and no longer so once the
value is back at the clearing value. In between nothing changes, so a value that flaps around the threshold changes a
mark at most once a crossing. A node without a value keeps what it had for the grace period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from restow.pressure.rules import ENOUGH, Rule

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
TimeArray: TypeAlias = NDArray[np.int64]
IntArray: TypeAlias = NDArray[np.int64]

#: In arrays of times: not at all.
NEVER: Final = -1


@dataclass(slots=True, frozen=True)
class MissingDataPolicy:
    """How long marks survive missing samples, and whether they are cleared afterwards."""

    #: Nanoseconds.
    grace: int
    afterwards: Literal["clear", "stay"] = "clear"


@dataclass(slots=True, frozen=True)
class Table:
    """The rules as columns, each of shape (rules, 1); rules for low values are negated, so that "over" always means above."""

    sign: FloatArray
    threshold: FloatArray
    clear: FloatArray
    hold: TimeArray
    weight: FloatArray
    is_taint: BoolArray

    @staticmethod
    def of(rules: Sequence[Rule]) -> Table:
        """Return the columns of rules."""
        sign = _column([1.0 if rule.direction == "above" else -1.0 for rule in rules])
        return Table(
            sign=sign,
            threshold=sign * _column([rule.threshold for rule in rules]),
            clear=sign * _column([rule.clear for rule in rules]),
            hold=np.array([rule.hold for rule in rules], dtype=np.int64).reshape(-1, 1),
            weight=_column([rule.weight for rule in rules]),
            is_taint=np.array([rule.effect == "taint" for rule in rules], dtype=np.bool_).reshape(-1, 1),
        )


@dataclass(slots=True, frozen=True)
class Pressure:
    """The state after a cycle, by rule and node; times are nanoseconds since the epoch."""

    #: Whether the rule finds the node under pressure.
    pressed: BoolArray
    #: Since when it does, as far as this process knows.
    pressed_since: TimeArray
    #: Since when the value has been over the threshold.
    over_since: TimeArray
    #: When there was a value last, or since when one is missing.
    last_value: TimeArray
    #: Whether there ever was a value.
    has_seen: BoolArray

    @staticmethod
    def beginning(table: Table, labelled: BoolArray, tainted: BoolArray, now: int) -> Pressure:
        """Return the state of a new process: the marks of the previous process, by node, and no values."""
        pressed = np.where(table.is_taint, tainted, labelled)
        return Pressure(
            pressed=pressed,
            pressed_since=np.where(pressed, now, NEVER),
            over_since=np.full(pressed.shape, NEVER, dtype=np.int64),
            last_value=np.full(pressed.shape, now, dtype=np.int64),
            has_seen=np.zeros(pressed.shape, dtype=np.bool_),
        )

    def carried(self, to: Pressure, positions: IntArray) -> Pressure:
        """Return this state for other nodes: ``positions`` has where each was before, or below 0 for a new one, which is as in ``to``."""
        if not self.pressed.shape[1]:
            return to
        is_known = positions >= 0

        def of(ours: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
            return np.where(is_known, ours[:, positions], new)

        return Pressure(
            pressed=of(self.pressed, to.pressed),
            pressed_since=of(self.pressed_since, to.pressed_since),
            over_since=of(self.over_since, to.over_since),
            last_value=of(self.last_value, to.last_value),
            has_seen=of(self.has_seen, to.has_seen),
        )


@dataclass(slots=True, frozen=True)
class Marks:
    """Which nodes should have which mark, and the rules that are held back because they would mark too many."""

    label: BoolArray
    taint: BoolArray
    #: By rule.
    held_back: BoolArray


def step(before: Pressure, table: Table, values: FloatArray, now: int, missing_data: MissingDataPolicy) -> Pressure:
    """Return the state after the values of one moment; NaN is no value."""
    has_value = np.isfinite(values)
    turned = _turned(table, values)
    over = over_threshold(table, values)
    is_lost = ~has_value & (now - before.last_value > missing_data.grace)
    since = np.where(over & (before.over_since == NEVER), now, before.over_since)
    since = np.where((has_value & ~over) | is_lost, NEVER, since)
    enters = over & (now - since >= table.hold)
    leaves = (has_value & (turned <= table.clear)) | (is_lost & (missing_data.afterwards == "clear"))
    pressed = (before.pressed | enters) & ~leaves
    began = np.where(before.pressed, before.pressed_since, now)
    return Pressure(
        pressed=pressed,
        pressed_since=np.where(pressed, began, NEVER),
        over_since=since,
        last_value=np.where(has_value, now, before.last_value),
        has_seen=before.has_seen | has_value,
    )


def over_threshold(table: Table, values: FloatArray) -> BoolArray:
    """Return which values are over the threshold (under it for low values); NaN never is."""
    return _turned(table, values) > table.threshold


def marks(pressure: Pressure, table: Table, most: float) -> Marks:
    """Return the marks; a rule that finds more than a share of all nodes under pressure (``most``) marks none.

    Soft marks on most nodes would steer all pods onto the few others.
    """
    nodes = pressure.pressed.shape[1]
    # Marks of a previous process say nothing about the rule.
    held_back = (pressure.pressed & pressure.has_seen).sum(axis=1) > most * nodes
    weights = np.where(pressure.pressed & ~held_back[:, np.newaxis], table.weight, 0.0)
    return Marks(
        label=np.where(table.is_taint, 0.0, weights).sum(axis=0) >= ENOUGH,
        taint=np.where(table.is_taint, weights, 0.0).sum(axis=0) >= ENOUGH,
        held_back=held_back,
    )


def _turned(table: Table, values: FloatArray) -> FloatArray:
    """The values, negated for low values; NaN is below everything."""
    return np.where(np.isfinite(values), table.sign * values, -np.inf)


def _column(numbers: Sequence[float]) -> FloatArray:
    return np.array(numbers, dtype=np.float64).reshape(-1, 1)
