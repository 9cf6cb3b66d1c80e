"""A descheduler as an actor: it looks at the cluster every so often, decides, and evicts.

It decides with what decides elsewhere (``descheduling.planning``), on the state as it is. In ``upstream`` placement all
moves of a plan are asked for at once, as the Kubernetes Descheduler does. In ``prove`` a move is made when the replacement
of the one before is ready, because that is what the proof rests on; if a replacement is not where the plan has a place
for it (``executing.places``), the rest is planned again at once. All plans of one look share its limits, and what could not
be evicted is not asked for again before the next look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from restow.descheduling.evictor import Reason
from restow.descheduling.limits import PriorEviction
from restow.descheduling.placement import GIVEN_UP
from restow.descheduling.plan import Move
from restow.descheduling.planning import decided, policy_as_asked
from restow.executing.places import Places
from restow.executing.task import Task
from restow.executing.tasks import tasks_of
from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.policies.codes import Placement
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.eviction import CREATED, evict
from restow.simulating.indexes import Key
from restow.simulating.simulation import Simulation
from restow.simulating.store import Event
from restow.simulating.work_queue import DELIVERY

#: For how long the replacement of a move is waited for.
_PATIENCE: Final = 300 * SECOND


@dataclass(slots=True, frozen=True)
class DeschedulerSettings:
    """How a descheduler runs."""

    policy: Policy
    placement: Placement
    #: Nanoseconds from one look to the next.
    interval: int
    profiles: tuple[SchedulerProfile, ...] = (DEFAULT_PROFILE,)


@dataclass(slots=True, frozen=True)
class AskedMove:
    """A move of a plan that was asked for."""

    #: Nanoseconds since the epoch.
    time: int
    move: Move
    #: What the eviction API answered.
    code: int

    @property
    def is_made(self) -> bool:
        """Whether the pod was evicted."""
        return self.code == CREATED


@dataclass(slots=True)
class _Landing:
    """The replacement that is waited for."""

    task: Task
    #: Its key once it has come.
    pod: Key | None = None
    #: Whether the plan has a place for it where it is; None before it has a node.
    has_place: bool | None = None


class DeschedulerActor:
    """One descheduler."""

    def __init__(self, simulation: Simulation, settings: DeschedulerSettings) -> None:
        self._simulation = simulation
        self._store, self._agenda = simulation.store, simulation.agenda
        self._settings = settings
        self._policy = policy_as_asked(settings.policy, settings.placement)
        #: All moves so far, in the order in which they were asked for.
        self.moves: list[AskedMove] = []
        #: Told of each pod of which it has asked for the eviction, and of the answer.
        self.listeners: list[Callable[[Pod, AskedMove], None]] = []
        #: How often it has decided.
        self.cycles = 0
        #: The moves of the plan that are still to be made, and the places that it has for their replacements.
        self._left: deque[Task] = deque()
        self._places = Places(())
        self._landing: _Landing | None = None
        #: What the cycle has evicted so far, which counts in the limits of its next plan, and what it could not evict (uids).
        self._prior_evictions: list[PriorEviction] = []
        self._given_up: dict[str, Reason] = {}
        self._store.subscribe("Pod", self._hear_of_pod)

    def start(self) -> None:
        """Look now, and again and again."""
        self._agenda.after(DELIVERY, self._look)
        self._agenda.every(self._settings.interval, self._look)

    def _look(self) -> None:
        """Decide, unless the last plan is not carried out yet."""
        if self._landing is None:
            self.cycles += 1
            self._prior_evictions, self._given_up = [], {}
            self._decide()

    def _decide(self) -> None:
        """Make a plan and begin with it."""
        settings = self._settings
        cycle = decided(
            self._simulation.view.state.cluster,
            self._policy,
            settings.placement,
            self._agenda.now,
            settings.profiles,
            prior_evictions=self._prior_evictions,
            excluded=self._given_up,
        )
        self._landing = None
        tasks = tasks_of(cycle, self._policy)
        self._left, self._places = deque(tasks), Places(tasks)
        self._go_on()

    def _go_on(self) -> None:
        """Make moves, up to one whose replacement is to be waited for."""
        self._landing = None
        while self._left:
            task = self._left.popleft()
            if not self._ask(task):
                self._given_up[task.move.pod.uid] = GIVEN_UP
                continue
            move = task.move
            self._prior_evictions.append(PriorEviction(move.pod.namespace, move.source, move.profile, move.plugin))
            if task.is_proven and task.owner is not None:
                self._landing = _Landing(task)
                self._agenda.after(_PATIENCE, partial(self._give_up, self._landing))
                return

    def _ask(self, task: Task) -> bool:
        """Ask for an eviction; whether the pod goes."""
        wanted = task.move.pod
        pod: Pod | None = self._store.get("Pod", wanted.namespace, wanted.name)
        if pod is None or pod.metadata.uid != wanted.uid or pod.metadata.is_terminating:
            return False
        answer = evict(self._store, wanted.namespace, wanted.name)
        asked = AskedMove(self._agenda.now, task.move, answer.code)
        self.moves.append(asked)
        for listener in self.listeners:
            listener(pod, asked)
        return answer.is_evicted

    def _give_up(self, landing: _Landing) -> None:
        """Leave the rest of a plan whose replacement does not come."""
        if self._landing is landing:
            self._landing = None
            self._left.clear()

    def _hear_of_pod(self, event: Event) -> None:
        landing, pod = self._landing, event.new
        if landing is None or landing.task.owner is None or pod is None:
            return
        controller, key = pod.metadata.controller, (pod.metadata.namespace, pod.metadata.name)
        if landing.pod is None and event.old is None and controller and controller.uid == landing.task.owner.uid:
            landing.pod = key
        if landing.pod != key:
            return
        if pod.node and landing.has_place is None:
            landing.has_place = self._places.take(landing.task, pod.node)
        if pod.ready_since is not None:
            # Not again for this one; and not in the middle of somebody else's change.
            self._landing = _Landing(landing.task, ("", ""))
            self._agenda.after(DELIVERY, self._go_on if landing.has_place else self._decide)
