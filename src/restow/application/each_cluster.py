"""One question to many clusters, on several processes; a cluster that cannot answer keeps no other from being asked.

What cannot be used in any cluster, such as a file that all share, is to be read before: it is an error of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from restow.application.feedback import Collected, Feedback
from restow.application.named_clusters import NamedCluster
from restow.engines.registry import RunFeedback, in_processes, make_all
from restow.engines.work import Tick
from restow.errors import ClientError, InputError

Answer = TypeVar("Answer")
#: Asks one cluster. Another process may call it, so it can be pickled, and so can what it returns.
Question = Callable[[NamedCluster, Feedback], Answer]


@dataclass(slots=True, frozen=True)
class ClusterAnswer(Generic[Answer]):
    """The answer of one cluster, or why there is none."""

    name: str
    #: None where there is none.
    answer: Answer | None
    #: What was said while it was asked.
    warnings: tuple[str, ...]
    #: Why there is none, in one sentence; empty where there is one.
    error: str = ""


@dataclass(slots=True, frozen=True)
class _Asking(Generic[Answer]):
    """The question, a piece of work for each cluster."""

    clusters: Sequence[NamedCluster]
    question: Question[Answer]

    def __len__(self) -> int:
        return len(self.clusters)

    def make(self, number: int, tick: Tick) -> ClusterAnswer[Answer]:
        """Ask one cluster; what goes wrong is in the answer."""
        cluster, feedback = self.clusters[number], Collected()
        try:
            answer = self.question(cluster, feedback)
        except (InputError, ClientError, OSError) as error:
            return ClusterAnswer(cluster.name, None, tuple(feedback.warnings), str(error))
        finally:
            tick(1)
        return ClusterAnswer(cluster.name, answer, tuple(feedback.warnings))


def ask_each(
    clusters: Sequence[NamedCluster], question: Question[Answer], processes: int | None = None
) -> list[ClusterAnswer[Answer]]:
    """The answers, in the order of the clusters.

    ``processes`` is how many are asked at a time (None: one for each core); the answers are the same.
    """
    found: list[ClusterAnswer[Answer]] = make_all(_Asking(clusters, question), in_processes(processes), RunFeedback())
    return found
