"""Filtering: which nodes a pod could go to, and who objects to each of the others.

A node is rejected by the first plugin that objects, and only that plugin's reasons are told. The verdicts of the
leading *local* plugins depend on the node alone; they are kept for each class of pods (``scheduling.per_node``). The
others (volumes, spread, inter-pod affinity) have nothing to say of most pods and are asked every time of the rest.
Source: findNodesThatFitPod, Kubernetes 1.36, with every node visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from restow.cluster.interning import BoolArray, IntArray, combine
from restow.cluster.pods import Pods
from restow.scheduling.context import Context
from restow.scheduling.framework import NOT_ASKED, PASSES, Categories, FilterPlugin, Outcome
from restow.scheduling.nominations import Nominations
from restow.scheduling.per_node import PerNode


@dataclass(slots=True, frozen=True)
class Objection:
    """A plugin and its outcome, by which nodes can be grouped."""

    plugin: str
    outcome: Outcome


@dataclass(slots=True, frozen=True)
class Verdicts:
    """Who rejects which node: ``objections[verdict[node]]``, or PASSES."""

    #: int64[node].
    verdict: Categories
    objections: Sequence[Objection]
    #: What a plugin said before it looked at any node; every node counts as rejected by it.
    prefilter: Objection | None = None

    @property
    def feasible(self) -> IntArray:
        """The nodes that nobody objects to, in order of their names."""
        return np.flatnonzero(np.equal(self.verdict, PASSES))

    def objection(self, node: int) -> Objection | None:
        """Who rejects a node; None where nobody does."""
        category = int(self.verdict[node])
        return None if category in (PASSES, NOT_ASKED) else self.objections[category]


@dataclass(slots=True, frozen=True)
class Asked:
    """What PreFilter leaves to be done for one pod."""

    pod: int
    #: The plugins that have something to say, in their order.
    plugins: tuple[FilterPlugin, ...]
    #: The nodes that are looked at, bool[node]; None is all.
    allowed: BoolArray | None
    #: The plugins that narrowed ``allowed``.
    restricting: tuple[str, ...]
    #: The plugin that rules out every node.
    failure: Objection | None


class Filters:
    """The filter plugins of one profile on one state."""

    def __init__(self, context: Context, plugins: Sequence[FilterPlugin], nominations: Nominations) -> None:
        self._plugins = plugins
        self._local = list(takewhile(lambda plugin: plugin.local, plugins))
        self._state = context.state
        self._nominations = nominations
        self._everywhere: IntArray = np.arange(len(context.state.cluster.nodes))
        self._classes = pod_classes(context.state.cluster.pods)
        #: One pod of each class; to the local plugins all of them are the same.
        self._sample: dict[int, int] = {}
        self._objections: list[Objection] = []
        self._known: dict[Objection, int] = {}
        self._kept = PerNode(context.state, self._judge_class)

    def run(self, pod: int) -> Verdicts:
        """Judge every node for a pod on the state as it is; only the nominated one where the pod fits there."""
        asked = self.prefilter(pod)
        if asked.failure is not None:
            return Verdicts(np.full(len(self._everywhere), self._id(asked.failure)), self._objections, asked.failure)
        nominated = self._nominations.node(pod)
        own = PASSES if nominated < 0 else self.run_on(asked, nominated)
        if nominated >= 0 and own == PASSES:
            verdict = np.full(len(self._everywhere), NOT_ASKED)
        else:
            verdict = self._run_everywhere(asked, self._blamed(asked, own))
        if nominated >= 0:
            verdict[nominated] = own
        return Verdicts(verdict, self._objections)

    def run_on(self, asked: Asked, node: int) -> int:
        """Judge one node for a pod on a state that may be only tried out; a category as in ``run``.

        The pod must fit with the pods that the node is kept for, and without them too: they may never come.
        """
        nodes: IntArray = np.array([node])
        if self.is_kept(asked.pod, node):
            mark = self._state.checkpoint()
            for other in self._nominations.ahead_of(asked.pod, node):
                self._state.place(other, node)
            verdict = int(self._judge(asked, nodes)[0])
            self._state.undo(mark)
            if verdict != PASSES:
                return verdict
        return int(self._judge(asked, nodes)[0])

    def is_kept(self, pod: int, node: int) -> bool:
        """Whether a node is kept for pods that a pod must not crowd out."""
        return bool(self._nominations and self._nominations.ahead_of(pod, node))

    def objection(self, category: int) -> Objection:
        """What a category of ``run_on`` stands for."""
        return self._objections[category]

    def prefilter(self, pod: int) -> Asked:
        """Whom to ask about a pod and about which nodes.

        A plugin that has nothing to say now is not asked again in this cycle, whatever is tried out.
        """
        asked: list[FilterPlugin] = []
        allowed: BoolArray | None = None
        restricting: list[str] = []
        resolvable: Objection | None = None
        for plugin in self._plugins:
            answer = plugin.prefilter(pod)
            if answer.failure is not None:
                objection = Objection(plugin.name, answer.failure)
                if answer.failure.unresolvable:
                    return Asked(pod, (), None, (), objection)
                resolvable = resolvable or objection
            if answer.allowed is not None:
                allowed = answer.allowed if allowed is None else allowed & answer.allowed
                restricting.append(plugin.name)
                if len(restricting) > 1 and not allowed.any():
                    return Asked(pod, (), None, (), _conflict(restricting))
            if not answer.skip:
                asked.append(plugin)
        return Asked(pod, tuple(asked), allowed, tuple(restricting), resolvable)

    def prime(self, asked: Asked, nodes: IntArray) -> None:
        """Have every plugin look at some nodes as they are, so that what it counts is known before anything is tried."""
        for plugin in asked.plugins:
            plugin.judge(asked.pod, nodes)

    def _run_everywhere(self, asked: Asked, blamed: Sequence[str]) -> Categories:
        pod_class = self._classes[asked.pod]
        self._sample.setdefault(pod_class, asked.pod)
        verdict = self._kept.of(pod_class).copy()
        if asked.allowed is not None:
            verdict[~asked.allowed] = self._id(_excluded(blamed))
        self._ask(asked.pod, [each for each in asked.plugins if each not in self._local], self._everywhere, verdict)
        for node in self._nominations.nodes() if self._nominations else ():
            if (asked.allowed is None or asked.allowed[node]) and self.is_kept(asked.pod, node):
                verdict[node] = self.run_on(asked, node)
        return verdict

    def _blamed(self, asked: Asked, own: int) -> Sequence[str]:
        """Who is named at excluded nodes; who rejected the nominated node is named too. Source: Kubernetes 1.36."""
        return asked.restricting if own == PASSES else (*asked.restricting, self._objections[own].plugin)

    def _judge(self, asked: Asked, nodes: IntArray) -> Categories:
        verdict = np.full(len(nodes), PASSES)
        self._ask(asked.pod, asked.plugins, nodes, verdict)
        return verdict

    def _judge_class(self, pod_class: int, nodes: IntArray) -> Categories:
        verdict = np.full(len(nodes), PASSES)
        self._ask(self._sample[pod_class], self._local, nodes, verdict)
        return verdict

    def _ask(self, pod: int, plugins: Sequence[FilterPlugin], nodes: IntArray, verdict: Categories) -> None:
        """Let each plugin judge the nodes that all before it have passed."""
        for plugin in plugins:
            left = np.flatnonzero(np.equal(verdict, PASSES))
            if len(left) == 0:
                return
            judgement = plugin.judge(pod, nodes[left])
            if judgement.outcomes and not judgement.passes.all():
                ids = [self._id(Objection(plugin.name, outcome)) for outcome in judgement.outcomes]
                verdict[left] = np.array([*ids, PASSES])[judgement.category]

    def _id(self, objection: Objection) -> int:
        known = self._known.get(objection)
        if known is None:
            known = self._known[objection] = len(self._objections)
            self._objections.append(objection)
        return known


def pod_classes(pods: Pods) -> list[int]:
    """A class for each pod: everything that local plugins look at."""
    classes: list[int] = combine(pods.tolerations, pods.rules, pods.resources, pods.ports)[0].tolist()
    return classes


def _excluded(plugins: Sequence[str]) -> Objection:
    """The objection to nodes that a PreFilter result leaves out. Source: findNodesThatFitPod, Kubernetes 1.36."""
    names = " ".join(sorted(set(plugins)))
    return Objection("", Outcome((f"node(s) didn't satisfy plugin(s) [{names}]",), unresolvable=True))


def _conflict(plugins: Sequence[str]) -> Objection:
    """The objection to all nodes where the results of several plugins have none in common."""
    names = " ".join(plugins)
    return Objection("", Outcome((f"node(s) didn't satisfy plugin(s) [{names}] simultaneously",), unresolvable=True))
