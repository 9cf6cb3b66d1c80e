"""Whole cycles on a small cluster, in virtual time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from builders import HOSTNAME, Object, a_node, a_pdb, a_pod, ago
from builders.metadata import uid_of
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduling.proven import TOLD
from executing.double import a_task, virtually
from restow.client import eviction
from restow.client.leadership import always
from restow.client.permitted_body import Permit
from restow.descheduling.limits import Spent
from restow.errors import InputError
from restow.executing.memory import Memory
from restow.executing.task import Task
from restow.policies.load import load_policy
from restow.running import cycles as module
from restow.running.cycles import Cycles
from restow.running.deciding import Decision, Rules, decide
from restow.running.off_loop import EndlessError, off_loop
from restow.running.tracing import NoTracing
from restow.serving.metrics import Metrics
from running.hearing import Heard, Recorded, sample
from running.town import READY, Town

DROPPED = "Planned eviction dropped"
EVACUATION = eviction.Busy('admission webhook "x" denied the request: Eviction triggered evacuation of VMI', None)


def crowd(app: str, count: int = 3, **features: Any) -> list[Object]:
    """Ready replicas of one workload, all on n0."""
    same: dict[str, Any] = {"owner": ("ReplicaSet", app), "created": ago(3600), "images": [f"{app}:1"], "cpu": "100m"}
    same |= {"node": "n0", "phase": "Running", "conditions": [READY]} | features
    return [a_pod(f"{app}-{at}", **same) for at in range(count)]


def a_town(*pods: Object, nodes: int = 3, **features: Any) -> Town:
    made = [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(nodes)]
    return Town(**features).put(*made, *TOLD, *pods)


def rules(placement: Any = None, **settings: Any) -> Rules:
    """RemoveDuplicates, with settings of the policy."""
    document = strategy_policy("RemoveDuplicates", **settings)
    return Rules(load_policy(as_json(document), "policy.json", PLUGINS).policy, placement)


@dataclass
class Run:
    """Cycles on a town, and all that is heard and counted of them."""

    town: Town
    dry_run: bool = False
    permit: Permit = always
    memory: Memory = field(default_factory=Memory)
    in_background: bool = False
    heard: Heard = field(default_factory=Heard)
    metrics: Metrics = field(default_factory=Metrics)
    recorded: Recorded = field(default_factory=Recorded)
    cycles: Cycles = field(init=False)

    def __post_init__(self) -> None:
        town: Any = self.town
        events: Any = None if self.dry_run else self.recorded
        self.cycles = Cycles(
            live=town,
            evicting=None if self.dry_run else lambda _: town,
            permit=self.permit,
            memory=self.memory,
            log=self.heard.log,
            metrics=self.metrics,
            events=events,
            tracing=NoTracing(),
            clock=time.time,
            in_background=self.in_background,
        )

    def perform(self, by: Rules, times: int = 1) -> Run:
        async def performed() -> None:
            for _ in range(times):
                await self.cycles.perform(by)

        virtually(performed())
        return self

    @property
    def asked(self) -> list[str]:
        return self.town.asked

    def ended(self) -> dict[str, float]:
        """How many cycles ended how."""
        results = ("done", "skipped", "failed")
        counts = {each: sample(self.metrics, "restow_cycles_total", result=each) for each in results}
        return {each: count for each, count in counts.items() if count}

    def predicted(self, result: str) -> float | None:
        return sample(self.metrics, "restow_predictions_total", result=result, certainty="certain")


@pytest.fixture(autouse=True)
def _without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time does not wait for threads: a deadline would pass before the answer."""

    async def at_once(compute: Callable[[], Any], _: float) -> Any:
        return compute()

    monkeypatch.setattr(module, "off_loop", at_once)


