"""The results of a schedule, as rows for display, with what the reports have in common.

A row holds a few words; decisions about thousands of pods and nodes are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from restow.plain_text import printable
from restow.reporting.table import labelled
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from restow.cluster.snapshot import ClusterSnapshot
    from restow.scheduling.loop.decision import SchedulingDecision

#: A pod gets a node, may preempt others, fits nowhere, goes to an unknown node, or may not be scheduled yet.
Fate = Literal["placed", "preempting", "unschedulable", "unknown", "gated"]


@dataclass(slots=True, frozen=True)
class PodRow:
    """One pod in the table of ``restow schedule``."""

    pod: str
    fate: Fate
    #: Where it goes, or where it preempts others; empty where neither.
    node: str = ""
    #: How narrowly the node won, or why there is none.
    why: str = ""
    #: The next best node; empty where there is none, or where several tie.
    rival: str = ""
    #: The pods that it preempts.
    victims: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class ScheduledCluster:
    """The cluster in the first line of a table."""

    nodes: int
    pods: int
    #: Where it came from, such as ``cluster.json, 0.1 s``.
    sources: str
    #: The scheduler's configuration; empty is the default.
    configuration: str = ""
    #: Whether kube-scheduler would score only some of the nodes.
    sampled: bool = False

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the first lines of a table."""
        size = f"{counted(self.nodes, 'node')}, {counted(self.pods, 'pod')}"
        yield from labelled("cluster", [size, printable(self.sources)], width)
        if self.configuration:
            yield from labelled("config", [printable(self.configuration)], width)


def pod_row(cluster: ClusterSnapshot, decision: SchedulingDecision) -> PodRow:
    """The row of a decision about a cluster's pod."""
    name, nodes = cluster.pods.full_name, cluster.nodes.names
    if decision.node >= 0:
        why, rival = margin(cluster, decision)
        return PodRow(name(decision.pod), "placed", nodes[decision.node], why, rival)
    if decision.nominated_node >= 0:
        victims = tuple(map(name, decision.victims))
        return PodRow(
            name(decision.pod), "preempting", nodes[decision.nominated_node], decision.message, victims=victims
        )
    return PodRow(name(decision.pod), "unknown" if decision.unknown else "unschedulable", why=decision.message)


def margin(cluster: ClusterSnapshot, decision: SchedulingDecision) -> tuple[str, str]:
    """How narrowly a node won - ``3 nodes tie``, ``next best -4``, ``the only node that fits`` - and which is next best."""
    ranking = decision.ranking
    assert ranking is not None, "only a pod that gets a node has a margin"
    if len(ranking.nodes) == 1:
        return "the only node that fits", ""
    if len(decision.best) > 1:
        return f"{counted(len(decision.best), 'node')} tie", ""
    others = ranking.total.copy()
    others[ranking.nodes == decision.node] = -1
    second = int(others.argmax())
    behind = int(ranking.total.max() - ranking.total[second])
    return f"next best -{behind}", cluster.nodes.names[ranking.nodes[second]]


def reason_text(why: str, rival: str) -> str:
    """How narrowly a node won, in one clause: ``next best -4: n2``."""
    return f"{why}: {rival}" if rival else why
