"""What the current states of a pod's containers say: reasons, exit codes, restarts.

Only ``state`` is read, never ``lastState``. Source: Descheduler 0.36, PodLifeTime, RemoveFailedPods and
RemovePodsHavingTooManyRestarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from restow.cluster.pods import PodStates
from restow.kube.objects import ContainerStatus


def statuses_of(states: PodStates, *, init: bool, ephemeral: bool = False) -> tuple[ContainerStatus, ...]:
    """The statuses of the regular containers, then of init and ephemeral containers if asked for."""
    statuses = states.containers
    if init:
        statuses += states.init_containers
    if ephemeral:
        statuses += states.ephemeral_containers
    return statuses


def waiting_reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait, where they say why."""
    for status in statuses:
        if status.state is not None and status.state.waiting is not None and status.state.waiting.reason:
            yield status.state.waiting.reason


def reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait or ended, where they say why."""
    for status in statuses:
        if status.state is not None:
            for part in (status.state.waiting, status.state.terminated):
                if part is not None and part.reason:
                    yield part.reason


def exit_codes(statuses: Iterable[ContainerStatus]) -> Iterator[int]:
    """The exit codes of containers that ended."""
    for status in statuses:
        if status.state is not None and status.state.terminated is not None:
            yield status.state.terminated.exit_code


def restarts(statuses: Iterable[ContainerStatus]) -> int:
    """How often these containers restarted, all together."""
    return sum(status.restart_count for status in statuses)