@dataclass
class Decided:
    """What every decision was told and came to."""

    spent: list[tuple[Spent, ...]] = field(default_factory=list)
    given_up: list[frozenset[str]] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Decided:
    """All decisions; each takes no time, so that the rest of a plan that went astray is left at once."""
    seen = Decided()

    def watched(cluster: Any, by: Rules, before: Any, now: int, **steering: Any) -> Decision:
        decision = decide(cluster, by, before, now, **steering)
        seen.spent.append(before.spent)
        seen.given_up.append(before.given_up)
        seen.moves.append(len(decision.tasks))
        return replace(decision, seconds=0.0)

    monkeypatch.setattr(module, "decide", watched)
    return seen


def another_candidate_once() -> Callable[[Task], str]:
    """The first replacement lands on a candidate that the plan does not count on."""
    landed: list[str] = []

    def land(task: Task) -> str:
        others = [node for node in task.move.candidates if node != task.move.target]
        landed.append(others[0] if others and not landed else str(task.move.target))
        return landed[-1]

    return land


def test_a_plan_is_carried_out_and_told(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), *crowd("api"))).perform(rules())
    assert Counter(run.town.nodes_of_pods().values()) == {"n0": 2, "n1": 2, "n2": 2}
    assert decided.moves == [4]
    assert run.ended() == {"done": 1}
    assert run.predicted("hit") == 4
    assert run.heard.of("Number of evictions/requests") == [{"v": 1, "totalEvicted": 4, "evictionRequests": 0}]
    assert [each.reason for each in run.recorded.occurrences] == ["RemoveDuplicates"] * 4 + ["PodsEvicted"]
    assert sample(run.metrics, "restow_cycle_phase_duration_seconds_count", phase="execute") == 1


def test_a_second_cycle_finds_nothing_to_do() -> None:
    run = Run(a_town(*crowd("web"))).perform(rules(), times=2)
    assert len(run.asked) == 2
    assert run.ended() == {"done": 2}


def test_after_a_landing_on_another_candidate_the_rest_is_decided_anew(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())).perform(rules())
    assert len(decided.moves) > 1
    assert len(run.asked) == len(set(run.asked)) == 4
    assert run.predicted("miss") == 0
    assert run.predicted("hit") == 4
    assert run.ended() == {"done": 1}
    assert DROPPED not in run.heard.messages
    assert len(run.heard.of("Number of evictions/requests")) == 1


@pytest.mark.parametrize(
    "limit", ["maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"]
)
def test_limits_count_on_over_all_plans_of_a_cycle(decided: Decided, limit: str) -> None:
    town = a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())
    run = Run(town).perform(rules(**{limit: 3}))
    assert len(decided.moves) > 1
    assert len(run.asked) == 3
    first = Spent("default", "n0", "P", "RemoveDuplicates")
    assert decided.spent[:2] == [(), (first,)]
    run.perform(rules(**{limit: 3}))
    assert len(run.asked) == 4


def test_a_pod_that_was_given_up_is_not_asked_for_again_in_the_same_cycle(decided: Decided) -> None:
    refused = eviction.Failed("odd", 400)
    run = Run(a_town(*crowd("web"), *crowd("api"), answers={"api-1": refused})).perform(rules())
    assert run.asked.count("api-1") == 1
    assert run.asked[0] == "api-1"
    assert decided.given_up[-1] == {uid_of("Pod", "default", "api-1")}
    assert run.heard.of("Error evicting pod")[0]["err"] == "odd"
    # The others go, and none of them counts on it.
    assert len(run.asked) > 2
    assert run.predicted("miss") == 0
    assert run.predicted("void") == 0


def test_a_workload_that_is_left_alone_takes_nobody_else_with_it(decided: Decided) -> None:
    """The plan is made without it, and says so once."""
    town, memory = a_town(*crowd("web"), *crowd("api")), Memory()
    api = replace(a_task("api-1", "api"), workload=uid_of("ReplicaSet", "default", "api"))
    memory.disappoint(api, 0.0, "new-1 came back to n0")
    run = Run(town, memory=memory).perform(rules())
    assert sorted(run.asked) == ["web-1", "web-2"]
    assert (run.predicted("hit"), run.predicted("miss"), run.predicted("void")) == (2, 0, 0)
    assert DROPPED not in run.heard.messages
    assert len(decided.moves) == 1
    assert [each["pods"] for each in run.heard.of("Backing off from workload")] == [2]
    assert sample(run.metrics, "restow_loops_suppressed_total", cause="back-off") == 2
    assert sample(run.metrics, "restow_backed_off_workloads") == 1


