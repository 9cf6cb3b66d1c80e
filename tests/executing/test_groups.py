"""Groups while a plan is carried out: pods that have joined one stay, and a group that restarts is followed as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from executing.double import Double, carry_out, endings, messages, tasks
from restow.descheduling.plan import MadeProposal
from restow.executing.task import Dropped, Landed, Task
from restow.workloads.groups import GroupKind, group_kinds
from restow.workloads.replacements import ReplacementPolicy

RAY = {"ray.io/cluster": "ray"}
LWS = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": "0"}
KINDS = group_kinds()


def labelled(double: Double, labels: dict[str, str], *names: str) -> Double:
    """The same pods, some of them with labels."""
    double.pods |= {name: replace(double.pods[name], labels=labels) for name in names}
    return double


def test_a_pod_that_has_joined_a_group_stays() -> None:
    todo = tasks("web", 1, candidates=("b",))
    told = carry_out(labelled(Double.of(todo), RAY, "web-0"), todo, group_kinds=KINDS)
    assert endings(told) == {"web-0": "Dropped"}
    assert messages(told, Dropped) == ["it belongs to RayCluster default/ray now, which does not move in parts"]


def test_a_pod_stays_whose_group_has_got_a_second_one() -> None:
    todo = [structs.replace(each, group="RayCluster default/ray") for each in tasks("web", 1, candidates=("b",))]
    double = Double.of([*todo, *tasks("web", 2)])
    told = carry_out(labelled(double, RAY, "web-0", "web-1"), todo, group_kinds=KINDS)
    assert messages(told, Dropped) == ["default/web-1 has joined RayCluster default/ray, which does not move in parts"]


@pytest.mark.parametrize(
    ("labels", "group", "kinds"),
    [
        pytest.param(RAY, "RayCluster default/ray", KINDS, id="still-alone-in-its-group"),
        pytest.param(RAY, "", (), id="the-policy-ignores-groups"),
        pytest.param({}, "", KINDS, id="in-none"),
    ],
)
def test_any_other_pod_goes(labels: dict[str, str], group: str, kinds: tuple[GroupKind, ...]) -> None:
    todo = [structs.replace(each, group=group) for each in tasks("web", 1, candidates=("b",))]
    told = carry_out(labelled(Double.of(todo), labels, "web-0"), todo, group_kinds=kinds)
    assert endings(told) == {"web-0": "Settled"}


def whole(found: list[Task]) -> list[Task]:
    """The tasks as those of a group that restarts."""
    proposal = MadeProposal("move the group", len(found), "certain", 1.0)
    return [
        structs.replace(
            each,
            move=structs.replace(each.move, proposal=proposal),
            group="LeaderWorkerSet default/llm-0",
            restarts=True,
            owner=structs.replace(each.owner, kind="StatefulSet"),
            replacement_policy=ReplacementPolicy.AFTERWARDS,
        )
        for each in found
    ]


class Restarting(Double):
    """Deletes all pods when one is evicted, as the controller of LeaderWorkerSets does."""

    def disrupt(self, name: str) -> None:
        for each in [each for each in self.pods if not self.pods[each].is_terminating]:
            super().disrupt(each)


def test_pods_that_the_controller_deletes_with_an_evicted_one_are_followed_like_it() -> None:
    todo = whole(tasks("llm", 3, candidates=("b",)))
    double = labelled(Restarting(Double.of(todo).pods), LWS, "llm-0", "llm-1", "llm-2")
    told = carry_out(double, todo, group_kinds=KINDS)
    assert endings(told) == {"llm-0": "Settled", "llm-1": "Settled", "llm-2": "Settled"}
    assert [name for _, name in double.asked] == ["llm-0"], "one eviction is enough"
    assert {each.match.value for each in told if isinstance(each, Landed)} == {"predicted"}


def test_without_an_eviction_a_pod_that_is_gone_is_dropped() -> None:
    todo = whole(tasks("llm", 1, candidates=("b",)))
    double = Double.of(todo)
    del double.pods["llm-0"]
    assert endings(carry_out(double, todo, group_kinds=KINDS)) == {"llm-0": "Dropped"}
