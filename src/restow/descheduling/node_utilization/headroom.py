"""How full nodes are while pods move: what they can still take, and which of two nodes is fuller.

Amounts are nano-units, which for memory exceed 64 bits. So each is kept in two parts, whole units and billionths of a unit,
and the parts are compared one after the other: thousands of nodes take a few array operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import nan

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.usage import Amounts
from restow.descheduling.node_utilization.usage import Usage
from restow.kube.quantity import NANO_PER_UNIT
from restow.scheduling.framework.per_node import PerNode

#: One figure a node.
Figures = npt.NDArray[np.float64]
#: For how many different pods the result for all nodes is kept.
_CAPACITY = 256
#: Up to this many nodes are faster one by one.
_FEW = 4
#: More units than a node has of any resource.
_PLENTY = 1 << 62


class Headroom:
    """What some nodes can take until they reach their ceilings, as usage changes. All other nodes take nothing."""

    def __init__(self, usage: Usage, ceilings: Mapping[int, Amounts], nodes: int) -> None:
        self._usage = usage
        self._ceilings = ceilings
        self._read = len(usage.changes)
        self._whole = np.full((len(usage.names), nodes), -_PLENTY)
        self._rest = np.zeros_like(self._whole)
        self._measure(ceilings)
        #: By what a pod uses.
        self._fits = PerNode(usage, nodes, self._compare, _CAPACITY)

    def takes(self, used: Mapping[str, int] | None, nodes: IntArray) -> BoolArray:
        """Which of some nodes stay at or below their ceilings with one more pod; None if the pod's usage is not known."""
        fits: BoolArray = self._fits.at(_amounts(used, self._usage.names), nodes)
        return fits

    def _compare(self, more: tuple[int, ...], nodes: IntArray) -> BoolArray:
        if len(nodes) <= _FEW:
            return np.array([self._fits_on(node, more) for node in nodes.tolist()], dtype=bool)
        self._measure(self._usage.changes[self._read :])
        self._read = len(self._usage.changes)
        whole, rest = (part[:, None] for part in _parts(more))
        left, beyond = self._whole[:, nodes], self._rest[:, nodes]
        fits: BoolArray = ((left > whole) | (left == whole) & (beyond >= rest)).all(axis=0)
        return fits

    def _fits_on(self, node: int, more: tuple[int, ...]) -> bool:
        ceiling = self._ceilings.get(node)
        if ceiling is None:
            return False
        used = self._usage.by_node[node]
        for name, added in zip(self._usage.names, more, strict=True):  # noqa: SIM110 - a generator takes twice the time
            if used[name] + added > ceiling[name]:
                return False
        return True

    def _measure(self, nodes: Iterable[int]) -> None:
        for node in set(nodes):
            used, ceiling = self._usage.by_node[node], self._ceilings[node]
            self._whole[:, node], self._rest[:, node] = _parts(
                [ceiling[name] - used[name] for name in self._usage.names]
            )


class Fullness:
    """How full nodes are, as usage changes: the largest share that is used of the capacity of any resource.

    ``names`` are the resources that count. A node whose usage is not known is neither fuller nor emptier than another, and
    is chosen last.
    """

    def __init__(self, usage: Usage, capacities: Mapping[int, Amounts], names: Iterable[str], nodes: int) -> None:
        self._usage = usage
        self._capacities = capacities
        self._names = tuple(names)
        self._read = len(usage.changes)
        self._capacity = np.full((len(self._names), nodes), np.nan)
        for node, capacity in capacities.items():
            self._capacity[:, node] = [capacity.get(name, 0) or np.nan for name in self._names]
        self._used = np.full_like(self._capacity, np.nan)
        self._measure(usage.by_node)
        #: By what a pod uses.
        self._shares = PerNode(usage, nodes, self._share, _CAPACITY)
        self._emptiest = PerNode(usage, nodes, lambda *asked: _unknown_last(self._share(*asked)), _CAPACITY)
        self._fullest = PerNode(usage, nodes, lambda *asked: _unknown_last(-self._share(*asked)), _CAPACITY)

    def fuller(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are fuller than a given node."""
        shares = self._shares.of(_amounts(None, self._names))
        fuller: BoolArray = shares[nodes] > shares[than]
        return fuller

    def emptier(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are emptier than a given node."""
        shares = self._shares.of(_amounts(None, self._names))
        emptier: BoolArray = shares[nodes] < shares[than]
        return emptier

    def emptiest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """The cost of one more pod on each of some nodes: the lowest for the emptiest."""
        figures: Figures = self._emptiest.at(_amounts(used, self._names), nodes)
        return figures

    def fullest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """The cost of one more pod on each of some nodes: the lowest for the fullest."""
        figures: Figures = self._fullest.at(_amounts(used, self._names), nodes)
        return figures

    def _share(self, more: tuple[int, ...], nodes: IntArray) -> Figures:
        if len(nodes) <= _FEW:
            return np.array([self._share_of(node, more) for node in nodes.tolist()], dtype=float)
        self._measure(self._usage.changes[self._read :])
        self._read = len(self._usage.changes)
        shares = (self._used[:, nodes] + np.array(more, dtype=float)[:, None]) / self._capacity[:, nodes]
        known = np.isfinite(shares)
        highest = np.where(known, shares, -np.inf).max(axis=0, initial=-np.inf)
        return np.where(known.any(axis=0), highest, np.nan)

    def _share_of(self, node: int, more: tuple[int, ...]) -> float:
        used, capacity = self._usage.by_node.get(node), self._capacities.get(node)
        if used is None or capacity is None:
            return nan
        # Floats as in the arrays, so that a node has the same share alone and among others.
        shares = [
            (float(used.get(name, 0)) + float(added)) / most
            for name, added in zip(self._names, more, strict=True)
            if (most := capacity.get(name, 0))
        ]
        return max(shares, default=nan)

    def _measure(self, nodes: Iterable[int]) -> None:
        for node in set(nodes):
            self._used[:, node] = [self._usage.by_node[node].get(name, 0) for name in self._names]


def _amounts(used: Mapping[str, int] | None, names: tuple[str, ...]) -> tuple[int, ...]:
    """What a pod uses of some resources; nothing if that is not known."""
    return (0,) * len(names) if used is None else tuple([used[name] for name in names])


def _unknown_last(figures: Figures) -> Figures:
    """Replace unknown figures by the highest possible."""
    known_first: Figures = np.fmin(figures, np.inf)
    return known_first


def _parts(amounts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The two parts of an amount: whole units, capped at 64 bits, and billionths."""
    parts = [divmod(amount, NANO_PER_UNIT) for amount in amounts]
    whole = [max(-_PLENTY, min(each, _PLENTY)) for each, _ in parts]
    return np.array(whole, dtype=np.int64), np.array([each for _, each in parts], dtype=np.int64)
