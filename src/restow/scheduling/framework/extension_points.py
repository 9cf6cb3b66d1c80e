"""What a scheduler plugin is.

A plugin judges one pod against many nodes at once and answers with arrays. A verdict names a *category* for each node:
-1 passes, any other number points at an ``Outcome`` with the reasons, so that a thousand nodes that fail alike cost one
text. A score is already normalised to 0..100 over the feasible nodes it was asked for.

Codes follow kube-scheduler: an outcome is *unresolvable* where removing pods from the node cannot help
(UnschedulableAndUnresolvable). Source: scheduler framework, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray

Categories = npt.NDArray[np.signedinteger]
Scores = npt.NDArray[np.signedinteger]

#: The category of a node that passes.
PASSES = -1
#: The category of nodes that were not asked about, because the nominated node passes.
NOT_ASKED = -2
MAX_SCORE = 100
NO_PODS: IntArray = np.zeros(0, dtype=np.int64)


class CycleError(Exception):
    """A plugin cannot read what a pod asks for: no node is chosen for the pod, and none is said to be wrong for it."""


class UnknownError(CycleError):
    """It is not known what the scheduler would do with a pod, for this reason: a clause for people."""

    #: Whose rules are not known.
    plugin = ""

    def of(self, plugin: str) -> UnknownError:
        """The same, of a plugin."""
        self.plugin = plugin
        return self


@dataclass(slots=True, frozen=True)
class Outcome:
    """Why a plugin rejects a node: every reason counts once in the scheduler's message."""

    reasons: tuple[str, ...]
    unresolvable: bool = False


@dataclass(slots=True, frozen=True)
class FilterResult:
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


#: Continue with every node.
PROCEED = PreFiltered()
SKIP = PreFiltered(skip=True)


@runtime_checkable
class FilterPlugin(Protocol):
    """A plugin that can reject nodes."""

    #: As in a KubeSchedulerConfiguration.
    name: str

    def applies_to(self, pod: int) -> bool:
        """Whether it can ever object to pods with the parts of this one, on any node."""
        ...

    def prefilter(self, pod: int) -> PreFiltered:
        """The PreFilter answer about a pod."""
        ...

    def affecting_pods(self, pod: int) -> IntArray | None:
        """The pods, on any node, that can change a verdict on this one by coming or going; None is all pods."""
        ...

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """The verdict on these nodes, on the state as it is now; only asked where ``prefilter`` did not skip."""
        ...


class Scope(Enum):
    """What a local plugin looks at."""

    #: The node alone.
    NODE = "node"
    #: The node and the pods on it.
    RESIDENTS = "residents"


@runtime_checkable
class LocalPlugin(FilterPlugin, Protocol):
    """A plugin whose verdict on a node depends on nothing elsewhere, so that it can be kept until the node changes.

    Of the incoming pod it looks at one thing, in ``prefilter`` as well.
    """

    scope: Scope

    def key(self, pod: int) -> int:
        """What it looks at, as the identifier in the pod's column."""
        ...


class Room(Protocol):
    """One node for an incoming pod while other pods leave and return: AddPod and RemovePod as arithmetic."""

    def reprieve(self, pods: Sequence[int]) -> list[bool]:
        """Which of these pods have to go, asked in this order after all have left; none if that does not help."""
        ...

    def remove_pod(self, pod: int) -> None:
        """Remove a pod."""
        ...

    def add_pod(self, pod: int) -> bool:
        """Add a pod back if the incoming pod still fits next to it."""
        ...


@runtime_checkable
class UsagePlugin(LocalPlugin, Protocol):
    """A local plugin that needs only two sums per node: how many pods there are, and what they request.

    So trying out pods that come and go is arithmetic, on many nodes at once.
    """

    def filter_usage(self, pod: int, nodes: IntArray, running: IntArray, requested: IntArray) -> FilterResult:
        """The verdict on nodes with these pod counts, int64[node], and requests, int64[resource, node]."""
        ...

    def fits(self, pod: int, nodes: IntArray, running: IntArray, requested: IntArray) -> BoolArray:
        """Only whether it has nothing against them, bool[len(nodes)]."""
        ...

    def fits_at(self, pod: int, node: int) -> bool:
        """Whether it passes one node as it is; False also where only ``filter`` can say so."""
        ...

    def room(self, pod: int, node: int, running: int, requested: IntArray) -> Room:
        """One node with this pod count and these requests, int64[resource]."""
        ...


@runtime_checkable
class SigningPlugin(Protocol):
    """A plugin that looks at more of a pod than its resources, rules, ports, tolerations and volumes.

    Source: SignPlugin, Kubernetes 1.36; there a signature does not depend on the state.
    """

    def signature(self, pod: int) -> Hashable:
        """Cache key: equal keys mean equal verdicts on a node."""
        ...


@runtime_checkable
class ScorePlugin(Protocol):
    """A plugin that prefers nodes."""

    name: str

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """0..100 for each of these feasible nodes, normalised over them; None where the plugin has no opinion.

        A number stands for all of them alike.
        """
        ...


@runtime_checkable
class WidePlugin(ScorePlugin, Protocol):
    """A score plugin that scores all nodes at once, with a few operations on whole arrays."""

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | int | None:
        """0..100 for each node, right for the feasible ones (at least one, bool[node]) over which it is normalised.

        A number stands for all nodes alike, None for no opinion. The array must never change once it is returned.
        """
        ...


def at_feasible(plugin: ScorePlugin, pod: int, feasible: BoolArray) -> Scores | int | None:
    """``score_all`` by ``score``: 0 for nodes that are not feasible, bool[node]."""
    nodes = np.flatnonzero(feasible)
    found = plugin.score(pod, nodes)
    if found is None or isinstance(found, int):
        return found
    scores = np.zeros(len(feasible), dtype=np.int64)
    scores[nodes] = found
    return scores


def among(plugin: WidePlugin, pod: int, nodes: IntArray, count: int) -> Scores | int | None:
    """``score`` for some of ``count`` nodes, by ``score_all``."""
    feasible = np.zeros(count, dtype=bool)
    feasible[nodes] = True
    scores = plugin.score_all(pod, feasible) if len(nodes) else None
    return scores if scores is None or isinstance(scores, int) else scores[nodes]


def one_outcome(fails: BoolArray, outcome: Outcome) -> FilterResult:
    """The verdict of a plugin that knows one way to fail."""
    return FilterResult(np.where(fails, 0, PASSES), (outcome,))


def scaled(raw: Scores, highest: int, *, reverse: bool = False) -> Scores:
    """Raw scores scaled to 0..100 by the highest that counts. Source: DefaultNormalizeScore, integer division.

    ``reverse`` gives the lowest raw score the highest result; a maximum of 0 gives every node 100 then, else 0.
    """
    if highest == 0:
        return np.full_like(raw, MAX_SCORE if reverse else 0)
    share = raw * MAX_SCORE // highest
    return MAX_SCORE - share if reverse else share


class PhaseTimer(Protocol):
    """Called at the end of each phase of a decision; a phase begins where the one before it ended."""

    def __call__(self, point: str, plugin: str = "", status: str = "Success") -> None:
        """Note an extension point, in kube-scheduler's words; ``plugin`` is empty unless one plugin alone was timed."""


def untimed(point: str, plugin: str = "", status: str = "Success") -> None:
    """A timer that records nothing."""
