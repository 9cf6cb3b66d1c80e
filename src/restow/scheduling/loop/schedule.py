"""The loop of a scheduler: one pod after the other, each on what those before it have left.

``restow schedule`` runs it once over the queue. Whoever schedules for longer keeps the ``Schedulers``, which are the
profiles on one state with all that they remember of it, and runs the loop whenever pods wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from restow.scheduling.loop.decision import Decision
from restow.scheduling.loop.schedulers import Schedulers


def schedule(schedulers: Schedulers, pods: Iterable[int] | None = None) -> Iterator[Decision]:
    """The decisions about some pods in this order, or about all that wait now in the queue's.

    A decision is true of the state when it is given; it is made true (``settle``) when the next one is asked for.
    """
    for pod in schedulers.queue().pods if pods is None else pods:
        decision = schedulers.decide(pod)
        yield decision
        schedulers.settle(decision)
