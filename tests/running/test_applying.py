"""Plans applied to a small cluster in virtual time: what holds is moved, and nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from builders import HOSTNAME, NOW, Object, a_namespace, a_node, a_pod, ago
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduling.proven import TOLD
from executing.double import virtually
from restow.client import eviction
from restow.client.leadership import always
from restow.client.permitted_body import Permit
from restow.cluster.pods_now import PodNow
from restow.descheduling.deciding import decided
from restow.descheduling.plan import Fenced, Metadata
from restow.descheduling.planning import make_plan
from restow.descheduling.saved_plan import SavedPlan
from restow.descheduling.steering import Steering
from restow.errors import InputError
from restow.executing.ledger import AppliedMove
from restow.executing.outcomes import Evicted, Landed, Outcome, Settled
from restow.executing.task import Task
from restow.policies.load import load_policy
from restow.running import applying as module
from restow.running.applying import Application, Order, Promise
from restow.running.offering import UNSTEERED, Choice
from restow.scheduling.profiles import DEFAULT_PROFILE
from running.fences import Fences
from running.town import READY, Town


@pytest.fixture(autouse=True)
def _without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time does not wait for threads: a deadline would pass before the answer."""

    async def at_once(compute: Callable[[], Any], _: float) -> Any:
        return compute()

    monkeypatch.setattr(module, "off_loop", at_once)


def replicas(*apps: str, **features: Any) -> list[Object]:
    """Three ready replicas of each app, all on n0: RemoveDuplicates moves two of them, one to n1 and one to n2."""
    same: dict[str, Any] = {
        "created": ago(3600),
        "cpu": "100m",
        "node": "n0",
        "phase": "Running",
        "conditions": [READY],
    }
    return [
        a_pod(f"{app}-{at}", **(same | {"owner": ("ReplicaSet", app), "images": [f"{app}:1"]} | features))
        for app in apps
        for at in range(3)
    ]


def nodes(count: int = 3) -> list[Object]:
    return [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(count)]


def a_town(*apps: str, **features: Any) -> Town:
    return Town(**features).put(*nodes(), *TOLD, *replicas(*(apps or ("web",))))


@dataclass
class Steered:
    """Brings every replacement to its target, and keeps what was announced."""

    town: Town
    problem: str | None = None
    announced: list[str] = field(default_factory=list)

    async def announce(self, task: Task) -> str | None:
        self.announced.append(task.move.pod.name)
        return self.problem

    async def nominate(self, _task: Task, _pod: PodNow) -> None:
        """The town puts replacements on their targets anyway."""

    @property
    def choice(self) -> Choice:
        steering: Any = self
        return Choice("nominate", steering)

    async def withdraw(self, _task: Task) -> None:
        """Nothing is left."""


