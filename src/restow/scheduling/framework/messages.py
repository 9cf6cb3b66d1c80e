"""The scheduler's message of a pod that fits nowhere: ``0/5 nodes are available: 1 Insufficient cpu, ...``.

Each reason counts the nodes that gave it; a node with two reasons counts in both. Entries are sorted as texts, so "10"
comes before "2". Source: FitError, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from restow.cluster.interning import IntArray
from restow.scheduling.framework.extension_points import PASSES
from restow.scheduling.framework.verdicts import Verdicts


def fit_error(verdicts: Verdicts) -> str:
    """The text about the filters; what preemption has to say is appended by the caller."""
    total = len(verdicts.verdict)
    if verdicts.prefilter is not None:
        return f"0/{total} nodes are available: {'; '.join(verdicts.prefilter.outcome.reasons)}."
    return f"0/{total} nodes are available:{histogram(reason_counts(verdicts))}"


def reason_counts(verdicts: Verdicts, nodes: IntArray | None = None) -> Mapping[str, int]:
    """How many nodes, of all or of some, gave each reason."""
    counts: Counter[str] = Counter()
    given = verdicts.verdict if nodes is None else verdicts.verdict[nodes]
    categories, sizes = np.unique(given[given != PASSES], return_counts=True)
    for category, size in zip(categories.tolist(), sizes.tolist(), strict=True):
        for reason in verdicts.rejections[category].outcome.reasons:
            counts[reason] += size
    return counts


def histogram(counts: Mapping[str, int]) -> str:
    """The entries of the message with a leading space and a final full stop; empty without entries."""
    entries: Iterable[str] = sorted(f"{count} {reason}" for reason, count in counts.items())
    joined = ", ".join(entries)
    return f" {joined}." if joined else ""
