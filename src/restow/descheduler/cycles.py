"""One cycle: read the cluster, decide, carry out, report.

A proven plan counts on where replacements land. kube-scheduler chooses at random among equal nodes, so a replacement may
land on a candidate that the later proofs do not count on. The cycle then concludes the rest of the plan and decides again.
Before that it carries the plan out for at least as long as the plan took to make, so deciding never takes more than half
of the time. The cycle also decides again when ready replacements give room to budgets that kept pods.

All plans of one cycle count in the same limits, and none moves a pod that could not be evicted before. Each plan evicts or
gives up at least one more pod, so the cycle ends.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from restow.client.events import EventRecorder
from restow.client.transport import Permit
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.daemon import log_lines
from restow.daemon.background import LONGEST_DECISION
from restow.daemon.logs import Log
from restow.descheduler.cycle_cache import CycleCache
from restow.descheduler.history import HistoryKeeper
from restow.descheduler.offering import UNSTEERED, Choice, Offer
from restow.descheduler.publishing import Publish
from restow.descheduler.reporter import Reporter
from restow.descheduler.steering import behind_fence
from restow.descheduler.tracing import CYCLE, PROFILES, Tracing
from restow.descheduling.arbiter import Record, Searches
from restow.descheduling.plan import FENCE_EFFECTS, Utilisation
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.executing.execution import Execution
from restow.executing.history import EvictionHistory, UsageChanges
from restow.executing.replacing import Ways
from restow.executing.replanning import ANEW, SEEN, CycleProgress, DryRun, carried_out, makes_room
from restow.executing.revalidation import gone
from restow.executing.steering import NoSteering
from restow.executing.surroundings import Clock, Evicting, ExecutionSettings, closed, elapsed
from restow.executing.task import Outcome
from restow.in_thread import in_thread
from restow.kube.duration import SECOND
from restow.live.cluster import LiveCluster
from restow.live.reading import METRICS, REQUIRED
from restow.live.usage import AskForUsage, no_usage
from restow.policies.codes import Placement, SteeringMode
from restow.policies.policy import collects_kubernetes_metrics
from restow.policies.usage import kept_samples
from restow.serving.figures import CycleFigures, CycleResult
from restow.serving.health import Watchdog
from restow.serving.metrics import Metrics

T = TypeVar("T")

#: How long kinds that a new policy needs get to come in (seconds).
_COMING: Final = 60.0
#: Seconds after which a cycle is stuck: while it reads the cluster, while it decides, and between two outcomes of moves.
#: The last is added to the time that the policy allows for budgets and replacements.
_LOOKING: Final = 2 * _COMING
_DECIDING: Final = LONGEST_DECISION + 100.0
_MOVING: Final = 600.0
_WHO: Final = "cycle"


@dataclass(slots=True)
class Cycles:
    """Performs cycles on a live cluster, one at a time."""

    live: LiveCluster
    #: None in a dry run.
    evicting: Callable[[int | None], Evicting] | None
    permit: Permit
    memory: EvictionHistory
    log: Log
    metrics: Metrics
    events: EventRecorder | None
    tracing: Tracing
    #: What time it is in the cluster.
    clock: Clock
    #: Whether another component may evict pods that ask for it, later.
    in_background: bool = False
    watchdog: Watchdog = field(default_factory=Watchdog)
    #: None where replacements are never steered.
    offer: Offer | None = None
    #: How replacements can come first; empty where nothing is written.
    ways: Ways = field(default_factory=dict)
    #: Answers the queries of the policy.
    usage: AskForUsage = no_usage
    #: None where plans are not published.
    publish: Publish | None = None
    #: None where no history is kept.
    history: HistoryKeeper | None = None
    #: The answers to the policy's queries in this cycle.
    _usage: Mapping[UsageQuery, QueryResult] = field(init=False, default_factory=dict)
    #: How moves have changed usage since.
    _usage_changes: UsageChanges = field(init=False)
    #: What plans leave to the next ones.
    _cache: CycleCache = field(init=False)
    #: How replacements are steered in this cycle.
    _choice: Choice = field(init=False, default=UNSTEERED)
    #: What is waited for, unless it is stopped.
    _waiting: asyncio.Future[Any] | None = field(init=False, default=None)
    _execution: Execution | None = field(init=False, default=None)
    _stopped: str | None = field(init=False, default=None)
    #: What strategies searched for in the last plan, of whichever cycle.
    _searches: Searches = field(init=False, default_factory=dict)
    #: Whether the fence was gone before its plan was complete.
    _is_astray: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._usage_changes = UsageChanges(self.clock)
        self._cache = CycleCache(self.live)

    def stop(self, why: str) -> None:
        """Begin no more evictions, in this cycle or a later one; do not wait for a decision in progress."""
        self._stopped = why
        if self._waiting is not None:
            self._waiting.cancel()
        if self._execution is not None:
            self._execution.stop(why)
        if self._choice.fencing is not None:
            self._choice.fencing.stop()

    async def perform(self, rules: CycleRules) -> None:
        """Perform one cycle; one that raises counts as failed.

        InputError if the cluster shows that the policy is wrong, TimeoutError if nodes or pods are no longer known,
        EndlessError if a decision does not end.
        """
        began = elapsed()
        try:
            with self.tracing.span(CYCLE):
                figures = await self._perform(rules, began)
        except Exception:
            self._done(CycleFigures(result="failed", ended=self.clock(), seconds=elapsed() - began))
            raise
        finally:
            self.watchdog.rest(_WHO)
        if figures is not None:
            self._done(figures)
            self.metrics.workloads_backing_off(len(self.memory.pausing(elapsed())))

    def _done(self, figures: CycleFigures) -> None:
        self.metrics.cycle_done(figures)
        if self.history is not None:
            self.history.cycle_done(figures)

    async def _perform(self, rules: CycleRules, began: float) -> CycleFigures | None:
        """The figures of a cycle; None if stopped before anything was decided."""
        await self._add_usage(rules)
        if self.offer is not None:
            self._choice = await self._unless_stopped(self.offer.now(rules.policy)) or UNSTEERED
            self.metrics.steering.steers(self._choice.kind)
        if rules.policy.restow.may_replace_first:
            await self._end_what_is_left()
        log_lines.cycle_begins(self.log)
        reporter = Reporter(self.log, self.metrics, self.events, rules.policy)
        phases = {"decide": 0.0, "execute": 0.0}
        try:
            with self._cache.cycle():
                first = await self._plan_and_move(rules, reporter, phases)
        finally:
            await self._lift()
        if first is None:
            return None
        if not first.cycle.skipped:
            reporter.cycle_done()
        self.metrics.keep_nodes(first.cycle.state.cluster.nodes.names)
        if self.publish is not None:
            await self.publish(first, reporter, rules)
        result: CycleResult = "skipped" if first.cycle.skipped else "done"
        seconds = elapsed() - began
        return cycle_figures(
            first.cycle.record, first.utilisation, result=result, ended=self.clock(), seconds=seconds, phases=phases
        )

    async def _plan_and_move(
        self, rules: CycleRules, reporter: Reporter, phases: dict[str, float]
    ) -> CycleDecision | None:
        """Make plans and carry them out, until one has told all; returns the first, None if stopped before it."""
        first: CycleDecision | None = None
        progress = CycleProgress()
        while (decision := await self._decide(rules, progress)) is not None:
            phases["decide"] += decision.seconds
            self._searches = decision.cycle.record.searches
            reporter.heard(decision.cycle)
            if first is None:
                first = decision
                reporter.decided(decision.cycle)
            entered = elapsed()
            more = await self._carry_out(rules, decision, progress, reporter)
            phases["execute"] += elapsed() - entered
            if not more:
                break
        return first

    async def _add_usage(self, rules: CycleRules) -> None:
        """Fetch the usage of nodes and pods that the policy asks for."""
        self.watchdog.expect(_WHO, "news of the cluster", _LOOKING)
        self.live.keep_usage(*kept_samples(rules.policy))
        if collects_kubernetes_metrics(rules.policy):
            self.live.add(METRICS)
            await self._unless_stopped(self.live.wait_ready(elapsed() + _COMING))
        self.watchdog.expect(_WHO, "usage", _LOOKING)
        self._usage = await self._unless_stopped(self.usage(rules.policy)) or {}

    async def _decide(self, rules: CycleRules, progress: CycleProgress) -> CycleDecision | None:
        """Decide on the cluster as it is now; None if stopped before.

        TimeoutError if nodes or pods are no longer known, EndlessError if the decision does not end.
        """
        if self._stopped is not None:
            return None
        if (why := self.live.unknown(REQUIRED)) is not None:
            raise TimeoutError(f"{why}; restow does not decide on an old state")
        self.watchdog.expect(_WHO, "decision", _DECIDING)
        may_move = progress.may_move()
        with self.tracing.span(PROFILES):
            before = Before(
                tuple(progress.prior_evictions),
                frozenset(progress.given_up),
                self.memory.pausing(elapsed()),
                may_move,
                searches=self._searches,
            )
            steering: SteeringMode = SteeringMode.NONE if progress.is_unsteered else self._choice.kind
            usage, cache = (self._usage, self._usage_changes.now()), None
            if self._may_plan_again(rules, steering):
                cache = self._cache.now(rules, *usage)
            cluster = self._cache.snapshot(rules, *usage) if cache is None else cache.state.cluster
            self.metrics.left_out(Counter(kind for kind, *_ in cluster.left_out))
            compute = partial(
                decide, cluster, rules, before, int(self.clock() * SECOND), steering=steering, cache=cache
            )
            decision = await self._unless_stopped(in_thread(compute, LONGEST_DECISION))
        if decision is not None:
            progress.decided(decision.cycle, decision.tasks, may_move)
        return decision

    def _may_plan_again(self, rules: CycleRules, steering: SteeringMode) -> bool:
        """Whether a plan may be repaired: where moves are made, and the plan does not count on a fence."""
        return self.evicting is not None and rules.placement == Placement.PROVE and steering not in FENCE_EFFECTS

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of a coroutine; None if it is stopped, which cancels it."""
        waiting = self._waiting = asyncio.ensure_future(work)
        if self._stopped is not None:
            waiting.cancel()
        try:
            await asyncio.wait((waiting,))
        finally:
            waiting.cancel()
            self._waiting = None
        return None if waiting.cancelled() else waiting.result()

    async def _carry_out(
        self, rules: CycleRules, decision: CycleDecision, progress: CycleProgress, reporter: Reporter
    ) -> bool:
        """Carry out a plan; return whether to decide again afterwards."""
        if self._stopped is not None:
            return False
        settings = ExecutionSettings.of(rules.policy.restow, in_background=self.in_background)
        if decision.tasks and (shut := closed(settings.windows, self.clock())) is not None:
            self.log.info(f"{len(decision.tasks)} pods would be evicted, but {shut}")
            return False
        patience = settings.budget + 2 * settings.ready + _MOVING

        def on_outcome(outcome: Outcome) -> None:
            self.watchdog.expect(_WHO, "outcome of a move", patience)
            reporter.outcome(outcome)
            if self.history is not None:
                self.history.outcome(outcome)
            progress.note(outcome)
            self._usage_changes.note(outcome)

        self.watchdog.expect(_WHO, "outcome of a move", patience)
        if self.evicting is None:
            await self._dry_run(settings, decision, on_outcome)
            return False
        before, in_vain, was_unsteered = progress.steps, len(progress.given_up), progress.is_unsteered
        astray = await self._make(
            self.evicting(rules.policy.grace_period_seconds), settings, decision, progress, on_outcome
        )
        progress.carried_out(astray=astray)
        if self._stopped is not None:
            return False
        if decision.cycle.fence is not None and not astray:
            # Moves that the fence prevented may be possible without it.
            progress.is_unsteered = True
            await self._lift()
        self.watchdog.expect(_WHO, "news of what was evicted", _LOOKING)
        await self._see(progress)
        if progress.repairs:
            return self.permit() > 0
        has_room = await self._unless_stopped(makes_room(self.live, decision.cycle, progress, in_vain))
        more = astray or bool(has_room) or progress.is_unsteered > was_unsteered
        return more and progress.steps > before and self.permit() > 0

    async def _dry_run(
        self, settings: ExecutionSettings, decision: CycleDecision, on_outcome: Callable[[Outcome], None]
    ) -> None:
        """Report what would be done. No further plan is made, since nothing has moved."""
        async with aclosing(DryRun(settings, self.memory, self.clock).carry_out(decision.tasks)) as outcomes:
            async for outcome in outcomes:
                on_outcome(outcome)

    async def _end_what_is_left(self) -> None:
        """End what another process has left under way."""
        self.watchdog.expect(_WHO, "the end of what was left under way", _LOOKING)
        for each in (*self.ways.values(), self._choice.steering):
            if each is not None:
                await self._unless_stopped(each.clean())

    async def _make(
        self,
        evicting: Evicting,
        settings: ExecutionSettings,
        decision: CycleDecision,
        progress: CycleProgress,
        on_outcome: Callable[[Outcome], None],
    ) -> bool:
        """Make the moves of a plan behind its fence; return whether an outcome invalidated the rest."""
        self._is_astray = False
        async with behind_fence(self._choice.fencing, decision.fence, self._replan) as problem:
            if problem is not None:
                progress.is_unsteered = True
                if self._stopped is None:
                    self.log.warning(f"nodes were not fenced, and replacements are not steered: {problem}")
                return False
            steering = self._choice.steering or NoSteering()
            execution = Execution(
                self.live,
                evicting,
                self.permit,
                settings,
                self.memory,
                self.clock,
                steering,
                self.ways,
            )
            self._execution = execution
            try:
                return await carried_out(execution, decision.tasks, decision.seconds, on_outcome) or self._is_astray
            finally:
                self._execution = None

    async def _lift(self) -> None:
        if self._choice.fencing is not None:
            await self._choice.fencing.lift()

    def _replan(self) -> None:
        """Conclude the plan in progress, because its fence is gone."""
        if self._execution is not None:
            self._is_astray = True
            self._execution.conclude(ANEW)

    async def _see(self, progress: CycleProgress) -> None:
        """Wait until the watches show the evictions, or the pods would be evicted again."""

        def are_gone() -> bool:
            return all(gone(task.move, self.live) is not None for task in progress.evicted)

        await self._unless_stopped(self.live.wait_for(are_gone, elapsed() + SEEN))


def cycle_figures(
    record: Record,
    utilisation: Utilisation,
    *,
    result: CycleResult,
    ended: float,
    seconds: float,
    phases: Mapping[str, float],
) -> CycleFigures:
    """Return the figures of a cycle; ``ended`` is in seconds since the epoch."""
    moves: Counter[tuple[str, str, str]] = Counter(
        (each.ref.profile, each.ref.plugin, each.landing.certainty or "") for each in record.evictions
    )
    refusals: Counter[tuple[str, str]] = Counter(each.reason[:2] for each in record.refusals)
    imbalance = {
        resource: (load.spread, utilisation.after[resource].spread) for resource, load in utilisation.before.items()
    }
    return CycleFigures(
        result=result,
        ended=ended,
        seconds=seconds,
        phases=phases,
        moves=moves,
        refusals=refusals,
        imbalance=imbalance,
    )
