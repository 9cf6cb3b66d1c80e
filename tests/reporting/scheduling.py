"""Decisions about small clusters, and what a renderer prints of them."""

from __future__ import annotations

import io

from rich.console import Console

from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler, SchedulingDecision


def decided(*objects, pod="p") -> SchedulingDecision:
    """What is decided about a pod, which is named without its namespace; its node, if any, is not counted on."""
    state = ClusterState(a_cluster(*objects))
    scheduler, index = Scheduler(Context.of(state)), state.cluster.pods.names.index(pod)
    state.place(index, PENDING)
    return scheduler.decide(index)


def a_console(width: int = 80) -> Console:
    """A console that writes to memory, whatever the test runs in."""
    return Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)


def printed(console: Console) -> str:
    """What was printed on such a console."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
