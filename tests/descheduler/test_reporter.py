"""What becomes of moves, as operators see it: log, metrics and events."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from builders import Owner, a_node, a_pod
from builders.policies import PLUGINS, a_config, a_policy, a_profile, as_json, strategy_policy
from builders.policies import Policy as Document
from descheduler.hearing import Heard, Recorded, sample
from descheduling.trials import a_profile as a_trial_profile
from descheduling.trials import failing, suggesting, trial
from executing.double import a_task
from restow.client.events import Occurrence, Regarding
from restow.descheduler.reporter import Reporter
from restow.descheduling.plan import Move
from restow.executing.task import (
    Blocked,
    Cleared,
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
)
from restow.policies.codes import SURENESS, LandingKind
from restow.policies.load import load_policy
from restow.policies.policy import Policy, Profile
from restow.serving.metrics import Metrics

LEVEL = "LowNodeUtilization"
POD = {"name": "web-0", "namespace": "default"}
NEW = {"name": "new-1", "namespace": "default"}


def read(document: Document) -> Policy:
    return load_policy(as_json(document), "policy.json", PLUGINS).policy


def a_read_policy(**settings: Any) -> Policy:
    document = strategy_policy(LEVEL, {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}, **settings)
    return read(document)


class Told:
    """A reporter, and everything that it writes."""

    def __init__(self, policy: Policy | None = None, *, verbosity: int = 9, dry_run: bool = False) -> None:
        self.heard, self.metrics, self.recorded = Heard(verbosity), Metrics(), Recorded()
        events: Any = None if dry_run else self.recorded
        self.reporter = Reporter(self.heard.log, self.metrics, events, policy or a_read_policy())

    def of(self, *outcomes: Outcome) -> Told:
        for each in outcomes:
            self.reporter.outcome(each)
        return self

    @property
    def events(self) -> list[Occurrence]:
        return self.recorded.occurrences

    def evictions(self, result: str, **pod: str) -> float | None:
        labels = {"strategy": LEVEL, "profile": "P", "namespace": "default", "node": "a"} | pod
        return sample(self.metrics, "descheduler_pods_evicted_total", result=result, **labels)

    def moves(self, result: str, reason: str = "") -> float | None:
        return sample(self.metrics, "restow_moves_total", result=result, reason=reason)

    def predictions(self) -> dict[str, float]:
        results = ("hit", "miss", "void", "missing")
        counted = {
            each: sample(self.metrics, "restow_predictions_total", result=each, certainty="certain") for each in results
        }
        return {each: number for each, number in counted.items() if number}


def a_move(*candidates: str, **features: Any) -> Task:
    """Of the profile P, with a reason."""
    task = a_task("web-0", candidates=candidates, **features)
    fields = {name: getattr(task.move, name) for name in Move.__struct_fields__} | {
        "profile": "P",
        "reason": "a is full",
    }
    return Task(task.number, Move(**fields), task.owner, task.workload, task.replacement_policy)


def with_move(task: Task, **fields: Any) -> Task:
    return structs.replace(task, move=structs.replace(task.move, **fields))


BARE, PROVEN = a_move(), a_move("b", "c")
OPEN = with_move(PROVEN, target_probability=0.2)
STEERED = with_move(a_move("b"), target_probability=1.0, steering="nominate")
WHY = {"reason": "a is full", "strategy": LEVEL, "node": "a", "profile": "P"}


@pytest.mark.parametrize(
    ("outcome", "verbosity", "message", "keys"),
    [
        (Evicted(BARE), 1, "Evicted pod", {"pod": POD, **WHY}),
        (Evicted(PROVEN), 1, "Evicted pod", {"pod": POD, **WHY, "to": "b", "certainty": "certain"}),
        (
            Evicted(OPEN),
            1,
            "Evicted pod",
            {"pod": POD, **WHY, "to": "b", "certainty": "certain", "targetProbability": 0.2},
        ),
        (
            Evicted(STEERED),
            1,
            "Evicted pod",
            {"pod": POD, **WHY, "to": "b", "certainty": "certain", "targetProbability": 1.0, "steering": "nominate"},
        ),
        (WouldEvict(BARE), 1, "Evicted pod in dry run mode", {"pod": POD, **WHY}),
        (Requested(BARE), 3, "Eviction in background assumed", {"pod": POD}),
        (Postponed(BARE, "no room"), 1, "Waiting to evict pod", {"pod": POD, "message": "no room"}),
        (
            Landed(PROVEN, "new-1", "b", LandingMatch.PREDICTED),
            2,
            "Replacement landed",
            {"pod": POD, "replacement": NEW, "node": "b", "match": "predicted", "landing": "target"},
        ),
        (
            Landed(PROVEN, "new-1", "c", LandingMatch.PREDICTED),
            2,
            "Replacement landed",
            {"pod": POD, "replacement": NEW, "node": "c", "match": "predicted", "landing": "other"},
        ),
        (
            Landed(BARE, "new-1", "d", LandingMatch.UNPREDICTED),
            2,
            "Replacement landed",
            {"pod": POD, "replacement": NEW, "node": "d", "match": "unforetold"},
        ),
        (
            Landed(PROVEN, "new-1", "d", LandingMatch.ELSEWHERE),
            0,
            "Replacement landed on another node than predicted",
            {"pod": POD, "replacement": NEW, "node": "d", "landing": "missed", "foretold": "b, c"},
        ),
        (
            Landed(BARE, "new-1", "a", LandingMatch.BACK),
            0,
            "Replacement landed on another node than predicted",
            {"pod": POD, "replacement": NEW, "node": "a", "foretold": "another node"},
        ),
        (Settled(BARE), 3, "Replacement is ready", {"pod": POD}),
        (
            Dropped(BARE, "it is already gone", "Gone"),
            1,
            "Planned eviction dropped",
            {"pod": POD, "code": "Gone", "message": "it is already gone"},
        ),
        (
            Dropped(BARE, "left alone", "BackOff"),
            0,
            "Planned eviction dropped",
            {"pod": POD, "code": "BackOff", "message": "left alone"},
        ),
        (
            Unverified(BARE, "restow is stopping"),
            1,
            "Replacement was not waited for",
            {"pod": POD, "message": "restow is stopping"},
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | int | dict) else None,
)
def test_a_line_of_the_log(outcome: Outcome, verbosity: int, message: str, keys: dict[str, Any]) -> None:
    assert Told(verbosity=verbosity).of(outcome).heard.entries == [{"msg": message, "v": verbosity, **keys}]
    assert Told(verbosity=verbosity - 1).of(outcome).heard.entries == []


@pytest.mark.parametrize(
    ("outcome", "message", "keys"),
    [
        (Blocked(BARE, "no room"), "Error evicting pod", {"err": "no room", "pod": POD, "reason": "a is full"}),
        (Failed(BARE, "forbidden"), "Error evicting pod", {"err": "forbidden", "pod": POD, "reason": "a is full"}),
        (Missing(BARE, "none came"), "Replacement is not ready", {"err": "none came", "pod": POD}),
        (Unready(BARE, "not ready"), "Replacement is not ready", {"err": "not ready", "pod": POD}),
    ],
    ids=["blocked", "failed", "missing", "unready"],
)
def test_failures_are_always_told(outcome: Outcome, message: str, keys: dict[str, Any]) -> None:
    assert Told(verbosity=0).of(outcome).heard.entries == [{"msg": message, **keys}]


@pytest.mark.parametrize("outcome", [Cleared(BARE), Dropped(BARE, "the rest is planned again", "Replanned")])
def test_what_goes_without_saying(outcome: Outcome) -> None:
    told = Told().of(outcome)
    assert told.heard.entries == []
    assert told.moves("dropped", "Replanned") is None


@pytest.mark.parametrize(
    ("outcome", "result", "move"),
    [
        (Evicted(BARE), "success", ("evicted", "")),
        (WouldEvict(BARE), "success", ("evicted", "")),
        (Requested(BARE), "background", ("requested", "")),
        (Blocked(BARE, "no room"), "error", ("blocked", "DisruptionBudget")),
        (Failed(BARE, "forbidden"), "error", ("failed", "")),
        (Dropped(BARE, "gone", "Gone"), None, ("dropped", "Gone")),
        (Dropped(BARE, "left alone", "BackOff"), None, ("dropped", "BackOff")),
    ],
)
def test_moves_are_counted(outcome: Outcome, result: str | None, move: tuple[str, str]) -> None:
    told = Told().of(outcome, outcome)
    assert told.moves(*move) == 2
    if result is not None:
        assert told.evictions(result) == 2
    suppressed = sample(told.metrics, "restow_loops_suppressed_total", cause="back-off")
    assert suppressed == (2 if "BackOff" in move else 0)


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        (Landed(PROVEN, "new-1", "b", LandingMatch.PREDICTED), "hit"),
        (Landed(PROVEN, "new-1", "d", LandingMatch.ELSEWHERE), "miss"),
        (Landed(PROVEN, "new-1", "a", LandingMatch.BACK), "miss"),
        (Landed(PROVEN, "new-1", "d", LandingMatch.VOID), "void"),
        (Missing(PROVEN, "none came"), "missing"),
        (Unready(PROVEN, "not ready"), "missing"),
        (Unverified(PROVEN, "stopped"), None),
        (Landed(BARE, "new-1", "d", LandingMatch.UNPREDICTED), None),
        (Landed(BARE, "new-1", "a", LandingMatch.BACK), None),
        (Missing(BARE, "none came"), None),
    ],
)
def test_predictions_are_counted_where_there_was_one(outcome: Outcome, counted: str | None) -> None:
    assert Told().of(outcome).predictions() == ({} if counted is None else {counted: 1})


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        (Landed(PROVEN, "new-1", "b", LandingMatch.PREDICTED), {("target", "certain"): 1}),
        (Landed(PROVEN, "new-1", "c", LandingMatch.PREDICTED), {("other", "certain"): 1}),
        (Landed(STEERED, "new-1", "b", LandingMatch.PREDICTED), {("target", "steered"): 1}),
        (Landed(PROVEN, "new-1", "c", LandingMatch.IN_VAIN), {("missed", "certain"): 1}),
        (Landed(PROVEN, "new-1", "d", LandingMatch.ELSEWHERE), {("missed", "certain"): 1}),
        (Landed(PROVEN, "new-1", "a", LandingMatch.BACK), {("missed", "certain"): 1}),
        (Landed(PROVEN, "new-1", "d", LandingMatch.VOID), {("missed", "certain"): 1}),
        (Missing(PROVEN, "none came"), {}),
        (Landed(BARE, "new-1", "d", LandingMatch.UNPREDICTED), {}),
    ],
)
def test_landings_are_counted_by_target_other_good_node_and_missed(
    outcome: Outcome, counted: dict[tuple[str, str], float]
) -> None:
    told = Told().of(outcome)
    found = {
        (result, certainty): sample(told.metrics, "restow_targets_total", result=result, certainty=certainty)
        for result in LandingKind
        for certainty in SURENESS
    }
    assert None not in found.values()
    assert {labels: number for labels, number in found.items() if number} == counted


def test_an_eviction_is_an_event_on_its_pod_and_all_of_a_cycle_one_on_each_node() -> None:
    told = Told().of(Evicted(BARE), Settled(BARE), Evicted(PROVEN), Evicted(a_move(source="b")))
    told.reporter.cycle_done()
    note = "pod eviction from a node by sigs.k8s.io/descheduler: a is full"
    assert told.events[0] == Occurrence(Regarding("Pod", "web-0", "default", "uid-web-0"), LEVEL, "Descheduled", note)
    assert [(each.regarding.kind, each.regarding.name, each.reason, each.note) for each in told.events[3:]] == [
        ("Node", "a", "PodsEvicted", f"2 pods evicted from this node: 2 by {LEVEL}"),
        ("Node", "b", "PodsEvicted", f"1 pod evicted from this node: 1 by {LEVEL}"),
    ]


@pytest.mark.parametrize("notify", [True, False])
def test_failures_are_events_only_where_the_policy_asks_for_them(notify: bool) -> None:
    told = Told(a_read_policy(evictionFailureEventNotification=notify)).of(Failed(BARE, "forbidden"))
    pod = Regarding("Pod", "web-0", "default", "uid-web-0")
    note = "pod eviction from a node by sigs.k8s.io/descheduler failed: forbidden"
    assert told.events == [Occurrence(pod, "EvictionFailed", "Descheduled", note, "Warning")] * notify


def test_a_dry_run_writes_no_event() -> None:
    told = Told(a_read_policy(evictionFailureEventNotification=True), dry_run=True)
    told.of(WouldEvict(BARE)).reporter.cycle_done()
    assert told.events == []


def test_a_cycle_ends_with_the_counts_of_each_strategy_and_of_all() -> None:
    """In the order in which strategies run, and only at verbosity 1."""
    profile = a_profile(
        a_config("RemoveDuplicates"),
        a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 1}),
        balance=["RemoveDuplicates"],
        deschedule=["PodLifeTime"],
    )
    told = Told(read(a_policy(profile)), verbosity=1)
    old, double = a_move(plugin="PodLifeTime"), a_move(plugin="RemoveDuplicates")
    told.of(Evicted(old), Evicted(double), Evicted(double), Requested(double), Blocked(double, "no room"))
    told.reporter.cycle_done()
    assert told.heard.of("Total number of evictions/requests") == [
        {"v": 1, "extension point": "Deschedule", "evictedPods": 1, "evictionRequests": 0},
        {"v": 1, "extension point": "Balance", "evictedPods": 2, "evictionRequests": 1},
    ]
    assert told.heard.entries[-1] == {
        "msg": "Number of evictions/requests",
        "v": 1,
        "totalEvicted": 3,
        "evictionRequests": 1,
    }


# What was decided

NODES = [a_node("n1"), a_node("n2")]
PODS = [a_pod(name, node="n1", owner=Owner("ReplicaSet", "rs")) for name in ("a", "b")]


def decided(strategies: dict[str, Any], *more: Any, verbosity: int = 9, notify: bool = True, **limits: int) -> Told:
    """What is told of a cycle of strategies of a test."""
    profile: Profile = a_trial_profile("P", deschedule=tuple(strategies))
    policy = Policy(profiles=(profile,), eviction_failure_event_notification=notify, **limits)
    told = Told(policy, verbosity=verbosity)
    cycle = trial(strategies, *NODES, *PODS, *more, profiles=[profile], **limits)
    told.reporter.heard(cycle)
    told.reporter.decided(cycle)
    return told


@pytest.mark.parametrize(
    ("limit", "text", "where", "note"),
    [
        (
            "max_no_of_pods_to_evict_total",
            "maximum number of evicted pods per a descheduling cycle reached",
            {},
            "total eviction limit exceeded (1)",
        ),
        (
            "max_no_of_pods_to_evict_per_node",
            "maximum number of evicted pods per node reached",
            {"node": "n1"},
            "node eviction limit exceeded (1)",
        ),
        (
            "max_no_of_pods_to_evict_per_namespace",
            "maximum number of evicted pods per namespace reached",
            {"namespace": "default", "pod": {"name": "b", "namespace": "default"}},
            "namespace eviction limit exceeded (1)",
        ),
    ],
    ids=["total", "node", "namespace"],
)
def test_a_limit_is_told_in_the_deschedulers_words(limit: str, text: str, where: dict[str, Any], note: str) -> None:
    told = decided({"S": suggesting("a", "b")}, verbosity=0, **{limit: 1})
    assert told.heard.entries == [{"msg": "Error evicting pod", "err": text, "limit": 1, **where}]
    assert told.evictions(text, strategy="S", node="n1") == 1
    assert [(each.reason, each.type, each.note) for each in told.events] == [
        ("EvictionFailed", "Warning", f"pod eviction from n1 node by sigs.k8s.io/descheduler failed: {note}")
    ]
    assert decided({"S": suggesting("a", "b")}, notify=False, **{limit: 1}).events == []


def test_a_strategy_that_cannot_work_is_told_with_its_extension_point() -> None:
    told = decided({"F": failing()}, verbosity=0)
    assert told.heard.entries == [
        {
            "msg": "running deschedule extension point failed with error",
            "err": 'plugin "F" finished with error: no metrics for node n1',
            "profile": "P",
        }
    ]


def test_the_evictors_reasons_are_told_at_verbosity_4() -> None:
    strategies, bare = {"S": suggesting("bare")}, a_pod("bare", node="n1")
    (line,) = decided(strategies, bare, verbosity=4).heard.entries
    assert line["msg"] == "Pod fails the following checks"
    assert line["pod"] == {"name": "bare", "namespace": "default"}
    assert decided(strategies, bare, verbosity=3).heard.entries == []


def test_each_strategy_is_timed() -> None:
    told = decided({"S": suggesting("a")})
    assert sample(told.metrics, "descheduler_strategy_duration_seconds_count", strategy="S", profile="P") == 1


def test_a_skipped_cycle_is_told() -> None:
    told = Told(Policy(profiles=(a_trial_profile("P", deschedule=("S",)),)), verbosity=0)
    told.reporter.decided(trial({"S": suggesting("a")}, NODES[0], *PODS))
    assert told.heard.entries == [{"msg": "Skipping descheduling cycle: requires >=2 nodes", "v": 0, "found": 1}]
