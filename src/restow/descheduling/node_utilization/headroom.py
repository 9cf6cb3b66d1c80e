"""How full nodes are while pods come and go: what they can still take, and which of two is the fuller.

Amounts are nano-units, which 64 bits do not hold for memory. So they are kept in two parts, whole units and the billionths
beyond, and compared part by part: thousands of nodes cost a few operations on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.usage import Amounts
from restow.descheduling.node_utilization.usage import Usage
from restow.kube.quantity import NANO_PER_UNIT

#: One figure a node.
Figures = npt.NDArray[np.float64]
#: More units than there are of anything.
_PLENTY = 1 << 62


class Headroom:
    """What is left up to the ceilings of some nodes, as usage is lowered and raised; other nodes take nothing."""

    def __init__(self, usage: Usage, ceilings: Mapping[int, Amounts], nodes: int) -> None:
        self._usage = usage
        self._ceilings = ceilings
        self._read = len(usage.changes)
        self._whole = np.full((len(usage.names), nodes), -_PLENTY)
        self._rest = np.zeros_like(self._whole)
        self._measure(ceilings)

    def takes(self, used: Mapping[str, int] | None, nodes: IntArray) -> BoolArray:
        """Which of some nodes stay at or below their ceilings with a pod more; None where nobody knows what it uses."""
        self._measure(self._usage.changes[self._read :])
        self._read = len(self._usage.changes)
        whole, rest = (part[:, None] for part in _parts([used[name] if used else 0 for name in self._usage.names]))
        fits: BoolArray = ((self._whole > whole) | (self._whole == whole) & (self._rest >= rest)).all(axis=0)[nodes]
        return fits

    def _measure(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            used, ceiling = self._usage.by_node[node], self._ceilings[node]
            self._whole[:, node], self._rest[:, node] = _parts(
                [ceiling[name] - used[name] for name in self._usage.names]
            )


class Fullness:
    """How full nodes are, as usage is lowered and raised: the share of the capacity that is used, of the scarcest resource.

    ``names`` are the resources that count. Nodes whose usage is not known are neither fuller nor emptier than any other,
    and the last ones to choose.
    """

    def __init__(self, usage: Usage, capacities: Mapping[int, Amounts], names: Iterable[str], nodes: int) -> None:
        self._usage = usage
        self._names = tuple(names)
        self._read = len(usage.changes)
        self._capacity = np.full((len(self._names), nodes), np.nan)
        for node, capacity in capacities.items():
            self._capacity[:, node] = [capacity.get(name, 0) or np.nan for name in self._names]
        self._used = np.full_like(self._capacity, np.nan)
        self._measure(usage.by_node)

    def fuller(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are fuller than one."""
        fuller: BoolArray = self._share(nodes) > self._share(np.array([than]))
        return fuller

    def emptier(self, than: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes are emptier than one."""
        emptier: BoolArray = self._share(nodes) < self._share(np.array([than]))
        return emptier

    def emptiest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """How full each of some nodes is with a pod more; the emptiest node has the least."""
        return np.nan_to_num(self._share(nodes, used), nan=np.inf)

    def fullest_with(self, used: Mapping[str, int] | None, nodes: IntArray) -> Figures:
        """The same, but the fullest node has the least."""
        return np.nan_to_num(-self._share(nodes, used), nan=np.inf)

    def _share(self, nodes: IntArray, more: Mapping[str, int] | None = None) -> Figures:
        self._measure(self._usage.changes[self._read :])
        self._read = len(self._usage.changes)
        used = self._used[:, nodes]
        if more is not None:
            used = used + np.array([more[name] for name in self._names], dtype=float)[:, None]
        shares = used / self._capacity[:, nodes]
        known = np.isfinite(shares)
        highest = np.where(known, shares, -np.inf).max(axis=0, initial=-np.inf)
        return np.where(known.any(axis=0), highest, np.nan)

    def _measure(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._used[:, node] = [self._usage.by_node[node].get(name, 0) for name in self._names]


def _parts(amounts: list[int]) -> tuple[IntArray, IntArray]:
    """Whole units, as many as fit into 64 bits, and billionths."""
    parts = [divmod(amount, NANO_PER_UNIT) for amount in amounts]
    whole = [max(-_PLENTY, min(each, _PLENTY)) for each, _ in parts]
    return np.array(whole, dtype=np.int64), np.array([each for _, each in parts], dtype=np.int64)
