"""One object that cannot be read is left out, named and counted, and nothing else is; what protects pods goes on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders import (
    Object,
    Owner,
    a_container,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_pv,
    a_pvc,
    node_metrics,
    pod_metrics,
)
from builders.devices import a_claim, a_claim_template, a_device, a_request, a_slice, exactly
from restow.cluster.amounts import amount
from restow.cluster.budgets import CoveringBudgets
from restow.cluster.left_out import UnreadableBudget, add_page, left_out_notes
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.descheduling.protections import namespace_checks
from restow.errors import InputError
from restow.kube.decoding import ObjectName, Unreadable
from restow.kube.objects import KINDS
from restow.kube.quantity import parse_quantity
from restow.proving.disruption_budgets import DisruptionBudgets

#: The largest amount, and the first that is too large.
LARGEST, BEYOND = str(2**63 - 1), "10E"


def a_quota(*, hard: str = "1", used: str = "1") -> Object:
    status = {"hard": {"memory": hard}, "used": {"memory": used}}
    return {"kind": "ResourceQuota", "metadata": {"name": "odd", "namespace": "default"}, "status": status}


def wire(thing: Object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[thing["kind"]])


def filled(*things: Object) -> ClusterStore:
    """An store that has taken one page of each kind."""
    store = ClusterStore()
    for kind in dict.fromkeys(each["kind"] for each in things):
        add_page(store, kind, [wire(each) for each in things if each["kind"] == kind])
    return store


def of(*things: Object) -> ClusterSnapshot:
    return filled(*things).snapshot()


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        pytest.param(a_pod("odd", memory=BEYOND), f"memory is more than {LARGEST}", id="pod"),
        pytest.param(a_pod("odd", cpu="9223372036854775.808"), f"cpu is more than {LARGEST}m", id="milli"),
        pytest.param(
            a_pod("odd", containers=[a_container(requests={"memory": "5Ei"}), a_container(requests={"memory": "5Ei"})]),
            f"memory is more than {LARGEST}",
            id="sum",
        ),
        pytest.param(a_pod("odd", requests={"example.com/a": BEYOND}), "example.com/a is more than", id="extended"),
        pytest.param(a_pod("odd", spec={"overhead": {"memory": BEYOND}}), "memory is more than", id="overhead"),
        pytest.param(a_node("odd", memory=BEYOND), "memory is more than", id="node"),
        pytest.param(a_pvc("odd", size=BEYOND), "spec.resources.requests: storage is more than", id="claim"),
        pytest.param(a_pv("odd", size=BEYOND), "spec.capacity: storage is more than", id="volume"),
        pytest.param(a_quota(hard=BEYOND), "status.hard: memory is more than", id="quota"),
        pytest.param(a_quota(used="many"), 'status.used: memory: "many"', id="use of a quota"),
        pytest.param(node_metrics("odd", cpu=BEYOND), "usage: cpu is more than", id="node usage"),
        pytest.param(pod_metrics("odd", cpu=BEYOND), "usage: cpu is more than", id="pod usage"),
        pytest.param(
            a_slice("odd", [a_device("d", None, {"memory": "much"})]), 'd: capacity: memory: "much"', id="device"
        ),
        pytest.param(
            a_slice(
                "odd", [a_device("d", None, {"m": {"value": "1", "requestPolicy": {"validRange": {"step": "x"}}}})]
            ),
            'd: capacity: m: "x"',
            id="policy of a capacity",
        ),
        pytest.param(
            a_slice("odd", None, sharedCounters=[{"name": "c", "counters": {"slots": {"value": "x"}}}]),
            'spec.sharedCounters: slots: "x"',
            id="counter",
        ),
        pytest.param(
            a_claim("odd", exactly(a_request("r", "c", capacity={"requests": {"memory": BEYOND}}))),
            "spec.devices.requests: r: memory is more than",
            id="claim of devices",
        ),
        pytest.param(
            a_claim_template("odd", exactly(a_request("r", "c", capacity={"requests": {"memory": "x"}}))),
            'spec.spec.devices.requests: r: memory: "x"',
            id="template of claims",
        ),
    ],
)
def test_an_amount_beyond_int64_leaves_its_object_out_and_no_other(thing: Object, said: str) -> None:
    others = [a_node("n1"), *(a_pod(f"p{at}", node="n1") for at in range(9)), a_pvc("c"), a_pv("v"), node_metrics("n1")]
    cluster, without = of(*others, thing), of(*others)
    counts = {**dict.fromkeys([thing["kind"]], 0), **without.counts()}
    assert cluster.counts() == counts
    ((key, why),) = cluster.left_out.items()
    assert key[0::2] == (thing["kind"], "odd")
    assert said in why
    assert why.startswith(f"{thing['kind']} ")


@pytest.mark.parametrize("amount", ["8Pi", "9Pi", "9007199254740993", "7Ei", LARGEST, "9Ei"])
def test_amounts_up_to_int64_are_kept_as_they_are(amount: str) -> None:
    """``9Ei`` is what the API server itself cuts to the largest int64."""
    cluster = of(a_node("n1", memory=amount), a_pod("p", memory=amount))
    assert not cluster.left_out
    asked = cluster.pods.tables.resources[0].requests["memory"]
    assert (
        asked
        == cluster.nodes.allocatable[1, 0]
        == {"8Pi": 2**53, "9Pi": 9 * 2**50, "7Ei": 7 * 2**60}.get(
            amount, int(amount) if amount.isdigit() else 2**63 - 1
        )
    )


def test_requests_of_the_pod_itself_hide_a_sum_of_containers_beyond_int64() -> None:
    pod = a_pod(
        "p",
        containers=[a_container(requests={"memory": "5Ei"}), a_container(requests={"memory": "5Ei"})],
        spec={"resources": {"requests": {"memory": "8Pi"}}},
    )
    resources = of(a_node("n1"), pod).pods.tables.resources[0]
    assert resources.requests["memory"] == 2**53
    assert resources.scored["memory"] == 2**63 - 1


def test_defaults_that_come_to_the_largest_amount_do_not_overflow() -> None:
    """A container without a request counts for 200Mi in scores, beside one that takes everything."""
    pod = a_pod("p", containers=[a_container(requests={"memory": LARGEST}), a_container(requests={})])
    resources = of(a_node("n1"), pod).pods.tables.resources[0]
    assert resources.requests["memory"] == resources.nonzero["memory"] == resources.scored["memory"] == 2**63 - 1


def test_pods_that_are_too_large_for_one_node_together_are_left_out_largest_first() -> None:
    pods = [a_pod(f"p{at}", node="n1", memory=memory) for at, memory in enumerate(["4Ei", "1Gi", "5Ei", "2Gi"])]
    cluster = of(a_node("n1"), a_node("n2"), *pods, a_pod("alone", node="n2", memory="7Ei"))
    assert cluster.pods.names == ["alone", "p0", "p1", "p3"]
    assert cluster.left_out == {
        ("Pod", "default", "p2"): "Pod default/p2: with the other pods of its node, memory is more than "
        f"{LARGEST}, the most that int64 holds"
    }


def test_a_pod_that_is_nominated_for_a_node_counts_there() -> None:
    waiting = a_pod("waiting", memory="5Ei", nominated_node="n1")
    cluster = of(a_node("n1"), a_pod("p", node="n1", memory="4Ei"), waiting)
    assert cluster.pods.names == ["p"]


def test_pods_that_have_ended_hold_nothing() -> None:
    pods = [a_pod(f"p{at}", node="n1", memory="5Ei", phase="Failed") for at in range(3)]
    assert len(of(a_node("n1"), *pods).pods) == 3


def test_an_object_that_becomes_readable_is_there_again() -> None:
    store = filled(a_node("n1"), a_pod("p", memory=BEYOND))
    add_page(store, "Pod", [wire(a_pod("p", memory="1Gi"))])
    assert store.snapshot().pods.names == ["p"]
    assert not store.left_out


def test_an_object_that_is_gone_is_not_left_out_any_more() -> None:
    store = filled(a_node("n1"), a_pod("p", memory=BEYOND))
    store.remove("Pod", "default", "p")
    assert not store.snapshot().left_out


def test_a_fresh_list_takes_the_place_of_what_was_left_out() -> None:
    store, fresh = filled(a_pod("old", memory=BEYOND)), filled(a_pod("new", memory=BEYOND))
    store.take_over("Pod", fresh)
    assert list(store.left_out) == [("Pod", "default", "new")]


@pytest.mark.parametrize("error", [ZeroDivisionError("odd"), RecursionError(), KeyError("x"), MemoryError()])
def test_whatever_goes_wrong_with_one_object_is_about_that_object(error: Exception) -> None:
    class Picky(ClusterStore):
        def add(self, kind: str, wire: Any) -> None:
            if any(each.metadata.name == "p7" for each in wire):
                raise error
            super().add(kind, wire)

    store = Picky()
    add_page(store, "Pod", [wire(a_pod(f"p{at}")) for at in range(20)])
    assert store.snapshot().pods.names == sorted(f"p{at}" for at in range(20) if at != 7)
    assert list(store.left_out) == [("Pod", "default", "p7")]


def test_what_the_api_server_would_have_refused_is_raised_where_that_is_asked_for() -> None:
    pods = [wire(a_pod("huge", memory=BEYOND)), wire(a_pod("wrong", cpu="much")), wire(a_pod("p"))]
    with pytest.raises(InputError, match=r"^Pod default/wrong: "):
        add_page(ClusterStore(), "Pod", pods, fatal=(InputError,))


def test_a_namespace_that_cannot_be_read_keeps_its_pods() -> None:
    store = filled(
        a_node("n1"), a_namespace("default"), a_namespace("other"), a_pod("p"), a_pod("q", namespace="other")
    )
    add_page(store, "Namespace", [Unreadable(ObjectName("default"), "metadata.labels: Expected `str`")])
    assert store.opt_out("default") not in {None, "enabled"}
    (check,) = namespace_checks("all", store.snapshot())
    assert check.fails.values.tolist() == [True, False]


def test_a_budget_that_cannot_be_read_lets_no_pod_of_its_namespace_go() -> None:
    store = filled(
        a_node("n1"), a_pod("p", node="n1"), a_pod("q", node="n1", namespace="other"), a_pdb("b", selector={})
    )
    add_page(store, "PodDisruptionBudget", [Unreadable(ObjectName("b", "default"), "status: Expected `object`")])
    cluster = store.snapshot()
    budgets = DisruptionBudgets.of(cluster, CoveringBudgets(cluster, LabelGroups(cluster.pods)))
    assert budgets.refusal(0) == (
        "DisruptionBudget",
        "default/b cannot be read, so it may cover the pod and allow no disruption",
    )
    assert budgets.refusal(1) is None
    assert not store.has_room("default/b")
    assert isinstance(cluster.kind("PodDisruptionBudget")["default", "b"], UnreadableBudget)


def test_a_job_that_cannot_be_read_keeps_its_pods() -> None:
    store = filled(a_node("n1"), a_pod("p", node="n1", owner=Owner("Job", "sums")))
    add_page(store, "Job", [Unreadable(ObjectName("sums", "default"), "spec.backoffLimit: Expected `int`")])
    cluster = store.snapshot()
    refusal = DisruptionBudgets.of(cluster, CoveringBudgets(cluster, LabelGroups(cluster.pods))).refusal(0)
    assert refusal is not None
    assert refusal[0] == "JobBackoffLimit"


def test_notes_name_the_first_objects_and_say_what_is_kept() -> None:
    store = ClusterStore()
    for at in range(8):
        store.leave_out("Namespace", "", f"n{at}", f"Namespace n{at}: odd")
    notes = left_out_notes(store.left_out)
    assert notes[0] == (
        "Namespace n0: odd; it is left out, and no pod of the namespace is evicted until it can be read"
    )
    assert notes[5:] == ("3 more objects cannot be read; they are left out",)
    assert left_out_notes({}) == ()


def test_a_message_names_an_amount_by_the_beginning_of_its_resource() -> None:
    with pytest.raises(ValueError, match=r"^K{200}… is -1, but an amount cannot be negative$"):
        amount("K" * 300, parse_quantity("-1"))
