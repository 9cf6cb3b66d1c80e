"""What is supposed is planned as if a dump had been edited by hand: the same pods move to the same nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import DS, HOSTNAME, NOW, Object, a_list, a_node, a_pod, a_replica_set
from builders.policies import as_yaml, strategy_policy
from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.files import NamedText
from restow.application.planning import Planned, PlanRequest, make
from restow.application.supposing import SupposedPlan, Supposition, suppose
from restow.errors import InputError
from restow.reporting.html.what_if import described

DEMO = Path(__file__).parents[2] / "examples" / "clusters" / "demo.json"
OWNER = ("ReplicaSet", "web")


def request(file: Path) -> PlanRequest:
    return PlanRequest(ClusterSource((str(file),)), now=NOW)


def supposed(file: Path, supposition: Supposition) -> SupposedPlan:
    asked = request(file)
    return suppose(asked, make(asked, Collected()), supposition, Collected())


def moves(planned: Planned) -> list[tuple[str, str, str | None]]:
    return [(str(each.pod), each.source, each.target) for each in planned.plan.moves]


def edited(tmp_path: Path, change: Callable[[list[Object]], list[Object]]) -> Planned:
    """The plan of the demo's cluster, edited by hand."""
    objects = json.loads(DEMO.read_text())["items"]
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(a_list(*change(objects))))
    return make(request(file), Collected())


def node_named(objects: list[Object], name: str) -> Object:
    return next(each for each in objects if each["kind"] == "Node" and each["metadata"]["name"] == name)


def test_a_cordoned_node_is_one_with_the_mark_and_the_taint(tmp_path: Path) -> None:
    def cordon(objects: list[Object]) -> list[Object]:
        spec = node_named(objects, "general-c-7")["spec"]
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        spec |= {"unschedulable": True, "taints": [*spec.get("taints", []), taint]}
        return objects

    found = supposed(DEMO, Supposition(cordoned=("general-c-7",)))
    assert moves(found.planned) == moves(edited(tmp_path, cordon))
    assert found.supposed.difference.only_old
    assert (found.supposed.landings, found.supposed.lost) == ((), ())


def test_another_node_of_a_kind_has_the_pods_that_every_such_node_has(tmp_path: Path) -> None:
    def another(objects: list[Object]) -> list[Object]:
        old = node_named(objects, "general-c-1")
        name = "general-c-1-more-1"
        new = json.loads(json.dumps(old))
        new["metadata"] |= {"name": name, "uid": name}
        new["metadata"]["labels"][HOSTNAME] = name
        new["status"].pop("images", None)
        own = [each for each in objects if belongs(each, "general-c-1")]
        copies = json.loads(json.dumps(own).replace('"nodeName": "general-c-1"', f'"nodeName": "{name}"'))
        for each in copies:
            each["metadata"] |= dict.fromkeys(("name", "uid"), f"{each['metadata']['name']}-{name}")
        return [*objects, new, *copies]

    found = supposed(DEMO, Supposition(more={"general-c-1": 1}))
    plan = edited(tmp_path, another)
    assert moves(found.planned) == moves(plan)
    assert found.planned.plan.summary.pods == plan.plan.summary.pods
    assert "general-c-1-more-1" in {target for _, _, target in moves(plan)}


def belongs(pod: Object, node: str) -> bool:
    owners = pod["metadata"].get("ownerReferences", [])
    on_it = pod["kind"] == "Pod" and pod["spec"].get("nodeName") == node
    return on_it and any(each["kind"] in ("DaemonSet", "Node") for each in owners)


