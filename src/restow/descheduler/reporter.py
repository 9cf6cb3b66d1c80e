"""Report the outcomes of moves in log lines, metrics, and events on pods and nodes.

The lines and events that operators of the Descheduler search for have its wording; source: Descheduler 0.36, package
evictions. restow adds lines about moves that are not made and about replacements.
"""

from __future__ import annotations

import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client.events import EventRecorder, Loss, Occurrence, Regarding
from restow.client.transport import Api
from restow.daemon import log_lines
from restow.daemon.logs import Log, Ref
from restow.descheduling.arbiter import RefusedSuggestion
from restow.descheduling.cycle import Cycle, plugins_in_order
from restow.descheduling.placement import PluginRef
from restow.descheduling.protections import namespace_notes
from restow.executing.task import (
    Blocked,
    Dropped,
    Evicted,
    Failed,
    Landed,
    LandingMatch,
    Missing,
    Outcome,
    Postponed,
    Requested,
    Settled,
    Task,
    Unready,
    Unverified,
    WouldEvict,
    landing_kind,
)
from restow.policies.codes import STEERED, MoveResult, OutcomeCode, Prediction, RefusalCode, Stage
from restow.policies.policy import Policy
from restow.policies.schema import ExtensionPoint
from restow.proving.surges import replacement_notes
from restow.serving.metrics import EvictionLabels, EvictionResult, Metrics

#: The Descheduler's name, so that people who look for its events find these.
CONTROLLER: Final = "sigs.k8s.io.descheduler"
#: Seconds that a request for an event may take.
_REQUEST: Final = 10.0
_ACTION: Final = "Descheduled"
_FAILED: Final = "EvictionFailed"
_LIMITS: Final[dict[str, EvictionResult]] = {
    RefusalCode.MAX_TOTAL: "maximum number of evicted pods per a descheduling cycle reached",
    RefusalCode.MAX_PER_NODE: "maximum number of evicted pods per node reached",
    RefusalCode.MAX_PER_NAMESPACE: "maximum number of evicted pods per namespace reached",
}
#: As the log spells them.
_POINTS: Final[dict[ExtensionPoint, log_lines.ExtensionPoint]] = {"deschedule": "Deschedule", "balance": "Balance"}
_PREDICTIONS: Final[dict[LandingMatch, Prediction]] = {
    LandingMatch.PREDICTED: Prediction.HIT,
    LandingMatch.IN_VAIN: Prediction.HIT,
    LandingMatch.ELSEWHERE: Prediction.MISS,
    LandingMatch.BACK: Prediction.MISS,
    LandingMatch.VOID: Prediction.VOID,
}


