"""Replacements that come first: the new pod is made, and once it is where it should be and ready, the old one goes.

How the new pod is made and the old one taken away is the business of a way (``executing.surging``, ``executing.rolling``). What all have in
common is here: the new pod is followed like any replacement. If it lands where it should not, is not ready in time or is
taken away by somebody else, all is undone and the old pod stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from restow.client.transport import Api, Permit
from restow.cluster.pod_values import PodNow
from restow.executing.following import Following
from restow.executing.migrating import Migrating
from restow.executing.revalidation import gone
from restow.executing.rolling import Rolling
from restow.executing.steering import Steers
from restow.executing.surging import Surging
from restow.executing.surroundings import ClusterView, elapsed
from restow.executing.task import Landed, LandingMatch, Missing, Settled, Task, Unready, Unverified
from restow.policies.codes import ReplacementMode

#: Seconds: between two looks, and until the controller has taken a pod away.
_PAUSE: Final = 0.2
_GOING: Final = 30.0
#: Landings after which the old pod may go, and endings after which it stays.
_GOOD: Final = (LandingMatch.PREDICTED, LandingMatch.UNPREDICTED)
_UNSETTLED: Final = (Unready, Missing, Unverified)


class ReplacesFirst(Protocol):
    """A way in which the replacement of a pod comes before the pod goes."""

    async def begin(self, task: Task) -> Task | str:
        """Have the replacement made; return the task to follow, or why not. NotPermitted if leadership has ended."""
        ...

    async def taken_back(self, task: Task) -> str:
        """Wait until somebody else undoes it, for ever if that does not happen; return how that is known."""
        ...

    async def finish(self, task: Task, pod: PodNow) -> str | None:
        """Have the old pod go, now that this one is ready; return why it stays. NotPermitted as above."""
        ...

    async def undo(self, task: Task, pod: PodNow | None) -> None:
        """Have the new pod go, if there is one, and the old one stay. Failures are warnings: ``clean`` tries again."""
        ...

    async def clean(self) -> None:
        """End what a process that is gone, or a failure, has left under way."""
        ...


#: How each mode of replacing a pod first is carried out; what is missing is not possible.
Ways = Mapping[ReplacementMode, ReplacesFirst]


def ways_through(api: Api, permit: Permit, warn: Callable[[str], None]) -> Ways:
    """All ways that an API server offers; ``warn`` logs a warning."""
    return {
        ReplacementMode.SURGE: Surging(api, permit, api.server_time.now, warn),
        ReplacementMode.ROLLOUT: Rolling(api, permit, warn),
        ReplacementMode.MIGRATE: Migrating(api, permit, api.server_time.now, warn),
    }


async def replaced_first(
    task: Task, way: ReplacesFirst, following: Following, steering: Steers, view: ClusterView
) -> Landed | str:
    """Follow the replacement of a task that was begun: its landing, once the old pod goes; or why that stays.

    NotPermitted if leadership has ended; then the rest is left to the next leader.
    """
    if not task.has_new_owner:
        return await _replaced(task, way, following, view)
    following.expect_any(task)
    if task.is_steered:
        await steering.announce(task)
    try:
        return await _replaced(task, way, following, view)
    finally:
        following.forget(task)
        if task.is_steered:
            await steering.withdraw(task)


async def _replaced(task: Task, way: ReplacesFirst, following: Following, view: ClusterView) -> Landed | str:
    landed, problem = await _arrival_unless_taken_back(task, way, following)
    pod = None if landed is None else view.pod(task.move.pod.namespace, landed.pod)
    if problem is None and pod is not None:
        problem = await way.finish(task, pod) or await _retired(task, view)
    if problem is None and landed is not None and pod is not None:
        return landed
    await way.undo(task, pod)
    return problem or "the new pod is gone again"


async def _arrival_unless_taken_back(
    task: Task, way: ReplacesFirst, following: Following
) -> tuple[Landed | None, str | None]:
    """The arrival, or why none is to be waited for any longer."""
    arrival = asyncio.create_task(_arrival(task, following))
    taken_back = asyncio.create_task(way.taken_back(task))
    try:
        await asyncio.wait((arrival, taken_back), return_when=asyncio.FIRST_COMPLETED)
        return arrival.result() if arrival.done() else (None, taken_back.result())
    finally:
        arrival.cancel()
        taken_back.cancel()
        await asyncio.gather(arrival, taken_back, return_exceptions=True)


async def _arrival(task: Task, following: Following) -> tuple[Landed | None, str | None]:
    """Where the new pod has landed, and why the old one must stay; None if it may go."""
    landed: Landed | None = None
    async for outcome in following.follow(task):
        if isinstance(outcome, Landed):
            landed = outcome
            if outcome.match not in _GOOD:
                return landed, f"{outcome.pod} landed on {outcome.node}"
        elif not isinstance(outcome, Settled):
            return landed, outcome.message if isinstance(outcome, _UNSETTLED) else "no new pod came"
    return landed, None


async def _retired(task: Task, view: ClusterView) -> str | None:
    """Wait until the old pod goes; why it does not."""
    deadline = elapsed() + _GOING
    while gone(task.move, view) is None:
        if elapsed() > deadline:
            return f"its controller has not taken it away within {_GOING:.0f} s"
        await asyncio.sleep(_PAUSE)
    return None
