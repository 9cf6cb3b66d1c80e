"""What there is to tell of a run."""

from __future__ import annotations

from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.run_record import ClusterSize, PendingTime, RunRecorder
from simulating.scenarios.seen import PENDING, a_pod_of_web, a_seen_node, at

WAITS = a_pod_of_web("a", "", PENDING)


def recorded(*observations, end=100):
    recorder = RunRecorder()
    for each in observations:
        recorder.observe(each)
    return recorder.finish(end)


def test_how_many_pods_wait_and_how_long():
    more = a_pod_of_web("b", "", PENDING)
    record = recorded(at(0, WAITS), at(10, more), at(30, a_pod_of_web("a")), at(35, gone="b"))
    assert record.waiting == PendingTime(most=2, longest=30, total=55)


def test_a_pod_that_waits_at_the_end_has_waited_until_then():
    assert recorded(at(40, WAITS), end=100).waiting == PendingTime(1, 60, 60)


def test_what_looks_the_same_has_not_changed():
    nodes = [a_seen_node("n1")]
    assert (
        recorded(at(0, WAITS, nodes=nodes), at(10, a_pod_of_web("a")), at(50, a_pod_of_web("a"), nodes=nodes)).changed
        == 10
    )


def test_balance_and_nodes_in_use_over_time():
    nodes = [a_seen_node("n1"), a_seen_node("n2")]
    record = recorded(at(0, nodes=nodes), at(15 * SECOND, a_pod_of_web("a")), end=20 * SECOND)
    numbers = record.samples.numbers
    assert (numbers["nodesInUse"], numbers["cpuSpread"]) == ((0, 0, 1), (0, 0, 0.05))
    assert record.size == ClusterSize(nodes=2, pods=1)
