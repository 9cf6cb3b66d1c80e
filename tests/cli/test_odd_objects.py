"""One object with an amount or a number that nobody has: every command goes on, on files as on a live cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Object, Owner, a_container, a_list, a_node, a_pod, node_affinity, node_term
from builders.policies import as_yaml, strategy_policy
from cli.conftest import TOLD

_DIGITS = "9" * 5_000
_HALF = [*(a_container(requests={"memory": "4Pi"}) for _ in range(2)), a_container()]
#: Pods that any tenant may create.
ODD = {
    "9Pi": a_pod("odd", memory="9Pi"),
    "the largest": a_pod("odd", memory=str(2**63 - 1), cpu=f"{2**63 - 1}m"),
    "beyond": a_pod("odd", memory="10E"),
    "digits": a_pod("odd", affinity=node_affinity(preferred=[(1, node_term(("size", "Gt", _DIGITS)))])),
    "pod level": a_pod("odd", containers=_HALF, spec={"resources": {"requests": {"memory": "8Pi"}}}),
    "on a node": a_pod("odd", node="n1", memory="9Pi"),
    "hundreds of resources": a_pod("odd", requests={f"example.com/{at}": "1" for at in range(300)}),
}


def crowd() -> list[Object]:
    """Four pods of one owner on one of two nodes: RemoveDuplicates moves two."""
    nodes = [a_node(name, labels={"size": "7"}) for name in ("n1", "n2")]
    owner = Owner("ReplicaSet", "web")
    pods = [a_pod(f"web-{at}", node="n1", owner=owner, images=["web"], memory="1Gi") for at in range(4)]
    return [*nodes, *pods, *TOLD]


@pytest.fixture
def ran(restow: Any, tmp_path: Any) -> Any:
    def ran(odd: Object, *arguments: str) -> Any:
        (tmp_path / "cluster.json").write_text(json.dumps(a_list(*crowd(), odd)))
        (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
        found = restow(arguments[0], "-f", "cluster.json", *arguments[1:])
        assert found.status == 0, found.err
        return found

    return ran


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_plan_moves_what_it_moves_without_the_pod(ran: Any, odd: Object) -> None:
    plan = json.loads(ran(odd, "plan", "--policy-config-file", "policy.yaml", "-o", "json").out)
    assert [each["pod"]["name"] for each in plan["moves"]] == ["web-2", "web-3"]
    assert not plan["problems"]


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "html"])
@pytest.mark.parametrize("odd", [ODD["the largest"], ODD["on a node"]], ids=["pending", "placed"])
def test_every_output_of_a_plan_has_room_for_the_largest_amounts(ran: Any, odd: Object, output: str) -> None:
    assert ran(odd, "plan", "--policy-config-file", "policy.yaml", "-o", output).out


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        pytest.param(ODD["9Pi"], "Insufficient memory", id="9Pi"),
        pytest.param(ODD["the largest"], "Insufficient cpu", id="largest"),
        pytest.param(ODD["hundreds of resources"], "Insufficient example.com/299", id="hundreds"),
    ],
)
def test_a_pod_that_no_node_can_hold_is_told_to_fit_nowhere(ran: Any, odd: Object, says: str) -> None:
    (pod,) = json.loads(ran(odd, "schedule", "-o", "json").out)["pods"]
    assert pod["node"] is None
    assert says in json.dumps(pod)


def test_a_preference_of_thousands_of_digits_keeps_only_its_pod_waiting(ran: Any) -> None:
    """kube-scheduler fails at scoring it."""
    (pod,) = json.loads(ran(ODD["digits"], "schedule", "-o", "json").out)["pods"]
    assert pod["node"] is None


@pytest.mark.parametrize(
    "command", [("plan", "--policy-config-file", "policy.yaml"), ("schedule",)], ids=["plan", "schedule"]
)
def test_a_pod_beyond_int64_is_left_out_and_named_on_stderr(ran: Any, command: tuple[str, ...]) -> None:
    assert (
        "Pod default/odd: memory is more than 9223372036854775807, the most that int64 holds; it is left out\n"
        in ran(ODD["beyond"], *command).err
    )


def test_a_snapshot_keeps_it_as_it_is(ran: Any, tmp_path: Any) -> None:
    ran(ODD["beyond"], "snapshot", "-o", "snapshot.json")
    assert '"memory":"10E"' in (tmp_path / "snapshot.json").read_text()


def test_a_pod_goes_to_a_node_without_a_name(restow: Any, tmp_path: Any) -> None:
    """No API server has one; a file may."""
    (tmp_path / "cluster.json").write_text(json.dumps(a_list(a_node(""), a_pod("p", cpu="1"))))
    found = restow("schedule", "-f", "cluster.json")
    assert (found.status, "default/p" in found.out) == (0, True)
