"""Verdicts: which plugin rejects which node, and which nodes pass.

Every pod needs the feasible nodes; the rejections matter only to readers, so they are built when read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import NOT_ASKED, PASSES, Categories, Outcome


@dataclass(slots=True, frozen=True)
class PluginRejection:
    """A plugin and its outcome, by which nodes can be grouped."""

    #: Empty where several plugins reject together.
    plugin: str
    outcome: Outcome
    #: All of those.
    together: tuple[str, ...] = ()


class Verdicts:
    """Who rejects which node: ``rejections[verdict[node]]``, or PASSES.

    Where ``passes`` is given, ``verdict`` may be a function, called when it is first read; it must not read anything that
    changes, but it may add to ``rejections``.
    """

    def __init__(
        self,
        verdict: Categories | Callable[[], Categories],
        rejections: Sequence[PluginRejection],
        prefilter: PluginRejection | None = None,
        *,
        allowed: BoolArray | None = None,
        passes: BoolArray | None = None,
        total: int | None = None,
    ) -> None:
        self._verdict = verdict
        self._total = total
        self._rejections = rejections
        #: What a plugin said before it looked at any node; every node counts as rejected by it.
        self.prefilter = prefilter
        #: The nodes that PreFilter plugins left, bool[node]; None is all.
        self.allowed = allowed
        if passes is not None:
            self.passes = passes

    @cached_property
    def verdict(self) -> Categories:
        """The category of every node."""
        return self._verdict if isinstance(self._verdict, np.ndarray) else self._verdict()

    @property
    def rejections(self) -> Sequence[PluginRejection]:
        """What the categories stand for; those of this verdict are among them."""
        _ = self.verdict
        return self._rejections

    @property
    def total(self) -> int:
        """How many nodes there are to look at."""
        return len(self.verdict) if self._total is None else self._total

    def among(self, nodes: BoolArray) -> Verdicts:
        """The same for a pod that may only go to some nodes, bool[node]; the others were not asked about."""
        return Verdicts(
            lambda: np.where(nodes, self.verdict, NOT_ASKED),
            self._rejections,
            self.prefilter,
            allowed=nodes if self.allowed is None else self.allowed & nodes,
            passes=self.passes & nodes,
            total=int(np.count_nonzero(nodes)),
        )

    @cached_property
    def passes(self) -> BoolArray:
        """The nodes that no plugin rejects, bool[node]."""
        return np.equal(self.verdict, PASSES)

    @cached_property
    def feasible(self) -> IntArray:
        """The nodes that no plugin rejects, in order of their names."""
        return np.flatnonzero(self.passes)

    def rejection(self, node: int) -> PluginRejection | None:
        """The rejection of a node; None if it passes."""
        category = int(self.verdict[node])
        return None if category in (PASSES, NOT_ASKED) else self.rejections[category]


def rejecting_plugins(verdicts: Verdicts) -> frozenset[str]:
    """The plugins that reject some node; of each node the first that does. A pod without a node waits for their events."""
    if verdicts.prefilter is not None:
        found = [verdicts.prefilter]
    else:
        categories = np.unique(verdicts.verdict).tolist()
        found = [verdicts.rejections[each] for each in categories if each not in (PASSES, NOT_ASKED)]
    return frozenset(name for each in found for name in each.together or (each.plugin,))


# Each reason counts the nodes that gave it; a node with two reasons counts in both. Entries are sorted as texts, so
# "10" comes before "2". Source: FitError, Kubernetes 1.36.
def fit_error(verdicts: Verdicts) -> str:
    """The text about the filters; what preemption has to say is appended by the caller."""
    total = verdicts.total
    if verdicts.prefilter is not None:
        return f"0/{total} nodes are available: {'; '.join(verdicts.prefilter.outcome.reasons)}."
    return f"0/{total} nodes are available:{histogram(reason_counts(verdicts))}"


def reason_counts(verdicts: Verdicts, nodes: IntArray | None = None) -> Mapping[str, int]:
    """How many nodes, of all or of some, gave each reason."""
    given = verdicts.verdict if nodes is None else verdicts.verdict[nodes]
    return count_reasons(given[given >= 0], verdicts.rejections)


def count_reasons(categories: Categories, rejections: Sequence[PluginRejection]) -> Counter[str]:
    """How often each reason is given by rejections of these numbers."""
    counts: Counter[str] = Counter()
    numbers, sizes = np.unique(categories, return_counts=True)
    for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
        for reason in rejections[number].outcome.reasons:
            counts[reason] += size
    return counts


def histogram(counts: Mapping[str, int]) -> str:
    """The entries of the message with a leading space and a final full stop; empty without entries."""
    entries: Iterable[str] = sorted(f"{count} {reason}" for reason, count in counts.items())
    joined = ", ".join(entries)
    return f" {joined}." if joined else ""