def test_a_budget_that_has_room_again_is_used_in_the_same_cycle(decided: Decided) -> None:
    """The budget lets one pod go at a time, and is as before when the replacement is ready."""
    town = a_town(
        *crowd("web", labels={"app": "web"}),
        a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1),
    )
    run = Run(town).perform(rules())
    assert run.asked == ["web-1", "web-2"]
    assert decided.moves[:2] == [1, 1]
    assert run.ended() == {"done": 1}


def test_in_upstream_placement_nothing_leads_astray(decided: Decided) -> None:
    town = a_town(*crowd("web"), *crowd("api"), land=lambda _: "n1", answers={"api-1": eviction.Failed("odd", 400)})
    run = Run(town).perform(rules("upstream"))
    assert decided.moves == [4]
    assert len(run.asked) == 4


def test_a_pod_that_was_given_up_makes_room_under_a_limit(decided: Decided) -> None:
    """Only evictions count; the pod is not asked for again, and others go in its place."""
    town = a_town(*crowd("web"), *crowd("api"), answers={"api-1": eviction.Failed("odd", 400)})
    run = Run(town).perform(rules("upstream", maxNoOfPodsToEvictTotal=2))
    assert run.asked.count("api-1") == 1
    assert len(run.asked) == 3
    assert len(run.heard.of("Evicted pod")) == 2


def test_stop_ends_the_cycle_after_what_was_asked_for(decided: Decided) -> None:
    town = a_town(*crowd("web"), *crowd("api"))
    run = Run(town)
    town.on_ask = lambda _: run.cycles.stop("restow is stopping")
    run.perform(rules())
    assert len(run.asked) == 1
    assert len(run.heard.of("Evicted pod")) == 1
    assert run.heard.of("Replacement was not waited for")[0]["message"] == "restow is stopping"
    assert {each["code"] for each in run.heard.of(DROPPED)} == {"Stopped"}
    assert len(decided.moves) == 1
    run.perform(rules())
    assert len(run.asked) == 1
    assert len(decided.moves) == 1


def test_a_stop_does_not_wait_for_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, never = threading.Event(), threading.Event()

    def endless(*_: object, **__: object) -> None:
        begun.set()
        never.wait()

    monkeypatch.setattr(module, "decide", endless)
    monkeypatch.setattr(module, "off_loop", off_loop)
    run = Run(a_town(*crowd("web")))

    async def stopped() -> None:
        performing = asyncio.ensure_future(run.cycles.perform(rules()))
        await asyncio.sleep(0.1)
        assert begun.wait(10)
        run.cycles.stop("restow is stopping")
        await asyncio.wait_for(performing, 1)

    virtually(stopped())
    never.set()
    assert run.ended() == {}
    assert "Number of evictions/requests" not in run.heard.messages


@dataclass
class Waited(Town):
    """A cluster that never shows what is waited for."""

    on_wait: Callable[[], object] = lambda: None

    async def wait_ready(self, deadline: float) -> bool:
        return await self._never(deadline)

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        return await self._never(deadline)

    async def _never(self, deadline: float) -> bool:
        self.on_wait()
        await asyncio.sleep(deadline - asyncio.get_running_loop().time())
        return False


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"metricsProviders": [{"source": "KubernetesMetrics"}]}, id="metrics to come in"),
        pytest.param({}, id="what was evicted to be seen"),
    ],
)
def test_a_stop_does_not_wait_for(policy: Any) -> None:
    made = [a_node(f"n{number}", cpu="4", pods="110", labels={HOSTNAME: f"n{number}"}) for number in range(3)]
    town = Waited()
    run = Run(town.put(*made, *TOLD, *crowd("web", 2)))
    waits: list[float] = []

    async def stopped() -> float:
        loop = asyncio.get_running_loop()
        town.on_wait = lambda: (waits.append(loop.time()), loop.call_later(1.0, run.cycles.stop, "restow is stopping"))
        await run.cycles.perform(rules(**policy))
        return loop.time()

    ended = virtually(stopped())
    assert [ended - wait for wait in waits] == pytest.approx([1.0])


