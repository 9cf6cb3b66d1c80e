"""Whole cycles on a small cluster: what is decided, carried out and told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from msgspec import structs

from builders import a_pdb
from builders.metadata import uid_of
from descheduler.cycling import DROPPED, Decided, Run, a_town, another_candidate_once, crowd, rules
from descheduler.hearing import sample
from executing.double import a_task
from restow.client import eviction
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduler.offering import Choice
from restow.descheduling.limits import PriorEviction
from restow.executing.history import EvictionHistory
from restow.executing.task import Task
from restow.policies.policy import Policy

pytestmark = pytest.mark.usefixtures("without_threads")
EVACUATION = eviction.Busy('admission webhook "x" denied the request: Eviction triggered evacuation of VMI', None)


def test_a_plan_is_carried_out_and_told(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), *crowd("api"))).perform(rules())
    assert Counter(run.town.nodes_of_pods().values()) == {"n0": 2, "n1": 2, "n2": 2}
    assert decided.moves == [4]
    assert run.ended() == {"done": 1}
    assert run.predicted("hit") == 4
    assert run.heard.of("Number of evictions/requests") == [{"v": 1, "totalEvicted": 4, "evictionRequests": 0}]
    assert [each.reason for each in run.recorded.occurrences] == ["RemoveDuplicates"] * 4 + ["PodsEvicted"]
    assert sample(run.metrics, "restow_cycle_phase_duration_seconds_count", phase="execute") == 1


def test_usage_is_asked_for_once_a_cycle_however_often_it_is_decided(decided: Decided) -> None:
    asked: list[Policy] = []

    async def source(policy: Policy) -> dict[UsageQuery, QueryResult]:
        asked.append(policy)
        return {}

    town = a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())
    run = Run(town, usage=source).perform(rules(), times=2)
    assert len(decided.moves) > 2
    assert asked == [rules().policy] * 2
    assert run.ended() == {"done": 2}


def test_the_scheduler_is_of_the_version_that_the_policy_says_or_else_of_the_api_servers(decided: Decided) -> None:
    Run(a_town(server_minor=37)).perform(rules()).perform(rules(restow={"schedulerVersion": "1.35"}))
    assert decided.minors == [37, 35]


def test_a_second_cycle_finds_nothing_to_do() -> None:
    run = Run(a_town(*crowd("web"))).perform(rules(), times=2)
    assert len(run.asked) == 2
    assert run.ended() == {"done": 2}


def test_after_a_landing_on_another_candidate_the_rest_is_repaired_and_a_whole_plan_follows(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())).perform(rules())
    rest = {uid_of("Pod", "default", name) for name in run.asked[1:]}
    assert decided.may_move == [None, rest, None]
    assert decided.moves == [4, 3, 0]
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
    first = PriorEviction("default", "n0", "P", "RemoveDuplicates")
    assert decided.prior_evictions[:2] == [(), (first,)]
    run.perform(rules(**{limit: 3}))
    assert len(run.asked) == 4


def test_a_pod_that_was_given_up_is_not_asked_for_again_in_the_same_cycle(decided: Decided) -> None:
    refused = eviction.EvictionFailed("odd", 400)
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
    town, memory = a_town(*crowd("web"), *crowd("api")), EvictionHistory()
    api = structs.replace(a_task("api-1", "api"), workload=uid_of("ReplicaSet", "default", "api"))
    memory.note_failed_prediction(api, 0.0, "new-1 came back to n0")
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
    town = a_town(
        *crowd("web"), *crowd("api"), land=lambda _: "n1", answers={"api-1": eviction.EvictionFailed("odd", 400)}
    )
    run = Run(town).perform(rules("upstream"))
    assert decided.moves == [4]
    assert len(run.asked) == 4


def test_a_pod_that_was_given_up_makes_room_under_a_limit(decided: Decided) -> None:
    """Only evictions count; the pod is not asked for again, and others go in its place."""
    town = a_town(*crowd("web"), *crowd("api"), answers={"api-1": eviction.EvictionFailed("odd", 400)})
    run = Run(town).perform(rules("upstream", maxNoOfPodsToEvictTotal=2))
    assert run.asked.count("api-1") == 1
    assert len(run.asked) == 3
    assert len(run.heard.of("Evicted pod")) == 2


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
    assert run.heard.of("Dry run: 4 pods would be evicted") == [{"v": 0}] * 3
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


def test_samples_of_usage_are_kept_while_the_policy_asks_for_a_percentile_of_metrics() -> None:
    run = Run(a_town(*crowd("web")))
    source = {"metricsProviders": [{"source": "KubernetesMetrics"}]}
    percentile = {"restow": {"usage": {"percentile": 95, "window": "2h"}}}
    run.perform(rules(**source, **percentile))
    assert run.town.kept_usage == (0, 0), "no strategy goes by it"
    by_usage = {"strategy": "Rebalance", "args": {"usage": "measured"}} | source
    run.perform(rules(**by_usage, **percentile))
    assert run.town.kept_usage == (7200, 120)
    run.perform(rules(**by_usage))
    assert run.town.kept_usage == (0, 0)


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

    async def now(self, _: Any) -> Choice:
        steering: Any = self
        return Choice("nominate", steering) if self.offers.pop(0) else Choice("none")

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


def test_a_cycle_goes_on_from_the_search_of_the_one_before(decided: Decided) -> None:
    """Also where that one has made all its moves."""
    Run(a_town(*crowd("web"))).perform(rules("prove", strategy="Rebalance"), times=3)
    assert decided.plans == [{}, {"Rebalance": 1}, {"Rebalance": 2}]
