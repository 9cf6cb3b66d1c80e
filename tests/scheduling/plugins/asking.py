"""Asks one plugin about one pod, and gives the answer in the words of the tables: OK, U, UAU, SKIP and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import PASSES

if TYPE_CHECKING:
    from builders import Object

#: The pod that is asked about.
INCOMING = "incoming"


def a_context(*objects: Object) -> Context:
    """The context of a cluster of builder objects."""
    return Context.of(ClusterState(a_cluster(*objects)))


def pod_index(context: Context, name: str = INCOMING) -> int:
    return context.state.cluster.pods.names.index(name)


def node_indices(context: Context, names) -> np.ndarray:
    index = context.state.cluster.nodes.index
    return np.array([index[name] for name in names], dtype=np.int64)


def statuses(context, plugin, pod, nodes=None) -> dict[str, tuple[str, ...]]:
    """For each node its code and the reasons; ("OK",) everywhere where the plugin skips the pod."""
    names = context.state.cluster.nodes.names if nodes is None else nodes
    answer = plugin.prefilter(pod)
    if answer.failure is not None:
        return {name: _status(answer.failure) for name in names}
    if answer.skip:
        return dict.fromkeys(names, ("OK",))
    result = plugin.filter(pod, node_indices(context, names))
    found = [("OK",) if each == PASSES else _status(result.outcomes[each]) for each in result.category.tolist()]
    return dict(zip(names, found, strict=True))


def codes(context, plugin, pod, nodes=None) -> str:
    """``a:OK b:U``, nodes in order of their names."""
    return " ".join(f"{name}:{status[0]}" for name, status in statuses(context, plugin, pod, nodes).items())


def scores(context, plugin, pod, nodes=None) -> list[int] | str:
    """The scores of feasible nodes (None: of all), or SKIP."""
    names = context.state.cluster.nodes.names if nodes is None else nodes
    answer = plugin.score(pod, node_indices(context, names))
    return "SKIP" if answer is None else np.broadcast_to(answer, len(names)).tolist()


def _status(outcome) -> tuple[str, ...]:
    return ("UAU" if outcome.unresolvable else "U", *outcome.reasons)