def test_a_node_that_is_gone_leaves_its_pods_where_they_were_foretold(tmp_path: Path) -> None:
    found = supposed(DEMO, Supposition(gone=("general-a-1",)))
    landed = {each.pod: each.target for each in found.supposed.landings}

    def without(objects: list[Object]) -> list[Object]:
        kept = []
        for each in objects:
            on_it = each["kind"] == "Pod" and each["spec"].get("nodeName") == "general-a-1"
            name = f"{each['metadata'].get('namespace')}/{each['metadata']['name']}"
            if on_it and landed.get(name):
                each["spec"]["nodeName"] = landed[name]
                each["metadata"]["creationTimestamp"] = NOW
                each["status"] = {"phase": "Running", "startTime": NOW}
            elif on_it or (each["kind"], each["metadata"]["name"]) == ("Node", "general-a-1"):
                continue
            kept.append(each)
        return kept

    assert len(landed) == 24
    assert all(landed.values())
    assert sorted(moves(found.planned)) == sorted(moves(edited(tmp_path, without)))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two nodes: the second has room for two of the three pods of the first."""
    objects = [
        a_node("n-1", cpu="8"),
        a_node("n-2", cpu="2"),
        a_replica_set("web", replicas=3),
        *(a_pod(f"web-{number}", node="n-1", cpu="900m", owner=OWNER, phase="Running") for number in range(3)),
        a_pod("alone", node="n-1", cpu="100m", phase="Running"),
        a_pod("agent", node="n-1", cpu="100m", owner=DS, phase="Running"),
    ]
    file = tmp_path / "small.json"
    file.write_text(json.dumps(a_list(*objects)))
    return file


def test_pods_without_room_stay_pending_and_those_without_a_controller_are_lost(small: Path) -> None:
    found = supposed(small, Supposition(gone=("n-1",))).supposed
    assert sorted(each.target for each in found.landings) == ["", "n-2", "n-2"]
    (pending,) = (each for each in found.landings if not each.target)
    assert pending.message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert [each.pod for each in found.lost] == ["default/alone"]
    told = described(found.landings, found.lost)
    assert told == "4 pods lose their node, 2 find another, 1 stay pending, 1 have no controller and are lost"


def test_nodes_that_come_make_room_for_those_of_nodes_that_go(small: Path) -> None:
    found = supposed(small, Supposition(gone=("n-1",), more={"n-2": 1})).supposed
    assert found.words == "node n-1 is gone, 1 more node like n-2"
    assert {each.target for each in found.landings} == {"n-2", "n-2-more-1"}


def test_a_pending_pod_is_counted_as_one(small: Path) -> None:
    found = supposed(small, Supposition(gone=("n-1",)))
    assert (found.planned.plan.summary.pending_pods, found.planned.plan.summary.nodes) == (1, 1)


def test_another_policy_is_planned_on_the_same_cluster() -> None:
    policy = NamedText("page", as_yaml(strategy_policy("RemoveFailedPods")))
    found = supposed(DEMO, Supposition(policy=policy))
    assert {each.plugin for each in found.planned.plan.moves} == {"RemoveFailedPods"}
    assert found.supposed.difference.old.moves > found.supposed.difference.new.moves
    assert found.supposed.words == "another policy"


@pytest.mark.parametrize(
    ("supposition", "problem"),
    [
        (Supposition(), "nothing is supposed"),
        (Supposition(gone=("n-3",)), "the input holds no node n-3; did you mean n-"),
        (Supposition(cordoned=("x",)), "the input holds no node x"),
        (Supposition(more={"n-1": 0}), "write a number from 1 to 1,000"),
        (Supposition(more={"n-1": 1001}), "write a number from 1 to 1,000"),
    ],
)
def test_what_cannot_be_supposed_is_refused_in_a_sentence(small: Path, supposition: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        supposed(small, supposition)


def test_the_cluster_that_is_known_stays_as_it_is(small: Path) -> None:
    asked = request(small)
    known = make(asked, Collected())
    before = [known.cluster.cluster.nodes.row(node) for node in range(2)], known.cluster.cluster.pods.node.tolist()
    suppose(asked, known, Supposition(gone=("n-1",), cordoned=("n-2",), more={"n-2": 3}), Collected())
    after = [known.cluster.cluster.nodes.row(node) for node in range(2)], known.cluster.cluster.pods.node.tolist()
    assert before == after
