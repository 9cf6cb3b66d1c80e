"""A scheduler plugin out of plain functions of one pod and one node: short to write, and slow.

The functions are called for every pod and every node that is left, where a vectorised plugin is called once for all of
them. They see a pod as a ``PodView`` and a node as a ``NodeView``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.state import ClusterState
from restow.documents.findings import Issue
from restow.kube.objects import Taint
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import Point, SchedulerPlugin, SchedulerPluginArgs, no_problems
from restow.scheduling.framework.extension_points import PASSES, FilterResult, Outcome, Scores


@dataclass(slots=True, frozen=True)
class PodView:
    """One pod."""

    _state: ClusterState
    _pod: int

    @property
    def namespace(self) -> str:
        """Its namespace."""
        pods = self._state.cluster.pods
        namespace: str = pods.tables.namespaces[pods.namespace[self._pod]]
        return namespace

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        pods = self._state.cluster.pods
        labels: Mapping[str, str] = pods.tables.labels[pods.labels[self._pod]]
        return labels

    @property
    def requests(self) -> Mapping[str, int]:
        """What it requests: CPU in milli, everything else in whole units."""
        pods = self._state.cluster.pods
        requests: Mapping[str, int] = pods.tables.resources[pods.resources[self._pod]].requests
        return requests

    @property
    def priority(self) -> int:
        """Its priority."""
        return int(self._state.cluster.pods.priority[self._pod])


@dataclass(slots=True, frozen=True)
class NodeView:
    """One node, and the pods that are on it now."""

    _state: ClusterState
    _node: int

    @property
    def name(self) -> str:
        """Its name."""
        return self._state.cluster.nodes.names[self._node]

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self._state.cluster.nodes.labels[self._node]

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        nodes = self._state.cluster.nodes
        return nodes.taint_sets[nodes.taints[self._node]]

    @property
    def allocatable(self) -> Mapping[str, int]:
        """What it offers to pods."""
        nodes = self._state.cluster.nodes
        return dict(zip(nodes.resources, nodes.allocatable[:, self._node].tolist(), strict=True))

    @property
    def requested(self) -> Mapping[str, int]:
        """What the pods on it request together."""
        nodes = self._state.cluster.nodes
        return dict(zip(nodes.resources, self._state.requested[:, self._node].tolist(), strict=True))

    @property
    def pods(self) -> tuple[PodView, ...]:
        """The pods on it that are not over, in order of their names."""
        return tuple(PodView(self._state, pod) for pod in self._state.pods_on(self._node).tolist())


#: Why a pod cannot go to a node, or None where it can; an ``Outcome`` instead of a text can say that preemption is no help.
FilterFunction = Callable[[PodView, NodeView, Any], str | Outcome | None]
#: How good a node is for a pod: 0 to 100, or any numbers where they are normalised.
ScoreFunction = Callable[[PodView, NodeView, Any], int]
#: From scores, and the lowest and the highest of them, to scores from 0 to 100.
NormalizeFunction = Callable[[Scores, int, int], Scores]


@dataclass(slots=True, frozen=True)
class Functions:
    """What a plugin is made of; each function gets the plugin's arguments last."""

    filter: FilterFunction | None = None
    score: ScoreFunction | None = None
    #: None where scores are 0 to 100 as they are.
    normalize_score: NormalizeFunction | None = None


def plain_plugin(
    name: str,
    functions: Functions,
    args: type[SchedulerPluginArgs] | None = None,
    check: Callable[[Any], Iterable[Issue]] = no_problems,
) -> SchedulerPlugin:
    """A plugin that runs at the points for which there is a function."""
    points: dict[Point, object] = {"filter": functions.filter, "score": functions.score}
    has = tuple(point for point, function in points.items() if function is not None)
    kind = _Plain if functions.normalize_score is None else _Normalised
    return SchedulerPlugin(name, has, partial(kind, functions), args=args, check=check)


class _Plain:
    """Functions on one state, asked about each node in turn."""

    def __init__(self, functions: Functions, context: Context, args: Any) -> None:
        self._functions = functions
        self._state = context.state
        self._args = args

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """A category for each reason that is given."""
        outcomes: dict[Outcome, int] = {}
        category = np.full(len(nodes), PASSES)
        for place, answer in enumerate(self._each(self._functions.filter, pod, nodes)):
            if answer is not None:
                outcome = answer if isinstance(answer, Outcome) else Outcome((answer,))
                category[place] = outcomes.setdefault(outcome, len(outcomes))
        return FilterResult(category, tuple(outcomes))

    def score(self, pod: int, nodes: IntArray) -> Scores:
        """A number for each."""
        found = list(self._each(self._functions.score, pod, nodes))
        return np.array(found) if found else np.zeros(0, dtype=np.int64)

    def _each(
        self, function: Callable[[PodView, NodeView, Any], Any] | None, pod: int, nodes: IntArray
    ) -> Iterator[Any]:
        assert function is not None, "a plugin runs only where it has a function"
        view = PodView(self._state, pod)
        return (function(view, NodeView(self._state, node), self._args) for node in nodes.tolist())


class _Normalised(_Plain):
    def normalize_score(self, raw: Scores, lowest: int, highest: int) -> Scores:
        """The value of the function, unchecked."""
        assert self._functions.normalize_score is not None, "made only where there is one"
        return self._functions.normalize_score(raw, lowest, highest)
