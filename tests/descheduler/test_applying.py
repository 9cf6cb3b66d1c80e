"""Plans applied to a small cluster in virtual time: what holds is moved, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from builders import HOSTNAME, a_namespace, a_node
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduler.applied import Applied, Steered, a_town, nodes, replicas
from descheduler.town import Town
from proving.proven import TOLD
from restow.client import eviction
from restow.descheduler.applying import Order
from restow.errors import InputError
from restow.executing.task import Evicted, Landed, Settled
from restow.policies.load import load_policy

pytestmark = pytest.mark.usefixtures("without_threads")


def test_a_plan_on_the_same_cluster_is_carried_out_as_it_is() -> None:
    applied = Applied(a_town("web", "db"))
    plan = applied.promise().plan
    assert [each.pod for each in plan.moves] == [each.pod for each in applied.application.order.plan.moves]
    applied.carry_out()
    assert applied.results() == dict.fromkeys(("db-1", "db-2", "web-1", "web-2"), "moved")
    assert applied.results("landed") == {each.pod.name: each.target for each in plan.moves}
    assert set(applied.results("landing").values()) == {"target"}
    assert applied.application.ledger.kept
    assert applied.town.asked == [each.pod.name for each in plan.moves]


def test_what_lands_on_another_good_node_is_moved_as_planned_and_not_on_target() -> None:
    applied = Applied(a_town())
    first, second = applied.application.order.plan.moves
    (other,) = set(first.candidates) - {first.target}
    assert other not in first.in_vain
    applied.town.land = lambda task: other if task.move.pod == first.pod else str(task.move.target)
    applied.carry_out()
    assert applied.results("landed")[first.pod.name] == other
    assert applied.results("landing")[first.pod.name] == "other"
    assert applied.results("as_planned")[first.pod.name] is True
    assert applied.results()[second.pod.name] in ("moved", "dropped")


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
