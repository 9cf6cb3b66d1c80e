"""Evictions by others and their outcomes, from the events of pods, in the order of the watch.

The pod of an eviction has the condition ``DisruptionTarget`` (the eviction API, the taint manager, preemption and the kubelet
set it) when it begins to terminate; a pod that has the condition only was not evicted after all. Then the forecast is made,
on the cluster as all earlier events have left it: the controller has not seen the pod go yet. The next new pod of the same controller is the replacement; that of a StatefulSet has the same name. Its node, its
first readiness, and how long the controller had no ready pod are what the eviction came to.

After an interruption of the watch the order of what happened meanwhile is unknown, and evictions found then have no
forecast. Source of the conditions: Kubernetes 1.36, pod disruption conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.cluster.owners import main_owner, workload_of
from restow.cluster.pod_values import OVER, PodNow
from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore, Key
from restow.kube.duration import SECOND
from restow.kube.objects import OwnerReference
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.cycle.mirror import Mirror
from restow.shadowing.forecasts import Expected, Forecast, Forecaster, Habits, LandingSituation, nothing_foretold
from restow.shadowing.outcomes import FORETOLD, EvictionOutcome, ForeignEviction
from restow.workloads.controllers import STATEFUL_SET

_CONDITION: Final = "DisruptionTarget"
#: Seconds after its landing in which the eviction of a replacement repeats the eviction before.
REPEATED_WITHIN: Final = 3600.0
#: Forecasts that are taken to have come true before any is judged, and pods to have stayed until their replacements landed.
_DOUBT: Final = 4
#: Below this probability something is a surprise.
_IMPOSSIBLE: Final = 0.01
#: After this many events at once, as of a new list, the mirror is made again.
_MANY: Final = 500


class EventSource(Protocol):
    """The cluster as the watches show it; ``live.cluster.LiveCluster`` is one."""

    @property
    def store(self) -> ClusterStore:
        """The current objects, to be read and not to be kept."""

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now."""

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod as it is now; None if there is none."""

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods that name an owner (a uid)."""


#: Namespace and uid of a controller.
_Owner = tuple[str, str]


@dataclass(slots=True)
class _Awaiting:
    """The evictions of one controller that have no ready replacement yet."""

    #: The uids of pods that are no replacements of them.
    known: set[str]
    evictions: list[ForeignEviction] = field(default_factory=list)
    #: Whether one of its pods has been ready since the first of these evictions.
    was_up: bool = False


