"""Who waits for a scheduler, in which order (section U). Not here: backoff and events, which a snapshot does not have."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, ago
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.waiting_pods import waiting_pods


def waiting(*pods, schedulers=("default-scheduler",)) -> tuple[list[str], dict[str, str]]:
    """The pods in the queue, and those that are gated."""
    state = ClusterState(a_cluster(a_node("n1"), *pods))
    queue = waiting_pods(state, schedulers)
    name = state.cluster.pods.full_name
    return [name(pod) for pod in queue.pods], {name(pod): text for pod, text in queue.gated.items()}


def test_the_important_come_first_then_the_old_then_by_name_u01() -> None:
    pods = [
        a_pod("low", created=ago(9)),
        a_pod("b", priority=10, created=ago(5)),
        a_pod("a", priority=10, created=ago(5)),
        a_pod("z", namespace="a", priority=10, created=ago(5)),
        a_pod("older", priority=10, created=ago(6)),
        a_pod("negative", priority=-1, created=ago(99)),
    ]
    assert waiting(*pods)[0] == ["default/older", "a/z", "default/a", "default/b", "default/low", "default/negative"]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod("p", node="n1"), id="has-a-node"),
        pytest.param(a_pod("p", node="gone"), id="has-an-unknown-node"),
        pytest.param(a_pod("p", phase="Succeeded"), id="over"),
        pytest.param(a_pod("p", deleted=ago(1)), id="terminating"),
        pytest.param(a_pod("p", spec={"schedulerName": "other"}), id="of-another-scheduler"),
    ],
)
def test_others_do_not_wait(pod) -> None:
    assert waiting(pod) == ([], {})


def test_a_scheduler_takes_the_pods_of_its_profiles() -> None:
    pods = [a_pod("a"), a_pod("b", spec={"schedulerName": "other"})]
    assert waiting(*pods, schedulers=("other", "another"))[0] == ["default/b"]


def test_gates_keep_a_pod_out_u12() -> None:
    pods = [a_pod(name, spec={"schedulingGates": [{"name": gate} for gate in name]}) for name in ("ab", "b")]
    texts = {"default/ab": "waiting for scheduling gates: [a b]", "default/b": "waiting for scheduling gates: [b]"}
    assert waiting(*pods) == ([], texts)
