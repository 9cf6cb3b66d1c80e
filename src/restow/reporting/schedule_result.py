"""The result of restow schedule: kept pod by pod, and as JSON.

These structs *are* the JSON schema of ``restow schedule -o json`` (DESIGN section 6). They hold names, never indices.
Nodes are in the order of their names, everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from restow.descheduling.plan import API_VERSION, PodRef
from restow.reporting.json import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from restow.cluster.interning import IntArray
    from restow.cluster.snapshot import ClusterSnapshot
    from restow.scheduling.framework.scoring import Ranking
    from restow.scheduling.framework.verdicts import PluginRejection, Verdicts
    from restow.scheduling.loop.decision import SchedulingDecision

_DIGITS: Final = 4

#: Which pods have scores: all with a feasible node, or only those with more than one, which need them.
ScoresFor = Literal["all", "needed"]


class NodeRejection(Struct, frozen=True):
    """Why a plugin does not let a pod onto a node; *unresolvable* where no preemption could help."""

    plugin: str
    reasons: tuple[str, ...]
    unresolvable: bool


class PodOutcome(Struct, frozen=True, rename="camel"):
    """The scheduler's decision about one pod."""

    pod: PodRef
    #: Where the pod goes: the first of ``best``.
    node: str | None
    #: Where it is already; it was asked about as if it were pending.
    current_node: str | None = None
    #: Where it waits for its victims to leave.
    nominated_node: str | None = None
    victims: tuple[PodRef, ...] = ()
    #: Why it may not be scheduled yet; nothing else is known then.
    gated: str | None = None
    #: That of the condition PodScheduled; empty for a pod that gets a node.
    message: str = ""
    feasible: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    #: By node and plugin, weighted; their sum is "total".
    scores: dict[str, dict[str, int]] = {}
    rejected: dict[str, NodeRejection] = {}
    #: Why it is not known where the pod goes; null where it is.
    unknown: str | None = None
    #: Who ruled out every node before one was looked at.
    pre_filter: NodeRejection | None = None


class ScheduleMetadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """When and by what it was made; ``timings`` (seconds by phase) only with ``--timings``."""

    generated_at: str
    restow_version: str
    timings: dict[str, float] | UnsetType = UNSET


class ScheduleResult(Struct, frozen=True, rename="camel"):
    """The whole answer: the pods in the order in which they were scheduled, then those that are gated."""

    metadata: ScheduleMetadata
    pods: tuple[PodOutcome, ...]
    api_version: str = API_VERSION
    kind: str = "ScheduleResult"


class Outcomes:
    """Makes outcomes of the decisions about one cluster."""

    def __init__(self, cluster: ClusterSnapshot, scores_for: ScoresFor) -> None:
        self._pods = cluster.pods
        self._names = cluster.nodes.names
        self._fewest_scored = 1 if scores_for == "all" else 2

    def of(self, decision: SchedulingDecision) -> PodOutcome:
        """What was decided about a pod."""
        verdicts, current = decision.verdicts, int(self._pods.node[decision.pod])
        return PodOutcome(
            pod=self._ref(decision.pod),
            node=self._name(decision.node),
            current_node=self._name(current),
            nominated_node=self._name(decision.nominated_node),
            victims=tuple(map(self._ref, decision.victims)),
            message=decision.message,
            unknown=decision.unknown or None,
            feasible=self._names_of(verdicts.feasible),
            best=self._names_of(decision.best),
            scores=self._scores(decision.ranking),
            rejected=self._rejected(verdicts),
            pre_filter=None if verdicts.prefilter is None else _rejection(verdicts.prefilter),
        )

    def gated(self, pod: int, why: str) -> PodOutcome:
        """The outcome of a pod that may not be scheduled yet."""
        return PodOutcome(self._ref(pod), node=None, gated=why)

    def _ref(self, pod: int) -> PodRef:
        pods = self._pods
        return PodRef(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod], pods.uids[pod])

    def _name(self, node: int) -> str | None:
        return self._names[node] if node >= 0 else None

    def _names_of(self, nodes: IntArray) -> tuple[str, ...]:
        return tuple(self._names[node] for node in nodes.tolist())

    def _scores(self, ranking: Ranking | None) -> dict[str, dict[str, int]]:
        if ranking is None or len(ranking.nodes) < self._fewest_scored:
            return {}
        columns = (*ranking.by_plugin, "total")
        scores = (each.tolist() for each in (*ranking.by_plugin.values(), ranking.total))
        named = zip(self._names_of(ranking.nodes), zip(*scores, strict=True), strict=True)
        # Many nodes are scored alike; they share one mapping.
        known: dict[tuple[int, ...], dict[str, int]] = {}
        return {
            name: known.get(row) or known.setdefault(row, dict(zip(columns, row, strict=True))) for name, row in named
        }

    def _rejected(self, verdicts: Verdicts) -> dict[str, NodeRejection]:
        """Who rejects each node that was looked at; one that PreFilter excluded names no plugin, and is left out."""
        if verdicts.prefilter is not None:
            return {}
        occurring = (category for category in np.unique(verdicts.verdict).tolist() if category >= 0)
        named = {
            category: _rejection(verdicts.rejections[category])
            for category in occurring
            if verdicts.rejections[category].plugin
        }
        by_node = zip(self._names, verdicts.verdict.tolist(), strict=True)
        return {name: named[category] for name, category in by_node if category in named}


# A pod in a large cluster has thousands of scores; its outcome becomes bytes before the next one is made.
def render_pod(outcome: PodOutcome) -> bytes:
    """Return the outcome of one pod on one line."""
    return compact_json(outcome)


def render_result(metadata: ScheduleMetadata, pods: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the document in pieces; ``pods`` come from ``render_pod``."""
    head = {"apiVersion": API_VERSION, "kind": "ScheduleResult", "metadata": _rounded(metadata)}
    fields = ",\n".join(f'  "{name}": {compact_json(value).decode()}' for name, value in head.items())
    yield f'{{\n{fields},\n  "pods": ['.encode()
    separator = b"\n    "
    for pod in pods:
        yield separator
        yield pod
        separator = b",\n    "
    yield b"]\n}\n" if separator == b"\n    " else b"\n  ]\n}\n"


def _rounded(metadata: ScheduleMetadata) -> ScheduleMetadata:
    if metadata.timings is msgspec.UNSET:
        return metadata
    timings = {name: round(each, _DIGITS) for name, each in metadata.timings.items()}
    return msgspec.structs.replace(metadata, timings=timings)


def _rejection(rejection: PluginRejection) -> NodeRejection:
    return NodeRejection(rejection.plugin, rejection.outcome.reasons, rejection.outcome.unresolvable)