@dataclass(slots=True)
class Reporter:
    """Logs and counts what happens in one cycle."""

    log: Log
    metrics: Metrics
    #: None in a dry run, which writes nothing.
    events: EventRecorder | None
    policy: Policy
    #: Evictions by strategy.
    evicted: Counter[PluginRef] = field(init=False, default_factory=Counter)
    #: Evictions that another component was asked for, by strategy.
    requested: Counter[PluginRef] = field(init=False, default_factory=Counter)
    #: Replacements with predicted nodes, by outcome.
    predictions: Counter[Prediction] = field(init=False, default_factory=Counter)
    _by_node: defaultdict[str, Counter[str]] = field(init=False, default_factory=lambda: defaultdict(Counter))

    def decided(self, cycle: Cycle) -> None:
        """Report refused moves, and strategies that failed or had nothing to do."""
        if cycle.skipped:
            log_lines.cycle_skipped(self.log, len(cycle.nodes))
        cluster = cycle.state.cluster
        for note in (*namespace_notes(cluster), *replacement_notes(cluster, self.policy.restow)):
            self.log.warning(note)
        for ref, message in cycle.record.problems:
            log_lines.strategy_failed(self.log, self._point(ref), ref.profile, ref.plugin, message)
        for ref, message in cycle.record.notes:
            self.log.info("Nothing to do", v=2, profile=ref.profile, strategy=ref.plugin, message=message)
        for refused in cycle.record.refusals:
            self._refused(cycle, refused)
        resting = Counter(each.reason[2] for each in cycle.record.refusals if each.reason[1] == RefusalCode.BACK_OFF)
        for message, pods in resting.items():
            self.log.info("Backing off from workload", pods=pods, message=message)

    def heard(self, cycle: Cycle) -> None:
        """Count how long the strategies ran, once for each decision of the cycle."""
        for ref, seconds in cycle.record.seconds.items():
            self.metrics.strategy_done(ref.plugin, ref.profile, seconds)

    def outcome(self, outcome: Outcome) -> None:
        """Report one outcome of a move."""
        match outcome:
            case Evicted(task) | WouldEvict(task):
                self._evicted(task, dry_run=isinstance(outcome, WouldEvict))
            case Requested(task):
                self._requested(task)
            case Postponed(task, message):
                self.log.info("Waiting to evict pod", v=1, pod=_ref(task), message=message)
            case Dropped(task, message, code):
                self._dropped(task, message, code)
            case Blocked(task, message):
                self._not_evicted(task, message)
                self.metrics.moved(MoveResult.BLOCKED, RefusalCode.DISRUPTION_BUDGET)
            case Failed(task, message):
                self._not_evicted(task, message)
                self.metrics.moved(MoveResult.FAILED)
            case _:
                self._followed(outcome)

    def _followed(self, outcome: Outcome) -> None:
        """Report the state of a replacement."""
        match outcome:
            case Landed(task, pod, node, match):
                self._landed(task, pod, node, match)
            case Settled(task):
                self.log.info("Replacement is ready", v=3, pod=_ref(task))
            case Missing(task, message) | Unready(task, message):
                self.log.error("Replacement is not ready", message, pod=_ref(task))
                self._predicted(task, Prediction.MISSING)
            case Unverified(task, message):
                self.log.info("Replacement was not waited for", v=1, pod=_ref(task), message=message)

    def cycle_done(self) -> None:
        """Report the evictions of each strategy and of the cycle."""
        for _, point, ref in plugins_in_order(self.policy):
            log_lines.strategy_done(self.log, _POINTS[point], self.evicted[ref], self.requested[ref])
        log_lines.cycle_done(self.log, self.evicted.total(), self.requested.total())
        if self.events is None:
            log_lines.dry_run_done(self.log, self.evicted.total())
            return
        for node, reasons in self._by_node.items():
            self.events.record(_drained(node, reasons))

    def _refused(self, cycle: Cycle, refused: RefusedSuggestion) -> None:
        stage, code, message = refused.reason
        cluster = cycle.state.cluster
        pods, node = cluster.pods, cluster.nodes.names[refused.node]
        pod = Ref(pods.tables.namespaces[pods.namespace[refused.pod]], pods.names[refused.pod])
        if stage == Stage.LIMIT:
            limit, what = _limit(code, self.policy)
            kept = EvictionLabels(refused.ref.plugin, refused.ref.profile, pod.namespace, node)
            self.metrics.evicted(_LIMITS[code], kept)
            log_lines.limit_reached(self.log, message, limit, **_where(code, pod, node))
            self._warn(Regarding("Pod", pod.name, pod.namespace, pods.uids[refused.pod]), node, f"{what} ({limit})")
        elif stage == Stage.EVICTOR and self.log.enabled_for(4):
            log_lines.fails_checks(self.log, pod, [message])
        elif stage != Stage.EVICTOR and self.log.enabled_for(2):
            keys = {"pod": pod, "node": node, "strategy": refused.ref.plugin, "code": code, "message": message}
            self.log.info("Pod stays", v=2, **keys)

    def _evicted(self, task: Task, *, dry_run: bool) -> None:
        move = task.move
        more: dict[str, object] = {} if move.target is None else {"to": move.target, "certainty": move.certainty}
        known = {"targetProbability": move.target_probability, "steering": move.steering}
        more |= {key: value for key, value in known.items() if value is not None}
        log_lines.evicted(
            self.log,
            _ref(task),
            reason=move.reason,
            strategy=move.plugin,
            node=move.source,
            profile=move.profile,
            dry_run=dry_run,
            **more,
        )
        self.metrics.evicted("success", _evicted_pod(task))
        self.metrics.moved(MoveResult.EVICTED)
        self.evicted[PluginRef(move.profile, move.plugin)] += 1
        if self.events is not None:
            note = f"pod eviction from {move.source} node by sigs.k8s.io/descheduler: {move.reason}"
            self.events.record(Occurrence(_pod(task), move.plugin, _ACTION, note))
            self._by_node[move.source][move.plugin] += 1

    def _requested(self, task: Task) -> None:
        move = task.move
        log_lines.requested(self.log, _ref(task))
        self.metrics.evicted("background", _evicted_pod(task))
        self.metrics.moved(MoveResult.REQUESTED)
        self.requested[PluginRef(move.profile, move.plugin)] += 1

    def _not_evicted(self, task: Task, message: str) -> None:
        move = task.move
        log_lines.not_evicted(self.log, _ref(task), message, reason=move.reason)
        self.metrics.evicted("error", _evicted_pod(task))
        self._warn(_pod(task), move.source, message)

    def _dropped(self, task: Task, message: str, code: str) -> None:
        if code == OutcomeCode.REPLANNED:
            # The cycle's next decision reports it.
            return
        self.metrics.moved(MoveResult.DROPPED, code)
        if code == OutcomeCode.BACK_OFF:
            self.metrics.backed_off()
        # A workload in back-off needs an operator's attention.
        verbosity = 0 if code == OutcomeCode.BACK_OFF else 1
        self.log.info("Planned eviction dropped", v=verbosity, pod=_ref(task), code=code, message=message)

    def _landed(self, task: Task, pod: str, node: str, match: LandingMatch) -> None:
        keys: dict[str, object] = {"pod": _ref(task), "replacement": Ref(task.move.pod.namespace, pod), "node": node}
        landing, sureness = landing_kind(task, node, match), _sureness(task)
        if landing is not None and sureness is not None:
            keys["landing"] = landing.value
            self.metrics.landed_at(landing, sureness)
        if match in (LandingMatch.ELSEWHERE, LandingMatch.BACK):
            foretold = ", ".join(task.move.candidates[:3]) or "another node"
            self.log.info("Replacement landed on another node than predicted", v=0, **keys, foretold=foretold)
        else:
            self.log.info("Replacement landed", v=2, **keys, match=match.value)
        if (
            match in (LandingMatch.PREDICTED, LandingMatch.IN_VAIN)
            and task.move.probability is not None
            and node in task.move.candidates
        ):
            self.metrics.landed_well(task.move.probability, well=match is LandingMatch.PREDICTED)
        if match in _PREDICTIONS:
            self._predicted(task, _PREDICTIONS[match])

    def _predicted(self, task: Task, prediction: Prediction) -> None:
        sureness = _sureness(task)
        if sureness is not None:
            self.predictions[prediction] += 1
            self.metrics.landed(prediction, sureness)

    def _warn(self, pod: Regarding, node: str, message: str) -> None:
        if self.events is not None and self.policy.eviction_failure_event_notification:
            note = f"pod eviction from {node} node by sigs.k8s.io/descheduler failed: {message}"
            self.events.record(Occurrence(pod, _FAILED, _ACTION, note, "Warning"))

    def _point(self, ref: PluginRef) -> log_lines.ExtensionPoint:
        return next(_POINTS[point] for _, point, each in plugins_in_order(self.policy) if each == ref)


