"""Amounts of resources of NUMA nodes: whole CPUs, bytes, or devices, by resource."""

from __future__ import annotations

from collections.abc import Mapping

Amounts = Mapping[str, int]


def added(one: Amounts, other: Amounts) -> dict[str, int]:
    """The sums."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def without(one: Amounts, other: Amounts) -> dict[str, int]:
    """What is left of ``one``; below zero where ``other`` has more."""
    return {name: value - other.get(name, 0) for name, value in one.items()}


def within(one: Amounts, limits: Amounts) -> dict[str, int]:
    """The smaller ones, of what both have."""
    return {name: min(value, limits[name]) for name, value in one.items() if name in limits}


def holds(one: Amounts, other: Amounts) -> bool:
    """Whether ``one`` has enough for ``other``."""
    return all(one.get(name, 0) >= value for name, value in other.items())
