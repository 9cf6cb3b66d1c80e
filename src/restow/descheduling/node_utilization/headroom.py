"""What nodes can still take before they reach their ceilings, for the question which of them would do for a pod.

Amounts are nano-units, which 64 bits do not hold for memory. So they are kept in two parts, whole units and the billionths
beyond, and compared part by part: thousands of nodes cost a few operations on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.usage import Amounts
from restow.descheduling.node_utilization.usage import Usage
from restow.kube.quantity import NANO_PER_UNIT

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


def _parts(amounts: list[int]) -> tuple[IntArray, IntArray]:
    """Whole units, as many as fit into 64 bits, and billionths."""
    parts = [divmod(amount, NANO_PER_UNIT) for amount in amounts]
    whole = [max(-_PLENTY, min(each, _PLENTY)) for each, _ in parts]
    return np.array(whole, dtype=np.int64), np.array([each for _, each in parts], dtype=np.int64)