@dataclass
class Applied:
    """A plan that was made of a town, to be applied to it."""

    town: Town
    settings: dict[str, Any] = field(default_factory=dict)
    placement: Any = "prove"
    #: How the plan is made.
    planned: Steering = "none"
    #: Why the cluster does not offer steering.
    missing: str | None = "no steering here"
    choice: Choice = UNSTEERED
    permit: Permit = always
    outcomes: list[Outcome] = field(default_factory=list)
    on_outcome: Callable[[Outcome], None] = lambda _: None
    application: Application = field(init=False)

    def __post_init__(self) -> None:
        policy = load_policy(as_json(strategy_policy("RemoveDuplicates", restow=self.settings)), "p", PLUGINS).policy
        at, profiles = time.time_ns(), (DEFAULT_PROFILE,)
        cycle = decided(self.town.snapshot(), policy, self.placement, at, profiles, steering=self.planned)
        made = make_plan(cycle, at, self.placement)
        plan = SavedPlan(Metadata(NOW, self.placement, "0"), made.moves, {}, fence=made.fence)
        town: Any = self.town

        async def not_offered() -> str | None:
            return self.missing

        @asynccontextmanager
        async def steering(_: Permit) -> AsyncIterator[Any]:
            yield self.choice

        self.application = Application(
            order=Order("plan.json", plan, policy, profiles),
            live=town,
            evictions=lambda _: town,
            not_offered=not_offered,
            steering=steering,
            clock=time.time,
        )

    def promise(self) -> Promise:
        return virtually(self.application.promise())

    def carry_out(self) -> Applied:
        """Promise, and carry out."""

        async def both() -> None:
            await self.application.promise()
            await self.application.carry_out(self.permit, self.hear)

        virtually(both())
        return self

    def hear(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.on_outcome(outcome)

    @property
    def entries(self) -> tuple[AppliedMove, ...]:
        return self.application.ledger.entries

    def results(self, what: str = "result") -> dict[str, Any]:
        return {each.pod.name: getattr(each, what) for each in self.entries}


def test_a_plan_on_the_same_cluster_is_carried_out_as_it_is() -> None:
    applied = Applied(a_town("web", "db"))
    plan = applied.promise().plan
    assert [each.pod for each in plan.moves] == [each.pod for each in applied.application.order.plan.moves]
    applied.carry_out()
    assert applied.results() == dict.fromkeys(("db-1", "db-2", "web-1", "web-2"), "moved")
    assert applied.results("landed") == {each.pod.name: each.target for each in plan.moves}
    assert applied.application.ledger.kept
    assert applied.town.asked == [each.pod.name for each in plan.moves]


def test_the_promise_alone_evicts_nothing() -> None:
    applied = Applied(a_town())
    assert len(applied.promise().plan.moves) == 2
    assert applied.town.asked == []
    assert applied.results() == {"web-1": "promised", "web-2": "promised"}


def test_what_is_refused_is_not_evicted() -> None:
    applied = Applied(a_town("web", "db"))
    applied.town.put(a_namespace("default", annotations={"restow.dev/eviction": "disabled"}))
    assert applied.promise().plan.moves == ()
    applied.carry_out()
    assert set(applied.results("code").values()) == {"NamespaceOptedOut"}
    assert applied.town.asked == []
    assert applied.application.ledger.kept


def test_a_pod_of_the_same_name_is_not_the_pod_of_the_plan() -> None:
    applied = Applied(a_town())
    other = next(each for each in replicas("web") if each["metadata"]["name"] == "web-2")
    other["metadata"]["uid"] = "another"
    applied.town.put(other)
    applied.carry_out()
    assert applied.results() == {"web-1": "moved", "web-2": "refused"}
    assert applied.results("message")["web-2"] == "it is already gone, and another pod has its name"
    assert applied.town.asked == ["web-1"]


def test_while_no_window_is_open_everything_is_refused() -> None:
    month = (datetime.now(UTC).month + 5) % 12 + 1
    applied = Applied(a_town(), {"windows": [{"start": f"0 0 1 {month} *", "duration": "1h"}]})
    applied.carry_out()
    assert set(applied.results("code").values()) == {"Window"}
    assert applied.town.asked == []


def test_what_is_not_known_refuses_everything() -> None:
    applied = Applied(a_town())
    applied.town.hidden = frozenset({"Namespace"})
    applied.carry_out()
    assert set(applied.results("code").values()) == {"Unknown"}
    assert applied.town.asked == []


def test_a_cordoned_target_is_named() -> None:
    applied = Applied(a_town())
    for node in ("n1", "n2"):
        applied.town.put(a_node(node, cpu="4", pods="110", labels={HOSTNAME: node}, unschedulable=True))
    first, second = applied.promise().refused
    assert (first.code, second.code) == ("Stale", "Stale")
    assert first.message == "n1, n2, where it would land, no longer accept pods"


def test_what_changes_between_the_promise_and_the_eviction_is_dropped() -> None:
    """Somebody opts out while the first pod is moved: the promise was not kept."""
    applied = Applied(a_town("web", "db"))
    opted_out = a_namespace("default", annotations={"restow.dev/eviction": "disabled"})
    applied.on_outcome = lambda outcome: applied.town.put(opted_out) if isinstance(outcome, Evicted) else None  # type: ignore[assignment, func-returns-value]
    applied.carry_out()
    assert sorted(applied.results().values()) == ["dropped", "dropped", "dropped", "moved"]
    assert {"OptedOut", "NamespaceOptedOut"} >= set(applied.results("code").values()) - {""}
    assert len(applied.town.asked) == 1
    assert not applied.application.ledger.kept


def test_after_a_landing_elsewhere_the_rest_is_decided_anew_and_made_where_it_holds() -> None:
    """db-1 comes to db-2's place: db-2 would now land on the other node, which the plan has for neither of them alone."""
    applied = Applied(a_town("db", "web"))
    first = applied.application.order.plan.moves[0]
    applied.town.land = lambda task: "n0" if task.move.pod == first.pod else str(task.move.target)
    applied.carry_out()
    assert applied.results("as_planned")[first.pod.name] is False
    others = {name: told for name, told in applied.results().items() if name != first.pod.name}
    assert others["web-1"] == others["web-2"] == "moved"
    assert set(applied.town.asked) <= {each.pod.name for each in applied.entries}
    assert not applied.application.ledger.kept
    assert applied.application.ledger.open == ()


def test_an_interrupt_begins_nothing_more_and_follows_what_was_evicted() -> None:
    applied = Applied(a_town("web", "db"))
    applied.on_outcome = lambda outcome: applied.application.interrupt() if isinstance(outcome, Evicted) else None  # type: ignore[assignment, func-returns-value]
    applied.carry_out()
    assert sorted(applied.results().values()) == ["dropped", "dropped", "dropped", "moved"]
    assert set(applied.results("message").values()) == {"", "restow apply was interrupted"}
    assert len(applied.town.asked) == 1
    assert any(isinstance(each, Settled) for each in applied.outcomes)


def test_a_stop_does_not_wait_for_replacements() -> None:
    applied = Applied(a_town(ready_after=100.0))
    applied.on_outcome = lambda outcome: applied.application.stop() if isinstance(outcome, Landed) else None  # type: ignore[assignment, func-returns-value]
    applied.carry_out()
    assert applied.results() == {"web-1": "evicted", "web-2": "dropped"}
    assert applied.results("code") == {"web-1": "Unverified", "web-2": "Stopped"}


def test_an_interrupt_before_the_first_eviction_evicts_nothing() -> None:
    applied = Applied(a_town())
    applied.application.interrupt()
    applied.carry_out()
    assert applied.results() == {"web-1": "dropped", "web-2": "dropped"}
    assert applied.town.asked == []


def test_without_permission_nothing_is_evicted() -> None:
    applied = Applied(a_town(), permit=lambda: 0.0)
    applied.carry_out()
    assert applied.results("message") == dict.fromkeys(("web-1", "web-2"), "leadership has ended")
    assert applied.town.asked == []


def test_replacements_are_steered_where_the_cluster_offers_it() -> None:
    town = a_town()
    steers = Steered(town)
    applied = Applied(town, planned="nominate", missing=None, choice=steers.choice)
    assert applied.promise().unsteered is None
    assert applied.results("steering") == {"web-1": "nominate", "web-2": "nominate"}
    applied.carry_out()
    assert sorted(steers.announced) == ["web-1", "web-2"]
    assert applied.application.ledger.kept


def test_a_plan_without_steering_is_steered_too() -> None:
    town = a_town()
    applied = Applied(town, missing=None, choice=Steered(town).choice).carry_out()
    assert applied.results("steering") == {"web-1": "nominate", "web-2": "nominate"}


def test_a_policy_that_wants_none_is_not_steered() -> None:
    town = a_town()
    applied = Applied(town, {"steering": "none"}, missing=None)
    assert applied.promise().unsteered is None
    assert applied.results("steering") == {"web-1": None, "web-2": None}


def test_where_it_is_not_offered_the_promise_says_why_and_only_what_lands_by_itself_is_made() -> None:
    applied = Applied(a_town(), planned="nominate", missing="no steering here")
    promise = applied.promise()
    assert promise.unsteered == "no steering here"
    assert all(each.steering is None for each in promise.plan.moves)


def test_a_replacement_that_cannot_be_gated_after_all_is_tried_once_more_without() -> None:
    town = a_town()
    steers = Steered(town, problem="its replacement cannot be gated: no")
    applied = Applied(town, missing=None, choice=steers.choice).carry_out()
    assert len(steers.announced) == 1
    assert applied.application.ledger.open == ()
    assert set(applied.results("steering").values()) <= {None, "nominate"}
    assert applied.results()["web-1"] in ("moved", "dropped")


def test_an_upstream_plan_is_carried_out_as_one() -> None:
    applied = Applied(a_town(), placement="upstream")
    assert all(each.target is None for each in applied.promise().plan.moves)
    applied.town.land = lambda _: "n2"
    applied.carry_out()
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}