def _sureness(task: Task) -> str | None:
    """How sure a move is, as metrics label it; None if it was not proven."""
    return STEERED if task.is_steered else task.move.certainty


def _limit(code: str, policy: Policy) -> tuple[int, str]:
    """The limit that has a code, and the words of the Descheduler's events for reaching it."""
    limits: dict[str, tuple[int | None, str]] = {
        RefusalCode.MAX_TOTAL: (policy.max_no_of_pods_to_evict_total, "total eviction limit exceeded"),
        RefusalCode.MAX_PER_NODE: (policy.max_no_of_pods_to_evict_per_node, "node eviction limit exceeded"),
        RefusalCode.MAX_PER_NAMESPACE: (
            policy.max_no_of_pods_to_evict_per_namespace,
            "namespace eviction limit exceeded",
        ),
    }
    limit, what = limits[code]
    return limit or 0, what


def _where(code: str, pod: Ref, node: str) -> dict[str, object]:
    """What the Descheduler's log names of a limit that was reached: its node, or its namespace and the pod."""
    where: dict[str, dict[str, object]] = {
        RefusalCode.MAX_PER_NODE: {"node": node},
        RefusalCode.MAX_PER_NAMESPACE: {"namespace": pod.namespace, "pod": pod},
    }
    return where.get(code, {})


def _evicted_pod(task: Task) -> EvictionLabels:
    move = task.move
    return EvictionLabels(move.plugin, move.profile, move.pod.namespace, move.source)


def _ref(task: Task) -> Ref:
    return Ref(task.move.pod.namespace, task.move.pod.name)


def _pod(task: Task) -> Regarding:
    return Regarding("Pod", task.move.pod.name, task.move.pod.namespace, task.move.pod.uid)


def _drained(node: str, reasons: Counter[str]) -> Occurrence:
    by_strategy = ", ".join(f"{number} by {plugin}" for plugin, number in reasons.items())
    total = reasons.total()
    note = f"{total} pod{'s' if total > 1 else ''} evicted from this node: {by_strategy}"
    return Occurrence(Regarding("Node", node, uid=node), "PodsEvicted", _ACTION, note)


class CountsLosses(Protocol):
    """Takes the figure; ``serving.metrics.Metrics`` is one."""

    def events_lost(self, reason: Loss, number: int, /) -> None:
        """Count events that could not be written."""
        ...


@asynccontextmanager
async def recording(
    api: Api, *, log: Log, metrics: CountsLosses, controller: str = CONTROLLER
) -> AsyncIterator[EventRecorder]:
    """A recorder, whose last events are written at the end; ``controller`` is whose events they are."""
    warned: set[Loss] = set()

    def lost(reason: Loss, why: str, events: int) -> None:
        metrics.events_lost(reason, events)
        if reason not in warned:
            warned.add(reason)
            log.warning(f"an event could not be written: {why}; restow_events_lost_total counts further ones")

    # Events have no rate limit, and evictions do not wait for them.
    unhurried = api.without_limit().within(_REQUEST)
    async with EventRecorder(unhurried, controller, f"{controller}-{socket.gethostname()}", on_lost=lost) as recorder:
        yield recorder
