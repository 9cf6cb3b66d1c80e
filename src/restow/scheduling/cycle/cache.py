"""What a scheduling cycle asks of the cluster that it decides on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from restow.cluster.state import ClusterState
from restow.scheduling.loop.schedulers import Schedulers


class SchedulerCache(Protocol):
    """The cluster as one scheduler sees it, with what it has decided and the API server does not show yet.

    Pods and nodes are given by row. Source: the Cache and the nominator of kube-scheduler.
    """

    @property
    def state(self) -> ClusterState:
        """The nodes and pods to decide on."""

    @property
    def schedulers(self) -> Schedulers:
        """The rules of the profiles on that state."""

    def is_assumed(self, uid: str) -> bool:
        """Whether a pod has a node only by ``assume``."""

    def assume(self, pod: int, node: int) -> None:
        """Show a pod on the node where it is about to be bound."""

    def nominate(self, pod: int, node: int) -> Iterable[int]:
        """Keep a node for a pod; returns the less important pods that lose their nomination for it."""

    def keep(self, pod: int, node: int) -> None:
        """Keep a node for a pod; others keep their nominations."""

    def drop_nomination(self, pod: int) -> bool:
        """Keep no node for a pod any longer; whether one was kept."""
