"""What another controller forbids after the plan was made is noticed just before each eviction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from executing.double import START, Double, a_pod, carry_out, endings, messages, tasks
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import ALWAYS, PodVetoes
from restow.executing.task import Dropped, Task
from restow.kube.duration import MINUTE, SECOND
from restow.kube.objects import OwnerReference, Taint
from restow.policies.codes import Certainty
from restow.policies.policy import VetoSettings

MACHINE = OwnerReference(kind="VirtualMachineInstance", name="vm", uid="web", controller=True)
CANDIDATE = Taint(key="DeletionCandidateOfClusterAutoscaler", effect="PreferNoSchedule")
VIRTUAL = {"type": "virtual-kubelet"}

ANNOTATED = {
    "do-not-disrupt": (
        PodVetoes(do_not_disrupt=ALWAYS),
        "karpenter",
        "its annotation karpenter.sh/do-not-disrupt forbids it",
    ),
    "not-safe": (
        PodVetoes(unsafe_to_evict=True),
        "cluster_autoscaler",
        'its annotation cluster-autoscaler.kubernetes.io/safe-to-evict: "false" forbids it',
    ),
    "volumes": (
        PodVetoes(unsafe_volumes=True),
        "cluster_autoscaler",
        "its annotation cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes does not name all of its local volumes",
    ),
    "in-progress": (
        PodVetoes(eviction_in_progress=True),
        "kube_virt",
        "its virtual machine is being migrated, or its eviction is already under way",
    ),
}


def proven(candidates: list[str] | None = None, *, certainty: Certainty | None = Certainty.CERTAIN) -> list[Task]:
    found = tasks("web", 1, candidates=candidates or ["b"])
    return [structs.replace(each, move=_certain(each, certainty)) for each in found]


def _certain(task: Task, certainty: Certainty | None) -> Any:
    return structs.replace(task.move, certainty=certainty)


def double_with(plan: list[Task], **changed: Any) -> Double:
    double = Double.of(plan)
    name = plan[0].move.pod.name
    double.pods[name] = replace(double.pods[name], **changed)
    return double


@pytest.mark.parametrize("case", ANNOTATED)
def test_annotation_that_came_after_the_plan_is_noticed(case: str) -> None:
    vetoes, switch, message = ANNOTATED[case]
    plan = proven()
    double = double_with(plan, vetoes=vetoes)
    told = carry_out(double, plan)
    assert ([each.code for each in told if isinstance(each, Dropped)], messages(told, Dropped)) == (
        ["Vetoed"],
        [message],
    )
    assert not double.asked
    settings = VetoSettings(**{switch: False})
    assert set(endings(carry_out(double_with(plan, vetoes=vetoes), plan, vetoes=settings)).values()) == {"Settled"}


def test_moves_that_are_not_proven_take_no_notice() -> None:
    plan = proven(certainty=None)
    double = double_with(plan, vetoes=PodVetoes(do_not_disrupt=ALWAYS))
    carry_out(double, plan)
    assert double.asked


@pytest.mark.parametrize(("age", "goes"), [(29, False), (31, True)])
def test_time_after_the_start_counts_by_the_clock(age: int, goes: bool) -> None:
    plan = proven()
    started = int(START * SECOND) - age * MINUTE
    double = double_with(plan, vetoes=PodVetoes(do_not_disrupt=30 * MINUTE), started=started)
    carry_out(double, plan)
    assert bool(double.asked) == goes


def test_machine_that_has_begun_to_migrate_stays() -> None:
    plan = proven()
    double = double_with(plan, owners=(MACHINE,))
    double.pods["target"] = replace(a_pod(plan[0]), uid="other", name="target", owners=(MACHINE,))
    assert [each.code for each in carry_out(double, plan) if isinstance(each, Dropped)] == ["Vetoed"]


def test_pods_of_a_node_that_must_not_be_disrupted_by_now_stay() -> None:
    plan = proven()
    double = Double.of(plan)
    double.rows[plan[0].move.source] = row(plan[0].move.source, do_not_disrupt=True)
    assert [each.code for each in carry_out(double, plan) if isinstance(each, Dropped)] == ["Vetoed"]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        pytest.param(
            ["b"],
            "b, where it would land, is about to be removed (taint DeletionCandidateOfClusterAutoscaler)",
            id="one",
        ),
        pytest.param(["b", "c"], None, id="another-is-left"),
    ],
)
def test_target_that_is_about_to_be_removed_by_now_stops_the_move(candidates: list[str], message: str | None) -> None:
    plan = proven(candidates)
    double = Double.of(plan)
    double.rows = {"b": row("b", taints=(CANDIDATE,)), "c": row("c")}
    assert messages(carry_out(double, plan), Dropped) == ([] if message is None else [message])


def test_target_that_is_virtual_by_now_stops_the_move() -> None:
    plan = proven(["b"])
    double = Double.of(plan)
    double.rows = {"b": row("b", labels=VIRTUAL)}
    assert messages(carry_out(double, plan), Dropped) == ["b, where it would land, is virtual"]


def row(name: str, **given: Any) -> NodeRow:
    known: dict[str, Any] = {"labels": {}, "allocatable": {}, "capacity": {}, "taints": (), "images": ()}
    return NodeRow(**{"name": name, "unschedulable": False, "ready": True, **known, **given})
