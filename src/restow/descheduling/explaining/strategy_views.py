"""What one strategy says about a node or a pod: the class of the node, and why the strategy does not want to move the pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from restow.cluster.nodes import Nodes
from restow.cluster.pod_values import Phase
from restow.cluster.pods import PENDING
from restow.descheduling.arbiter import Arbiter
from restow.descheduling.explaining.what_if import Responses, WhatIf
from restow.descheduling.framework import NodeClass, StrategyError, View
from restow.descheduling.limits import Limits
from restow.descheduling.placement import EvictOnly, PluginRef


class Classes:
    """The classes in which strategies sort the nodes; none for strategies that do not or cannot sort them."""

    def __init__(self, what_if: WhatIf) -> None:
        self._what_if = what_if
        self._views: dict[PluginRef, tuple[View, Any]] = {}
        self._known: dict[PluginRef, Mapping[int, NodeClass]] = {}
        arbiter = Arbiter(what_if.state, Limits(), EvictOnly(what_if.state))
        for ref, profile, evictor in what_if.runner.refs():
            self._views[ref] = what_if.runner.view(arbiter, ref, evictor), profile.args[ref.plugin]

    def sorts(self, ref: PluginRef) -> bool:
        """Whether a strategy sorts nodes."""
        return self._what_if.setting.strategies[ref.plugin].sort_nodes is not None

    def of(self, ref: PluginRef) -> Mapping[int, NodeClass]:
        """The class of each node that the strategy sees."""
        if ref not in self._known:
            self._known[ref] = self._sorted(ref)
        return self._known[ref]

    def _sorted(self, ref: PluginRef) -> Mapping[int, NodeClass]:
        sort = self._what_if.setting.strategies[ref.plugin].sort_nodes
        if sort is None:
            return {}
        try:
            return sort(*self._views[ref])
        except StrategyError:
            return {}

    def why_not(self, ref: PluginRef, pod: int, responses: Responses) -> str:
        """Why a strategy does not want a pod to move; empty if finding out would take long."""
        view, args = self._views[ref]
        return (
            _unseen(self._what_if, pod)
            or _not_chosen(view, args, pod)
            or self._not_giving(ref, pod)
            or responses.remarks.get(ref, "")
        )

    def _not_giving(self, ref: PluginRef, pod: int) -> str:
        node = int(self._what_if.state.node[pod])
        found = self.of(ref).get(node)
        return "" if found is None or found.gives else class_text(self._what_if.state.cluster.nodes, node, found)


def class_text(nodes: Nodes, node: int, found: NodeClass) -> str:
    """A node's class with its figures, for people."""
    figures = ", ".join(f"{name} {load:.0f} %" for name, load in sorted(found.load.items()))
    bounds = [
        f"{word} {_bounds(limits)}" for word, limits in (("threshold", found.low), ("target", found.high)) if limits
    ]
    measured = f" ({found.origin})" if found.origin else ""
    return f"{nodes.names[node]} is at {figures}{measured}; {', '.join(bounds)}"


def _bounds(limits: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {limit:.0f} %" for name, limit in sorted(limits.items()))


def unseen_node(what_if: WhatIf, node: int) -> str:
    """Why strategies do not process a node; empty if they do."""
    nodes = what_if.state.cluster.nodes
    if node in what_if.runner.nodes:
        return ""
    if not nodes.ready[node]:
        return f"{nodes.names[node]} is not ready"
    return f"the policy's nodeSelector excludes {nodes.names[node]}"


def _unseen(what_if: WhatIf, pod: int) -> str:
    node = int(what_if.state.node[pod])
    if node < 0:
        return "it has no node" if node == PENDING else "it is on a node that is missing from the input"
    return unseen_node(what_if, node)


def _not_chosen(view: View, args: Any, pod: int) -> str:
    """Whether the strategy's own arguments exclude the pod."""
    if not _chosen(view, pod, getattr(args, "namespaces", None), None):
        return "the strategy's namespaces exclude its namespace"
    if not _chosen(view, pod, getattr(args, "evictable_namespaces", None), None):
        return "the strategy's evictableNamespaces exclude its namespace"
    if not _chosen(view, pod, None, getattr(args, "label_selector", None)):
        return "the strategy's labelSelector does not match its labels"
    if view.pods.phase[pod] == Phase.SUCCEEDED:
        return "it has succeeded"
    return ""


def _chosen(view: View, pod: int, namespaces: Any, selector: Any) -> bool:
    if namespaces is None and selector is None:
        return True
    return bool(np.asarray(view.chosen(namespaces, selector))[pod])
