"""PreFilter: which plugins apply to a pod, and to which nodes; asked before any node is looked at.

Most plugins give one answer to pods that have all parts in common, and skip most pods: they are sorted out once for each
kind of pods, and only those whose answer depends on where pods are get asked each time. Source: RunPreFilterPlugins,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import NodePart
from restow.cluster.pod_classes import Aspect, pod_classes
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import FilterPlugin, LocalPlugin, Outcome, PreFiltered
from restow.scheduling.framework.verdicts import PluginRejection

#: Kinds of pods that are remembered: as many as the workloads of a large cluster, most of which take a few bytes.
_CAPACITY = 16_384


class PreFilterResult(NamedTuple):
    """What PreFilter leaves to be done for one pod."""

    pod: int
    #: The plugins that have something to say, in their order.
    plugins: tuple[FilterPlugin, ...]
    #: The nodes that are looked at, bool[node]; None is all.
    allowed: BoolArray | None
    #: The plugins that narrowed ``allowed``.
    restricting: tuple[str, ...]
    #: The plugin that rules out every node.
    failure: PluginRejection | None
    #: The kind of pods that the pod is of: plugins that look at nodes alone say the same of all of them.
    kind: PodKind | None = None


@dataclass(slots=True, frozen=True, eq=False)
class PodKind:
    """The answers for all pods of a kind that do not depend on the state."""

    #: Plugins that can have something to say, with their answer to PreFilter where that is always the same.
    plugins: tuple[tuple[FilterPlugin, PreFiltered | None], ...]
    #: What PreFilter leaves to be done, where all answers are always the same; of some pod of the kind.
    asked: PreFilterResult | None


class PreFilters:
    """The plugins of one profile, asked before any node is looked at."""

    def __init__(self, context: Context, plugins: Sequence[FilterPlugin]) -> None:
        self._plugins = plugins
        #: Plugins that always say the same of all pods of a kind.
        self._constant = frozenset(each for each in plugins if isinstance(each, LocalPlugin))
        self._kind_of = pod_classes(context.state.cluster, Aspect.FILTERS)
        self._kinds: LruCache[int, PodKind] = LruCache(_CAPACITY)
        #: Whose terms may concern pods of any kind, and how many there were when the kinds were met.
        self._carriers, self._indexed = context.carriers, len(context.carriers)
        # Answers may name nodes.
        context.state.cluster.nodes.follow(NodePart.POSITION, self._forget)

    def ask(self, pod: int) -> PreFilterResult:
        """The plugins that are left for a pod.

        A plugin that skips the pod now is not asked again in this cycle, even in trials.
        """
        if self._carriers.values and len(self._carriers.table) != self._indexed:
            self._kinds, self._indexed = LruCache(_CAPACITY), len(self._carriers.table)
        number = self._kind_of.values[pod]
        kind = self._kinds.get(number)
        if kind is None:
            kind = self._classify(pod)
            self._kinds.put(number, kind)
        known = kind.asked or _asked(pod, kind.plugins)
        return PreFilterResult(pod, known.plugins, known.allowed, known.restricting, known.failure, kind)

    def _forget(self) -> None:
        self._kinds = LruCache(_CAPACITY)

    def _classify(self, pod: int) -> PodKind:
        """Sort the plugins by how they treat a kind of pods."""
        concerned = [plugin for plugin in self._plugins if plugin.applies_to(pod)]
        answered = tuple((each, each.prefilter(pod) if each in self._constant else None) for each in concerned)
        settled = all(answer is not None for _, answer in answered)
        return PodKind(answered, _asked(pod, answered) if settled else None)


def _asked(pod: int, plugins: Sequence[tuple[FilterPlugin, PreFiltered | None]]) -> PreFilterResult:
    """Put the answers to PreFilter together; those that are missing are asked for now."""
    asked: list[FilterPlugin] = []
    allowed: BoolArray | None = None
    restricting: list[str] = []
    resolvable: PluginRejection | None = None
    for plugin, known in plugins:
        answer = known or plugin.prefilter(pod)
        if answer.failure is not None:
            rejection = PluginRejection(plugin.name, answer.failure)
            if answer.failure.unresolvable:
                return PreFilterResult(pod, (), None, (), rejection)
            resolvable = resolvable or rejection
        if answer.allowed is not None:
            allowed = answer.allowed if allowed is None else allowed & answer.allowed
            restricting.append(plugin.name)
            if len(restricting) > 1 and not allowed.any():
                return PreFilterResult(pod, (), None, (), _conflict(restricting))
        if not answer.skip:
            asked.append(plugin)
    return PreFilterResult(pod, tuple(asked), allowed, tuple(restricting), resolvable)


def _conflict(plugins: Sequence[str]) -> PluginRejection:
    """The objection to all nodes where the results of several plugins have none in common."""
    names = " ".join(plugins)
    text = f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
    return PluginRejection("", Outcome((text,), unresolvable=True), tuple(plugins))
