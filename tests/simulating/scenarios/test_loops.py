"""What counts as a loop, and what does not although something comes back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from restow.simulating.scenarios.loops import LoopDetector
from restow.simulating.scenarios.observations import (
    Observation,
    ObservedEviction,
    ObservedNode,
    ObservedPod,
    ObservedScaling,
)
from restow.simulating.scenarios.references import Reference
from simulating.scenarios.seen import READY, WEB, a_pod_of_web

NIGHTLY = Reference("CronJob", "shop", "nightly")
MINUTE = 60


def loops(*observations):
    found = LoopDetector()
    for each in observations:
        found.take(each)
    return found


def moves(nodes, *, by="RemoveDuplicates", **more):
    """A pod of web that is on one of these nodes after the other, a minute each, because somebody evicts it."""
    pods = [a_pod_of_web(f"{number}", f"n{node}") for number, node in enumerate(nodes)]
    told = [Observation(0, {pods[0].key: pods[0]})]
    for number, (old, new) in enumerate(pairwise(pods), 1):
        evicted = ObservedEviction(old, (by, "profile"))
        told.append(Observation(number * MINUTE, {old.key: None, new.key: new}, evictions=(evicted,), **more))
    return told


def test_a_pod_that_is_moved_to_and_fro_has_gone_round_when_it_is_moved_from_the_same_node_for_the_third_time():
    assert loops(*moves("12121")).looped == []
    (found,) = loops(*moves("121212")).finish()
    assert (found.since, found.until, found.rounds, found.period) == (1 * MINUTE, 5 * MINUTE, 2, 2 * MINUTE)
    assert found.by == ("RemoveDuplicates",)
    (workload,) = found.workloads
    assert (workload.workload, workload.moved, workload.nodes) == (WEB, 4, ("n1", "n2"))


def test_it_is_known_while_the_run_goes_on():
    assert loops(*moves("121212")).looped == [WEB]


def test_a_pod_that_comes_back_to_its_own_node_goes_round_each_time():
    (found,) = loops(*moves("11111")).finish()
    assert (found.rounds, found.period) == (3, MINUTE)


def test_nodes_that_look_alike_count_as_the_same_for_a_pod_that_is_moved_over_and_over():
    nodes = {
        f"n{number}": ObservedNode(f"n{number}", {"kubernetes.io/hostname": f"n{number}"}, READY) for number in "12345"
    }
    (found,) = loops(replace(moves("1")[0], nodes=nodes), *moves("12345")[1:]).finish()
    assert (found.rounds, found.period) == (3, MINUTE)


def test_nodes_that_look_otherwise_do_not():
    nodes = {f"n{number}": ObservedNode(f"n{number}", {"zone": number}, READY) for number in "12345"}
    assert loops(replace(moves("1")[0], nodes=nodes), *moves("12345")[1:]).finish() == ()


def test_pods_that_leave_nodes_that_look_alike_one_after_the_other_are_in_no_loop():
    first = [a_pod_of_web(f"old-{number}", f"n{number}") for number in range(1, 6)]
    told = [Observation(0, {each.key: each for each in first})]
    for number, old in enumerate(first, 1):
        new = a_pod_of_web(f"new-{number}", f"n{number + 5}")
        evicted = (ObservedEviction(old, ("LowNodeUtilization",)),)
        told.append(Observation(number, {old.key: None, new.key: new}, evictions=evicted))
    assert loops(*told).finish() == ()


@pytest.mark.parametrize("by", ["drain", "PodLifeTime"])
def test_who_evicts_because_it_was_ordered_or_is_time_drives_no_loop(by):
    assert loops(*moves("121212", by=by)).finish() == ()


def test_an_event_of_the_scenario_between_makes_it_no_loop():
    assert loops(*moves("121212", is_disturbed=True)).finish() == ()


def test_a_loop_that_an_event_has_ended_is_told_all_the_same():
    ended = replace(Observation(10 * MINUTE), is_disturbed=True)
    (found,) = loops(*moves("121212"), ended).finish()
    assert found.rounds == 2


@pytest.mark.parametrize("controllers", [(Reference("Job", "shop", "nightly-1"), NIGHTLY), ()], ids=["a Job", "nobody"])
def test_pods_that_come_by_themselves_to_a_node_of_the_loop_make_it_none(controllers):
    told = moves("121212")
    passing = ObservedPod("shop", "passing", {}, "n1", READY, controllers)
    told[3] = replace(told[3], pods={**told[3].pods, passing.key: passing})
    assert loops(*told).finish() == ()
    elsewhere = replace(passing, node="n9")
    told[3] = replace(told[3], pods={**told[3].pods, elsewhere.key: elsewhere})
    assert len(loops(*told).finish()) == 1


def test_a_job_that_runs_time_and_again_is_no_loop():
    told = []
    for number in range(10):
        job = Reference("Job", "shop", f"nightly-{number}")
        pod = ObservedPod("shop", f"nightly-{number}", {}, "n1", READY, (job, NIGHTLY))
        told += [Observation(2 * number, {pod.key: pod}), Observation(2 * number + 1, {pod.key: None})]
    assert loops(*told).finish() == ()


def test_pods_of_a_job_that_are_evicted_time_and_again_are_in_no_loop():
    told = []
    for number in range(6):
        job = Reference("Job", "shop", f"nightly-{number}")
        pod = ObservedPod("shop", f"nightly-{number}", {}, "", frozenset({"any", "pending"}), (job, NIGHTLY))
        evicted = (ObservedEviction(pod, ("RemoveDuplicates",)),)
        told += [
            Observation(2 * number, {pod.key: pod}),
            Observation(2 * number + 1, {pod.key: None}, evictions=evicted),
        ]
    assert loops(*told).finish() == ()


def test_pods_that_make_room_for_others_go_round_too():
    told = [replace(each, evictions=(), displaced=each.evictions) for each in moves("121212", by="preemption")]
    (found,) = loops(*told).finish()
    assert found.by == ("preemption",)


def test_a_size_that_comes_back_is_a_loop():
    sizes = [2, 4, 2, 4, 2]
    scaled = [
        Observation(number * MINUTE, scalings=(ObservedScaling(WEB, "horizontal-pod-autoscaler", size),))
        for number, size in enumerate(sizes)
    ]
    (found,) = loops(*scaled).finish()
    assert (found.rounds, found.by) == (2, ("horizontal-pod-autoscaler",))
    assert (found.workloads[0].scaled, found.workloads[0].moved) == (4, 0)
    assert loops(*scaled[:4]).finish() == ()


def test_workloads_that_meet_on_nodes_are_in_one_loop_and_others_in_their_own():
    other, far = Reference("Deployment", "shop", "other"), Reference("Deployment", "shop", "far")
    together = []
    for each in moves("121212"):
        pods, evictions = dict(each.pods), list(each.evictions)
        for workload, shift in ((other, 1), (far, 7)):
            for key, pod in each.pods.items():
                pods[key[0], f"{workload.name}{key[1]}"] = pod and _of(workload, pod, shift)
            evictions += [ObservedEviction(_of(workload, one.pod, shift), ("Other",)) for one in each.evictions]
        together.append(replace(each, pods=pods, evictions=tuple(evictions)))
    found = {frozenset(each.workload for each in loop.workloads): loop.by for loop in loops(*together).finish()}
    assert found == {frozenset((WEB, other)): ("Other", "RemoveDuplicates"), frozenset((far,)): ("Other",)}


def _of(workload, pod, shift):
    node = f"n{int(pod.node[1:]) + shift}"
    return replace(pod, name=f"{workload.name}{pod.name}", node=node, controllers=(workload,))