class EvictionWatch:
    """Sees evictions in the changes of a cluster, foretells each and follows it to its end."""

    def __init__(self, source: EventSource, profiles: Sequence[SchedulerProfile], clock: Callable[[], float]) -> None:
        """``clock`` gives seconds since the epoch."""
        self._source = source
        self._mirror = Mirror(profiles)
        self._forecaster = Forecaster(self._mirror)
        self._clock = clock
        self._awaiting: dict[_Owner, _Awaiting] = {}
        #: The evictions that each pod (uid) has replaced, or may replace.
        self._replacements: dict[str, ForeignEviction] = {}
        #: By the uid of the evicted pod.
        self._expected: dict[str, Expected] = {}
        self._seen: dict[str, float] = {}
        #: Pods with the condition that do not terminate, by name: they may vanish at once.
        self._condemned: dict[Key, PodNow] = {}
        #: The evictions whose pods are still there, by the name of the pod.
        self._leaving: dict[Key, ForeignEviction] = {}
        #: How many replacements that were expected at once landed, and before how many of them the old pod was gone.
        self._landings = self._gone_first = 0
        #: The forecasts whose outcome is known, and those of them that were of another one without any doubt.
        self._judged: Counter[LandingSituation] = Counter()
        self._surprises: Counter[LandingSituation] = Counter()
        #: Evictions in the order in which they were seen, until ``forget``.
        self.evictions: list[ForeignEviction] = []
        self._new: list[ForeignEviction] = []

    def begin(self) -> None:
        """Begin with the cluster as it is; pods that are being evicted already do not count."""
        self._mirror.begin(self._source)
        pods = self._mirror.state.cluster.pods
        now = self._clock()
        for pod in pods.where(self._mirror.state.exists).tolist():
            if any(each.type == _CONDITION for each in pods.tables.conditions[pods.conditions[pod]]):
                self._seen[pods.uids[pod]] = now

    def touch(self, kind: str, keys: Iterable[Key]) -> None:
        """Note that objects may have changed; called after each event, while the source shows just that."""
        if not self._mirror.has_begun:
            return
        changed = list(keys)
        self._mirror.touch(kind, changed)
        if kind != "Pod":
            return
        is_list = len(changed) > 1
        if len(changed) > _MANY:
            self._mirror.begin(self._source)
        while self._mirror.is_behind:
            self._mirror.catch_up()
        owners = {owner for key in changed for owner in self._changed(key, is_list=is_list)}
        self._measure_gaps(owner for owner in owners if owner in self._awaiting)

    def _changed(self, key: Key, *, is_list: bool) -> Iterator[_Owner]:
        """See what has changed of a pod; yields the controllers that may have more or fewer ready pods now."""
        pod, leaving, condemned = self._source.pod(*key), self._leaving.get(key), self._condemned.get(key)
        if leaving is not None and (pod is None or pod.uid != leaving.uid):
            leaving.gone = self._clock()
            del self._leaving[key]
        if condemned is not None and (pod is None or pod.uid != condemned.uid):
            self._begin(condemned, nothing_foretold("it ended at once"))
        if pod is not None:
            self._see(pod, is_list=is_list)
        owners = (None if pod is None else main_owner(pod.owners), None if leaving is None else leaving.owner)
        yield from ((key[0], owner.uid) for owner in owners if owner is not None)

    def take_new(self) -> list[ForeignEviction]:
        """The evictions that were seen since this was called last."""
        new, self._new = self._new, []
        return new

    def forget(self, before: float) -> None:
        """Drop what happened before a time."""
        self.evictions = [each for each in self.evictions if each.at >= before]
        self._seen = {uid: at for uid, at in self._seen.items() if at >= before}
        self._condemned = {key: pod for key, pod in self._condemned.items() if self._source.pod(*key) is not None}
        self._replacements = {uid: each for uid, each in self._replacements.items() if each.at >= before}
        for awaiting in self._awaiting.values():
            # A replacement that is not ready by now may never be.
            awaiting.evictions = [each for each in awaiting.evictions if each.at >= before]
        self.settle()

    def settle(self) -> None:
        """Stop waiting for what does not come any more."""
        now = self._clock()
        for owner, awaiting in list(self._awaiting.items()):
            for each in awaiting.evictions:
                if each.landed is None and each.outcome(now) is EvictionOutcome.PENDING:
                    self._judge(each, now)
                if each.outcome(now) is EvictionOutcome.UNREPLACED:
                    # Nothing wants a pod in its place, so none is missing.
                    each.seconds_down, each.down_since = 0.0, None
            awaiting.evictions = [each for each in awaiting.evictions if not each.is_over(now)]
            if not awaiting.evictions:
                del self._awaiting[owner]
        expecting = {each.uid for found in self._awaiting.values() for each in found.evictions if each.landed is None}
        self._expected = {uid: each for uid, each in self._expected.items() if uid in expecting}

    def _see(self, pod: PodNow, *, is_list: bool) -> None:
        if _evicted_by(pod) is not None and pod.uid not in self._seen:
            self._condemned[pod.namespace, pod.name] = pod
            if pod.is_terminating or pod.phase in OVER:
                self._begin(pod, self._forecast(pod, is_list=is_list))
        owner = main_owner(pod.owners)
        awaiting = self._awaiting.get((pod.namespace, owner.uid)) if owner is not None else None
        if owner is not None and awaiting is not None and pod.uid not in awaiting.known:
            self._assign(pod, owner, awaiting)
        if pod.uid in self._replacements:
            self._follow(self._replacements[pod.uid], pod)

    def _begin(self, pod: PodNow, forecast: Forecast) -> None:
        now, owner = self._clock(), main_owner(pod.owners)
        key, before = (pod.namespace, pod.name), self._replacements.get(pod.uid)
        self._condemned.pop(key, None)
        self._seen[pod.uid] = now
        eviction = ForeignEviction(
            at=now,
            namespace=pod.namespace,
            pod=pod.name,
            uid=pod.uid,
            workload=self._workload(self._mirror.find(key, pod.uid)),
            owner=owner,
            reason=_evicted_by(pod) or "",
            source=pod.node or "",
            forecast=forecast,
            is_repeated=before is not None and now - (before.landed or now) <= REPEATED_WITHIN,
        )
        self.evictions.append(eviction)
        self._new.append(eviction)
        self._leaving[key] = eviction
        if owner is not None:
            self._await(eviction, owner)

    def _await(self, eviction: ForeignEviction, owner: OwnerReference) -> None:
        """Expect a new pod of the controller."""
        key = eviction.namespace, owner.uid
        awaiting = self._awaiting.get(key)
        if awaiting is None:
            pods = self._source.pods_of(*key)
            # The pod itself may be terminating already.
            was_up = any(each.is_ready and (each.uid == eviction.uid or not each.is_terminating) for each in pods)
            awaiting = self._awaiting[key] = _Awaiting({each.uid for each in pods}, was_up=was_up)
        awaiting.evictions.append(eviction)

    def _workload(self, row: int) -> str:
        workload = None if row == NO_POD else workload_of(self._mirror.state.cluster, row)
        return "" if workload is None else f"{workload.kind}/{workload.name}"

    def _forecast(self, pod: PodNow, *, is_list: bool) -> Forecast:
        row = self._mirror.find((pod.namespace, pod.name), pod.uid)
        if is_list:
            return nothing_foretold("the watch was interrupted when it was evicted")
        if row == NO_POD or pod.node is None:
            return nothing_foretold("it had no node")
        try:
            found, expected = self._forecaster.forecast(
                row,
                self._expected.values(),
                list(self._arrived()),
                int(self._clock() * SECOND),
                self._habits(),
            )
        except Exception as fault:  # noqa: BLE001  what goes wrong with one pod does not end the watch
            self._mirror.restart()
            return nothing_foretold(f"{type(fault).__name__}: {fault}")
        if expected is not None:
            self._expected[pod.uid] = expected
        return found

    def _arrived(self) -> Iterator[tuple[int, str]]:
        """The replacements that have no node yet, and where each is expected."""
        for found in self._awaiting.values():
            for each in found.evictions:
                if each.came is not None and each.landed is None and each.forecast.node:
                    row = self._mirror.find((each.namespace, each.replacement), each.replacement_uid)
                    if row != NO_POD:
                        yield row, each.forecast.node

    def _assign(self, pod: PodNow, owner: OwnerReference, awaiting: _Awaiting) -> None:
        """A new pod of a controller replaces the first pod that has no replacement yet."""
        for each in awaiting.evictions:
            is_its = owner.kind != STATEFUL_SET or each.pod == pod.name
            if is_its and not pod.is_terminating and self._lacks_replacement(each):
                awaiting.known.add(pod.uid)
                each.came = each.came or self._clock()
                each.replacement, each.replacement_uid = pod.name, pod.uid
                self._replacements[pod.uid] = each
                self._expected.pop(each.uid, None)
                return

    def _lacks_replacement(self, eviction: ForeignEviction) -> bool:
        """Whether no replacement has come, or the one that came has gone without a node."""
        if eviction.came is None or eviction.landed is not None:
            return eviction.came is None
        found = self._source.pod(eviction.namespace, eviction.replacement)
        return found is None or found.uid != eviction.replacement_uid

    def _follow(self, eviction: ForeignEviction, pod: PodNow) -> None:
        if pod.node is not None and eviction.landed is None:
            eviction.node, eviction.landed = pod.node, self._clock()
            if eviction.forecast.situation is LandingSituation.AT_ONCE:
                self._landings += 1
                self._gone_first += eviction.gone is not None
            self._judge(eviction, eviction.landed)
        if pod.is_ready and eviction.ready is None:
            eviction.ready = self._clock()

    def _judge(self, eviction: ForeignEviction, now: float) -> None:
        """Learn from what has come true, once for each eviction."""
        situation = eviction.forecast.situation
        if situation is None or eviction.is_judged:
            return
        eviction.is_judged = True
        self._judged[situation] += 1
        foretold = dict(zip(FORETOLD, eviction.forecast.undoubted, strict=True))
        self._surprises[situation] += foretold[eviction.outcome(now)] < _IMPOSSIBLE

    def _habits(self) -> Habits:
        # Where others come and go, forecasts are doubted until they are known to be good.
        begin = {each: int(each in (LandingSituation.ROOM, LandingSituation.AFTERWARDS)) for each in LandingSituation}
        surprises = {
            each: (self._surprises[each] + begin[each]) / (self._judged[each] + _DOUBT) for each in LandingSituation
        }
        return Habits(self._gone_first / (self._landings + _DOUBT), surprises)

    def _measure_gaps(self, owners: Iterable[_Owner]) -> None:
        now = self._clock()
        for owner in owners:
            awaiting = self._awaiting[owner]
            is_up = any(each.is_ready and not each.is_terminating for each in self._source.pods_of(*owner))
            awaiting.was_up = awaiting.was_up or is_up
            for each in awaiting.evictions:
                if is_up and each.down_since is not None:
                    each.seconds_down, each.down_since = each.downtime(now), None
            if awaiting.was_up and not is_up and all(each.down_since is None for each in awaiting.evictions):
                awaiting.evictions[-1].down_since = now


def _evicted_by(pod: PodNow) -> str | None:
    """The reason of the condition that shows an eviction; None if there is none."""
    return next((each.reason for each in pod.conditions if each.type == _CONDITION and each.status == "True"), None)
