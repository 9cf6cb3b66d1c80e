"""Pods of a class: a scheduler makes no difference between them."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.harness import a_cluster
from restow.cluster.pod_classes import Aspect, pod_classes
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler, SchedulingDecision
from scheduling.random_scenes import Scene


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_a_scheduler_says_the_same_of_pods_of_a_class(seed: int) -> None:
    """Labels differ among them too, as long as no selector mentions their key. No pod is nominated: replacements are new."""
    objects = Scene(seed).objects()
    for number, each in enumerate(each for each in objects if each["kind"] == "Pod"):
        each["metadata"].setdefault("labels", {})["number"] = str(number)
        each.get("status", {}).pop("nominatedNodeName", None)
    state = ClusterState(a_cluster(*objects))
    pods, classes = state.cluster.pods, pod_classes(state.cluster, Aspect.SCHEDULING)
    for one, other in chain.from_iterable(pairwise(classes.members(each).tolist()) for each in range(len(classes))):
        said = [waiting_alone(state, pod, rival) for pod, rival in ((one, other), (other, one))]
        assert said[0] == said[1], f"{pods.full_name(one)} and {pods.full_name(other)}"


def waiting_alone(state: ClusterState, pod: int, rival: int) -> dict[str, object]:
    """What a scheduler says of a pod that waits while another one is gone."""
    mark = state.checkpoint()
    state.remove(rival)
    state.place(pod, PENDING)
    said = about_nodes(Scheduler(Context.of(state)).decide(pod))
    state.undo(mark)
    return said


def about_nodes(decision: SchedulingDecision) -> dict[str, object]:
    """What a decision says of each node, without the names of pods."""
    ranking, verdicts = decision.ranking, decision.verdicts
    return {
        "verdicts": verdicts.verdict.tolist(),
        "rejections": [verdicts.rejection(node) for node in range(len(verdicts.verdict))],
        "scores": ranking and {name: scores.tolist() for name, scores in ranking.by_plugin.items()},
        "message": decision.message,
    }