async def stuck_after(run: Run, by: Rules, seconds: float) -> list[str]:
    """What the watchdog finds while a cycle is performed, for so many seconds at most; looked for each second."""
    found: list[str] = []
    performing = asyncio.ensure_future(run.cycles.perform(by))
    while not performing.done() and asyncio.get_running_loop().time() < seconds:
        await asyncio.sleep(1)
        why = run.cycles.watchdog.stuck()
        found += [why] if why and why not in found else []
    performing.cancel()
    await asyncio.wait((performing,))
    assert run.cycles.watchdog.stuck() == ""
    return found


def test_a_long_cycle_is_not_taken_for_a_stuck_one(decided: Decided) -> None:
    """Each replacement takes the longest that the policy allows, one after the other."""
    slow = a_town(*crowd("web", 6))
    slow.ready_after = 299.0
    run = Run(slow)
    assert virtually(stuck_after(run, rules(), 1e6)) == []
    assert len(run.asked) >= 3


def test_a_plan_that_does_not_go_on_is_found_out(decided: Decided) -> None:
    class Hung(Town):
        async def evict(self, task: Task) -> eviction.Outcome:
            await asyncio.Event().wait()
            raise AssertionError

    made = [a_node(f"n{number}", cpu="4", pods="110", labels={HOSTNAME: f"n{number}"}) for number in range(3)]
    run = Run(Hung().put(*made, *TOLD, *crowd("web")))
    patience = {"waitForReady": "5m", "waitForBudget": "10m"}
    told = ["the cycle: no outcome of a move for 1800 s"]
    assert virtually(stuck_after(run, rules(restow=patience), 2_500)) == told