def test_what_the_api_server_refuses_is_dropped() -> None:
    applied = Applied(a_town())
    applied.town.answers["web-1"] = eviction.Denied("it is forbidden")
    applied.carry_out()
    assert applied.results()["web-1"] == "dropped"
    assert applied.results("message")["web-1"] == "it is forbidden"


def test_what_only_the_cluster_shows_to_be_wrong_in_the_policy_names_the_plan() -> None:
    applied = Applied(a_town())
    evictor = {"priorityThreshold": {"name": "none-such"}}
    document = strategy_policy("RemoveDuplicates")
    document["profiles"][0]["pluginConfig"].append({"name": "DefaultEvictor", "args": evictor})
    order = applied.application.order
    policy = load_policy(as_json(document), "p", PLUGINS).policy
    applied.application.order = Order(order.name, order.plan, policy, order.profiles)
    with pytest.raises(InputError, match=r"plan.json: policy: .*none-such"):
        applied.promise()


def test_an_empty_plan_promises_nothing() -> None:
    applied = Applied(Town().put(*nodes(), *TOLD)).carry_out()
    assert applied.entries == ()
    assert applied.application.ledger.kept


def behind_a_fence(town: Town, **features: Any) -> tuple[Applied, Fences]:
    fences = Fences(town.asked, **features)
    return Applied(town, {"steering": "fence"}, planned="fence", missing=None, choice=fences.choice()), fences


