"""Filtering: which nodes a pod could go to, and who objects to each of the others.

PreFilter says which plugins apply to a pod, and to which nodes (``scheduling.framework.prefiltering``). Then a node is
rejected by the first plugin that objects, and only that plugin's reasons are reported. The verdicts of the leading *local*
plugins depend on the node alone; they are kept for each class of pods (``scheduling.framework.caches``). The others
(volumes, spread, inter-pod affinity) are asked every time. Source: findNodesThatFitPod, Kubernetes 1.36, with every node
visited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.pods import PENDING
from restow.scheduling.framework.caches import LocalVerdicts, LruCache, PerNode, merged
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import (
    NOT_ASKED,
    PASSES,
    Categories,
    FilterPlugin,
    FilterResult,
    LocalPlugin,
    Outcome,
    Scope,
    UsagePlugin,
)
from restow.scheduling.framework.prefiltering import PodKind, PreFilterResult, PreFilters
from restow.scheduling.framework.verdicts import PluginRejection, Verdicts
from restow.scheduling.framework.waiting_pods import KeptNodes, Nominations

#: What depends on nodes alone is kept for this many ways to look at them, and what is looked at for as many kinds of pods
#: as a large cluster has workloads.
_VIEWS = 256
_KINDS = 16_384


class _StaticVerdicts(NamedTuple):
    """What plugins that look at nodes only say of pods that are to them the same."""

    #: The number of changes of nodes that were known.
    written: int
    #: By plugin.
    layers: Mapping[str, Categories]
    #: The nodes that all of them let pass, bool[node], and their indices.
    passes: BoolArray
    nodes: IntArray


class Filters:
    """The filter plugins of one profile on one state."""

    def __init__(self, context: Context, plugins: Sequence[FilterPlugin], nominations: Nominations) -> None:
        self.state = context.state
        self._nominations = nominations
        self._everywhere: IntArray = np.arange(len(context.state.cluster.nodes))
        context.state.cluster.nodes.follow(NodePart.POSITION, self._count_nodes)
        leading = list(takewhile(lambda plugin: isinstance(plugin, LocalPlugin), plugins))
        self._pods = context.state.cluster.pods
        #: Plugins that look at nodes only, never at their pods.
        self._static = {
            each.name: each for each in leading if isinstance(each, LocalPlugin) and each.scope is Scope.NODE
        }
        #: What they look at of the pods of a kind, and what they say of that.
        self._looked_at: LruCache[PodKind, tuple[tuple[str, int], ...]] = LruCache(_KINDS)
        self._static_verdicts: LruCache[tuple[tuple[str, int], ...], _StaticVerdicts] = LruCache(_VIEWS)
        verdicts = {
            plugin.name: LocalVerdicts(context.state, plugin, self.numbered)
            for plugin in plugins
            if isinstance(plugin, LocalPlugin)
        }
        self._local = {plugin.name: verdicts.pop(plugin.name) for plugin in leading}
        #: The verdicts of local plugins that come after others.
        self._late = verdicts
        self._by_usage = {each.name: each for each in leading if isinstance(each, UsagePlugin)}
        #: The nodes with what is kept of them for nominated pods.
        self.kept_nodes = KeptNodes(context.state, nominations)
        self._with_nominated = PerNode.following(self.kept_nodes, self._filter_with_nominated)
        self._sample: dict[tuple[int, int], tuple[UsagePlugin, int]] = {}
        self._prefilters = PreFilters(context, plugins)
        #: What the categories of verdicts stand for; it only ever grows.
        self.rejections: list[PluginRejection] = []
        self._known: dict[PluginRejection, int] = {}

    def run(self, pod: int, among: BoolArray | None = None) -> Verdicts:
        """Judge every node for a pod on the state as it is; only the nominated one where the pod fits there.

        With ``among``, bool[node], as if there were no others to go to.
        """
        nominated = self._nominations.node(pod)
        if among is None:
            return self._run(pod, nominated)
        return self._run(pod, nominated if nominated >= 0 and among[nominated] else PENDING).among(among)

    def _run(self, pod: int, nominated: int) -> Verdicts:
        asked = self.prefilter(pod)
        if asked.failure is not None:
            return Verdicts(np.full(len(self._everywhere), self._id(asked.failure)), self.rejections, asked.failure)
        if nominated < 0:
            return self._run_everywhere(asked, asked.restricting)
        own = self.run_on(asked, nominated)
        if own == PASSES:
            verdict = np.full(len(self._everywhere), NOT_ASKED)
        else:
            # Who rejected the nominated node is named at excluded nodes too. Source: Kubernetes 1.36.
            verdict = self._run_everywhere(asked, (*asked.restricting, self.rejections[own].plugin)).verdict
        verdict[nominated] = own
        return Verdicts(verdict, self.rejections, allowed=asked.allowed)

    def passing(self, pod: int, nodes: IntArray) -> IntArray:
        """Those of some nodes that ``run`` would let pass; nothing is asked about the others."""
        if self._nominations:
            return nodes[self.run(pod).passes[nodes]]
        asked = self.prefilter(pod)
        if asked.failure is not None:
            return nodes[:0]
        left = nodes if asked.allowed is None else nodes[asked.allowed[nodes]]
        for plugin in asked.plugins:
            if len(left) == 0:
                break
            local = self._local.get(plugin.name)
            left = left[plugin.filter(pod, left).passes if local is None else local.at(pod, left) < 0]
        return left

    def admitting(self, pod: int) -> IntArray:
        """The nodes whose taints, labels and cordons do not keep a pod out, or what else plugins see of nodes alone."""
        looked_at = tuple([(each.name, each.key(pod)) for each in self._static.values() if each.applies_to(pod)])
        return self._static_verdicts_on(pod, looked_at).nodes

    def run_on(self, asked: PreFilterResult, node: int) -> int:
        """Judge one node for a pod on a state that may be only tried out; a category as in ``run``.

        The pod must fit with the pods that the node is kept for, and without them too: they may never come.
        """
        nodes: IntArray = np.array([node])
        if self.is_kept(asked.pod, node):
            mark = self.state.checkpoint()
            for other in self._nominations.ahead_of(asked.pod, node):
                self.state.place(other, node)
            verdict = int(self._filter(asked, nodes)[0])
            self.state.undo(mark)
            if verdict != PASSES:
                return verdict
        return int(self._filter(asked, nodes)[0])

    def is_kept(self, pod: int, node: int) -> bool:
        """Whether a node is kept for pods that a pod must not crowd out."""
        return bool(self._nominations and self._nominations.ahead_of(pod, node))

    def rejections_by_node(self, pod: int) -> list[tuple[PluginRejection, ...]]:
        """Everyone who objects to each node, and not the first alone; a plugin that rules out every node is the only one."""
        asked = self.prefilter(pod)
        if asked.failure is not None:
            return [(asked.failure,)] * len(self._everywhere)
        found: list[list[PluginRejection]] = [[] for _ in self._everywhere]
        if asked.allowed is not None:
            for node in np.flatnonzero(~asked.allowed).tolist():
                found[node].append(_excluded(asked.restricting))
        for plugin in asked.plugins:
            categories = self.numbered(plugin, plugin.filter(pod, self._everywhere))
            for node in np.flatnonzero(np.not_equal(categories, PASSES)).tolist():
                found[node].append(self.rejections[categories[node]])
        return [tuple(each) for each in found]

    def unasked(self) -> Verdicts:
        """Verdicts when no node was asked about."""
        return Verdicts(np.full(len(self._everywhere), NOT_ASKED), self.rejections)

    def prefilter(self, pod: int) -> PreFilterResult:
        """Which plugins to ask about a pod, and about which nodes."""
        return self._prefilters.ask(pod)

    def is_local(self, asked: PreFilterResult) -> bool:
        """Whether what the plugins say of a node depends on that node and its pods alone."""
        return all(isinstance(each, LocalPlugin) for each in asked.plugins)

    def is_static(self, plugin: FilterPlugin) -> bool:
        """Whether a plugin looks at nodes only, never at their pods."""
        return plugin.name in self._static

    def _count_nodes(self) -> None:
        self._everywhere = np.arange(len(self.state.cluster.nodes))
        self._static_verdicts = LruCache(_VIEWS)

    def _run_everywhere(self, asked: PreFilterResult, blamed: Sequence[str]) -> Verdicts:
        by_usage = self.only_usage(asked) if self._nominations else None
        static = self._of_nodes_alone(asked)
        moving = {
            each.name: self._local[each.name].of(asked.pod)
            if each is not by_usage
            else self._verdicts_beside_nominated(by_usage, asked.pod)
            for each in asked.plugins
            if each.name in self._local and each.name not in static.layers
        }
        passes = static.passes.copy() if asked.allowed is None else static.passes & asked.allowed
        for layer in moving.values():
            passes &= layer < 0
        answers = list(self._ask_others(asked, passes))
        kept = self._filter_kept(asked) if by_usage is None else {}
        for node, category in kept.items():
            passes[node] = category == PASSES
        excluded = None if asked.allowed is None else (~asked.allowed, self._id(_excluded(blamed)))

        def build() -> Categories:
            known = {**static.layers, **moving}
            verdict = merged([known[each.name] for each in asked.plugins if each.name in known], len(passes))
            if excluded is not None:
                verdict[excluded[0]] = excluded[1]
            for nodes, categories in answers:
                verdict[nodes] = categories()
            for node, category in kept.items():
                verdict[node] = category
            return verdict

        return Verdicts(build, self.rejections, allowed=asked.allowed, passes=passes)

    def _of_nodes_alone(self, asked: PreFilterResult) -> _StaticVerdicts:
        """What the plugins say that look at nodes only: the same of all pods of a kind, until a node changes."""
        assert asked.kind is not None
        looked_at = self._looked_at.get(asked.kind)
        if looked_at is None:
            looked_at = tuple(
                [(each.name, each.key(asked.pod)) for each in self._static.values() if each in asked.plugins]
            )
            self._looked_at.put(asked.kind, looked_at)
        return self._static_verdicts_on(asked.pod, looked_at)

    def _static_verdicts_on(self, pod: int, looked_at: tuple[tuple[str, int], ...]) -> _StaticVerdicts:
        known, written = self._static_verdicts.get(looked_at), len(self.state.cluster.nodes.written)
        if known is None or known.written != written:
            layers = {name: self._local[name].of(pod) for name, _ in looked_at}
            passes = np.ones(len(self._everywhere), dtype=bool)
            for layer in layers.values():
                passes &= layer < 0
            known = _StaticVerdicts(written, layers, passes, passes.nonzero()[0])
            self._static_verdicts.put(looked_at, known)
        return known

    def only_usage(self, asked: PreFilterResult) -> UsagePlugin | None:
        """The plugin that looks at sums of the pods on nodes, where no other one looks at pods; None where one does."""
        found: UsagePlugin | None = None
        for plugin in asked.plugins:
            if found is None and plugin.name in self._by_usage:
                found = self._by_usage[plugin.name]
            elif not self.is_static(plugin):
                return None
        return found

    def _verdicts_beside_nominated(self, plugin: UsagePlugin, pod: int) -> Categories:
        """The verdicts with the pods that nodes are kept for; without them there is only more room."""
        key = plugin.key(pod), int(self._pods.priority[pod])
        self._sample[key] = plugin, pod
        return self._with_nominated.of(key)

    def _filter_with_nominated(self, key: tuple[int, int], nodes: IntArray) -> Categories:
        plugin, pod = self._sample[key]
        return self.numbered(plugin, plugin.filter_usage(pod, nodes, *self.kept_nodes.with_nominated(key[1], nodes)))

    def _ask_others(
        self, asked: PreFilterResult, passes: BoolArray
    ) -> Iterator[tuple[IntArray, Callable[[], Categories]]]:
        """Let each plugin that is not local judge the nodes that all before it have passed, and take what it rejects."""
        for plugin in asked.plugins:
            if plugin.name not in self._local:
                left = self._everywhere if passes.all() else np.flatnonzero(passes)
                if len(left) == 0:
                    return
                accepted, categories = self._asked_late(plugin, asked.pod, left)
                if not accepted.all():
                    passes[left] = accepted
                    yield left, categories

    def _asked_late(
        self, plugin: FilterPlugin, pod: int, nodes: IntArray
    ) -> tuple[BoolArray, Callable[[], Categories]]:
        """Which of some nodes a plugin accepts, and what finds the categories of all of them."""
        late = self._late.get(plugin.name)
        if late is not None:
            known = late.at(pod, nodes)
            return np.equal(known, PASSES), lambda: known
        result = plugin.filter(pod, nodes)
        return result.passes, partial(self.numbered, plugin, result)

    def _filter_kept(self, asked: PreFilterResult) -> Mapping[int, int]:
        """The verdict on nodes that are kept for other pods too."""
        return {
            node: self.run_on(asked, node)
            for node in (self._nominations.nodes() if self._nominations else ())
            if (asked.allowed is None or asked.allowed[node]) and self.is_kept(asked.pod, node)
        }

    def _filter(self, asked: PreFilterResult, nodes: IntArray) -> Categories:
        """Let each plugin judge the nodes that all before it have passed."""
        verdict = np.full(len(nodes), PASSES)
        for plugin in asked.plugins:
            left = np.flatnonzero(np.equal(verdict, PASSES))
            if len(left) == 0:
                break
            verdict[left] = self.numbered(plugin, plugin.filter(asked.pod, nodes[left]))
        return verdict

    def numbered(self, plugin: FilterPlugin, result: FilterResult) -> Categories:
        """A judgement in the numbers of all objections."""
        if not result.outcomes or result.passes.all():
            return np.full(len(result.category), PASSES, dtype=np.int32)
        ids = [self._id(PluginRejection(plugin.name, outcome)) for outcome in result.outcomes]
        return np.array([*ids, PASSES], dtype=np.int32)[result.category]

    def _id(self, rejection: PluginRejection) -> int:
        known = self._known.get(rejection)
        if known is None:
            known = self._known[rejection] = len(self.rejections)
            self.rejections.append(rejection)
        return known


def _excluded(plugins: Sequence[str]) -> PluginRejection:
    """The objection to nodes that a PreFilter result leaves out. Source: findNodesThatFitPod, Kubernetes 1.36."""
    blamed = tuple(sorted(set(plugins)))
    text = f"node(s) didn't satisfy plugin(s) [{' '.join(blamed)}]"
    return PluginRejection("", Outcome((text,), unresolvable=True), blamed)