def test_a_decision_without_an_end_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody has ended the process because of it."""
    monkeypatch.setattr(module, "off_loop", lambda *_: asyncio.Event().wait())
    run = Run(a_town(*crowd("web")))
    assert virtually(stuck_after(run, rules(), 3_000)) == ["the cycle: no decision for 1900 s"]


def test_a_decision_without_an_end_fails_and_its_late_answer_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, decided = threading.Event(), threading.Event()

    def late(*given: Any, **steering: Any) -> Decision:
        asked.wait()
        try:
            return decide(*given)
        finally:
            decided.set()

    monkeypatch.setattr(module, "decide", late)
    monkeypatch.setattr(module, "off_loop", off_loop)
    run = Run(a_town(*crowd("web")))

    async def performed() -> None:
        with pytest.raises(EndlessError, match="a decision has not come to its end within 1800 s"):
            await run.cycles.perform(rules())
        assert asyncio.get_running_loop().time() == pytest.approx(1800.0)
        asked.set()
        assert decided.wait(10)
        await asyncio.sleep(3_600)

    virtually(performed())
    assert run.asked == []
    assert run.ended() == {"failed": 1}


def test_whoever_may_not_write_any_more_decides_no_more(decided: Decided) -> None:
    town = a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())
    run = Run(town, permit=lambda: 1.0 - len(town.asked)).perform(rules())
    assert len(run.asked) == 1
    assert len(decided.moves) == 1


def test_nothing_is_decided_on_a_cluster_of_which_nothing_was_heard(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), silent=181.0))
    with pytest.raises(TimeoutError, match="the API server has told nothing of nodes for 181 s; nothing is decided"):
        run.perform(rules())
    assert run.ended() == {"failed": 1}
    assert (run.asked, decided.moves) == ([], [])
    run.town.silent = 179.0
    assert run.perform(rules()).ended() == {"failed": 1, "done": 1}


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_where_namespaces_are_not_known_every_pod_stays(placement: Any) -> None:
    """Any of them may have opted out."""
    run = Run(a_town(*crowd("web"), *crowd("api"), hidden=frozenset({"Namespace"}))).perform(rules(placement))
    assert run.asked == []
    assert run.ended() == {"done": 1}
    assert sample(run.metrics, "restow_last_cycle_refusals", stage="evictor", code="Unknown") == 6
    run.town.hidden = frozenset()
    assert len(run.perform(rules(placement)).asked) == 4


@pytest.mark.parametrize(("placement", "evicted"), [("prove", 0), ("upstream", 4)])
def test_where_budgets_are_not_known_no_move_is_proven(placement: Any, evicted: int) -> None:
    """Without proofs the API server alone knows them, as with the Descheduler."""
    run = Run(a_town(*crowd("web"), *crowd("api"), hidden=frozenset({"PodDisruptionBudget"})))
    assert len(run.perform(rules(placement)).asked) == evicted


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_cycle_evicts_no_more_when_namespaces_are_lost_on_the_way(placement: Any) -> None:
    town = a_town(*crowd("web"), *crowd("api"))
    town.on_ask = lambda _: setattr(town, "hidden", frozenset({"Namespace"}))
    run = Run(town).perform(rules(placement))
    # Four workloads are asked for at a time; those requests were out.
    assert len(run.asked) <= 2
    assert len(run.heard.of("Evicted pod")) == len(run.asked)
    assert run.ended() == {"done": 1}
    told = len(run.asked)
    assert len(run.perform(rules(placement)).asked) == told


def test_a_cycle_fails_when_pods_are_lost_on_the_way() -> None:
    """What is left of its plan is not decided anew on what was before."""
    town = a_town(*crowd("web"), *crowd("api"))
    town.on_ask = lambda _: setattr(town, "silent", 200.0)
    run = Run(town)
    with pytest.raises(TimeoutError, match="the API server has told nothing of nodes for 200 s"):
        run.perform(rules())
    assert len(run.asked) == 1
    assert run.ended() == {"failed": 1}


def test_what_the_policy_names_and_is_not_there_fails_the_cycle() -> None:
    document = strategy_policy("RemoveDuplicates")
    threshold = {"name": "DefaultEvictor", "args": {"priorityThreshold": {"name": "nobody"}}}
    document["profiles"][0]["pluginConfig"].append(threshold)
    run = Run(a_town(*crowd("web")))
    with pytest.raises(InputError, match="nobody"):
        run.perform(Rules(load_policy(as_json(document), "policy.json", PLUGINS).policy))
    assert run.ended() == {"failed": 1}


@pytest.mark.parametrize("dry_run", [True, False])
def test_outside_its_windows_a_cycle_plans_evicts_nothing_and_says_so_once(dry_run: bool) -> None:
    shut = {"windows": [{"start": "0 0 29 2 *", "duration": "1s"}]}
    run = Run(a_town(*crowd("web"), *crowd("api")), dry_run).perform(rules(restow=shut))
    assert run.asked == []
    said = [each for each in run.heard.messages if "window" in each]
    assert len(said) == 1
    assert said[0].startswith("4 pods would be evicted, but no window of the policy is open; the next opens at ")
    assert run.heard.of("Number of evictions/requests")[0]["totalEvicted"] == 0
    assert not any("Evicted pod" in each for each in run.heard.messages)


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_dry_run_tells_the_same_again_and_again_and_writes_nothing(placement: Any) -> None:
    run = Run(a_town(*crowd("web"), *crowd("api")), dry_run=True).perform(rules(placement), times=3)
    assert run.asked == []
    told = [each["pod"]["name"] for each in run.heard.of("Evicted pod in dry run mode")]
    assert told == told[:4] * 3
    assert len(set(told)) == 4
    assert run.recorded.occurrences == []
    real = Run(a_town(*crowd("web"), *crowd("api"))).perform(rules(placement))
    assert sorted(real.asked) == sorted(set(told))


def test_fewer_than_two_nodes_are_a_skipped_cycle() -> None:
    run = Run(a_town(*crowd("web"), nodes=1)).perform(rules())
    assert run.ended() == {"skipped": 1}
    assert run.heard.of("Skipping descheduling cycle: requires >=2 nodes") == [{"v": 0, "found": 1}]
    assert "Number of evictions/requests" not in run.heard.messages


def test_usage_is_asked_for_from_the_cycle_on_whose_policy_wants_it() -> None:
    run = Run(a_town(*crowd("web"))).perform(rules())
    assert run.town.added == []
    run.perform(rules(metricsProviders=[{"source": "KubernetesMetrics"}]))
    assert run.town.added == ["NodeMetrics", "PodMetrics"]


class TestInBackground:
    """With the gate EvictionsInBackground, somebody else may move a pod that asks for it."""

    ASKS: ClassVar = {"descheduler.alpha.kubernetes.io/request-evict-only": ""}

    def test_a_request_counts_in_the_limits_of_later_cycles_too_and_is_not_made_again(self) -> None:
        town = a_town(*crowd("web", annotations=self.ASKS), answers={"web-1": EVACUATION})
        by = rules("upstream", maxNoOfPodsToEvictTotal=1)
        run = Run(town, in_background=True).perform(by)
        assert run.asked == ["web-1"]
        assert run.heard.of("Eviction in background assumed")[0]["pod"]["name"] == "web-1"
        assert run.heard.of("Number of evictions/requests") == [{"v": 1, "totalEvicted": 0, "evictionRequests": 1}]
        run.perform(by)
        assert run.asked == ["web-1"]
        assert [each["code"] for each in run.heard.of(DROPPED)] == ["Requested"]
        assert run.perform(rules("upstream", maxNoOfPodsToEvictTotal=2)).asked == ["web-1", "web-2"]

    def test_the_rest_of_a_proven_plan_is_decided_without_it(self, decided: Decided) -> None:
        town = a_town(*crowd("web", annotations=self.ASKS), *crowd("api"), answers={"api-1": EVACUATION})
        town.put(*crowd("api", annotations=self.ASKS))
        run = Run(town, in_background=True).perform(rules())
        assert run.asked.count("api-1") == 1
        assert len(decided.moves) > 1
        assert (run.predicted("miss"), run.predicted("void")) == (0, 0)

    @pytest.mark.parametrize(("gate", "asks"), [(False, ASKS), (True, {})])
    def test_without_gate_or_annotation_the_server_was_busy(self, gate: bool, asks: dict[str, str]) -> None:
        town = a_town(*crowd("web", annotations=asks), answers={"web-1": EVACUATION})
        run = Run(town, in_background=gate).perform(rules("upstream", maxNoOfPodsToEvictTotal=1))
        assert run.asked == ["web-1", "web-1"]
        assert run.heard.of("Number of evictions/requests") == [{"v": 1, "totalEvicted": 1, "evictionRequests": 0}]


@dataclass
class Refuses:
    """Steering that the cluster offers at the beginning of a cycle, and not any more when it comes to it."""

    #: For each cycle, whether it is offered.
    offers: list[bool]
    announced: list[str] = field(default_factory=list)

    async def now(self, _: Any) -> Refuses | None:
        return self if self.offers.pop(0) else None

    async def announce(self, task: Task) -> str:
        self.announced.append(task.move.pod.name)
        return "its replacement cannot be gated: the ConfigMap is gone"

    async def withdraw(self, task: Task) -> None:
        """Nothing was announced."""


def test_where_steering_fails_the_rest_of_the_cycle_does_without_and_the_next_asks_anew() -> None:
    """The pods are not given up: what is certain without steering is done in the same cycle."""
    run = Run(a_town(*crowd("web"), nodes=3))
    steering: Any = Refuses([True, True])
    run.cycles.offer = steering
    run.perform(rules(), 2)
    assert len(steering.announced) >= 1
    assert len(run.asked) == 2
    assert run.ended() == {"done": 2}


def test_what_is_not_offered_is_not_tried() -> None:
    run = Run(a_town(*crowd("web"), nodes=3))
    steering: Any = Refuses([False])
    run.cycles.offer = steering
    run.perform(rules())
    assert steering.announced == []
    assert len(run.asked) == 2