def test_a_plan_that_counts_on_a_fence_is_carried_out_behind_it() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    promise = applied.promise()
    assert promise.plan.fence == Fenced(("n0",), "NoSchedule")
    assert promise.notes[0].startswith(
        "The plan counts on a fence: 1 of 3 nodes carry the taint restow.dev/fence:NoSch"
    )
    assert fences.done == []
    applied.carry_out()
    assert fences.done[0] == ("n0 NoSchedule", 0)
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}


def test_a_node_of_the_fence_that_is_gone_is_not_fenced() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    fence = Fenced(("n0", "n9"), "NoSchedule")
    order = applied.application.order
    applied.application.order = replace(order, plan=structs.replace(order.plan, fence=fence))
    applied.carry_out()
    assert fences.done[0] == ("n0 NoSchedule", 0)


def test_where_nodes_may_not_be_fenced_the_promise_says_why_and_is_made_without() -> None:
    applied = Applied(a_town(), {"steering": "fence"}, planned="fence", missing="no rights here")
    promise = applied.promise()
    assert (promise.unsteered, promise.plan.fence, promise.notes) == ("no rights here", None, ())


def test_where_the_fence_cannot_be_set_after_all_only_what_lands_by_itself_is_made() -> None:
    applied, fences = behind_a_fence(a_town("web"), problem="n0 cannot be fenced: no")
    applied.carry_out()
    assert fences.done == [("n0 NoSchedule", 0), ("lift", 0)]
    assert applied.application.ledger.open == ()
    assert "moved" in applied.results().values()


def test_a_fence_that_somebody_takes_away_is_set_again_for_what_is_left() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    broken = iter([False])

    def breaks(_: Task) -> None:
        fences.is_whole = next(broken, True)

    applied.town.on_ask = breaks
    applied.carry_out()
    assert [what for what, _ in fences.done] == ["n0 NoSchedule"] * 2
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}


def test_a_stop_lifts_the_fence_at_once() -> None:
    applied, fences = behind_a_fence(a_town("web", ready_after=100.0))
    applied.on_outcome = lambda outcome: applied.application.stop() if isinstance(outcome, Landed) else None  # type: ignore[assignment, func-returns-value]
    applied.carry_out()
    assert ("stop", 1) in fences.done


def test_after_an_interrupt_while_nodes_are_fenced_nothing_is_evicted() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    fences.on_set = applied.application.interrupt
    applied.carry_out()
    assert applied.results() == {"web-1": "dropped", "web-2": "dropped"}
    assert applied.town.asked == []


def test_behind_a_fence_the_next_replacement_may_land_where_the_plan_had_the_one_before() -> None:
    """The first one lands on another of its candidates, which the plan has for the second one."""
    applied, _ = behind_a_fence(a_town("web"))
    first, second = applied.application.order.plan.moves
    assert (set(first.candidates), second.candidates) == ({"n1", "n2"}, tuple({"n1", "n2"} - {first.target}))
    applied.town.land = lambda task: str(second.target if task.move.pod == first.pod else first.target)
    applied.carry_out()
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}
    assert applied.application.ledger.kept
