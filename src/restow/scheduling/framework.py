"""What a scheduler plugin is.

A plugin judges one pod against many nodes at once and answers with arrays. A verdict names a *category* for each node:
-1 passes, any other number points at an ``Outcome`` with the reasons, so that a thousand nodes that fail alike cost one
text. A score is already normalised to 0..100 over the feasible nodes it was asked for.

Codes follow kube-scheduler: an outcome is *unresolvable* where removing pods from the node cannot help
(UnschedulableAndUnresolvable). Source: scheduler framework, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray

Categories = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int64]

#: The category of a node that passes.
PASSES = -1
#: The category of a node that nobody was asked about, because the node that the pod is nominated for passes.
NOT_ASKED = -2
MAX_SCORE = 100


@dataclass(slots=True, frozen=True)
class Outcome:
    """Why a plugin rejects a node: every reason counts once in the scheduler's message."""

    reasons: tuple[str, ...]
    unresolvable: bool = False


@dataclass(slots=True, frozen=True)
class Judgement:
    """The verdict of one plugin on some nodes: ``outcomes[category[i]]`` or, for PASSES, no objection."""

    category: Categories
    outcomes: Sequence[Outcome]

    @property
    def passes(self) -> BoolArray:
        """Which of the nodes the plugin has nothing against."""
        return np.equal(self.category, PASSES)


@dataclass(slots=True, frozen=True)
class PreFiltered:
    """What a plugin says of a pod before it looks at nodes.

    ``skip``: it has nothing to say of this pod at all. ``failure``: no node can be right, for this reason.
    ``allowed``: only these nodes, bool[node]; None is all.
    """

    skip: bool = False
    failure: Outcome | None = None
    allowed: BoolArray | None = None


#: Go on with every node.
PROCEED = PreFiltered()
SKIP = PreFiltered(skip=True)


class FilterPlugin(Protocol):
    """A plugin that can reject nodes."""

    #: As in a KubeSchedulerConfiguration.
    name: str
    #: Whether a verdict depends on the node and the pods on it alone, so that it can be kept until the node changes.
    local: bool

    def prefilter(self, pod: int) -> PreFiltered:
        """What can be said of a pod before any node is looked at."""
        ...

    def judge(self, pod: int, nodes: IntArray) -> Judgement:
        """The verdict on these nodes, on the state as it is now; only asked where ``prefilter`` did not skip."""
        ...


class ScorePlugin(Protocol):
    """A plugin that prefers nodes."""

    name: str

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """0..100 for each of these feasible nodes, normalised over them; None where the plugin has no opinion."""
        ...


def one_outcome(fails: BoolArray, outcome: Outcome) -> Judgement:
    """The verdict of a plugin that knows one way to fail."""
    return Judgement(np.where(fails, 0, PASSES), (outcome,))


def normalised(raw: Scores, *, reverse: bool = False) -> Scores:
    """Raw scores scaled to 0..100 by their maximum. Source: DefaultNormalizeScore, integer division.

    ``reverse`` gives the lowest raw score the highest result; a maximum of 0 gives every node 100 then, else 0.
    """
    highest = int(raw.max(initial=0))
    if highest == 0:
        return np.full_like(raw, MAX_SCORE if reverse else 0)
    scaled = raw * MAX_SCORE // highest
    return MAX_SCORE - scaled if reverse else scaled
