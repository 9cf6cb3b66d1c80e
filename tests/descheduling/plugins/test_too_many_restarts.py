"""RemovePodsHavingTooManyRestarts: which pods crash too often.

Ids are the rows of upstream's own unit tests (TR), restated. Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import DS, LS, MIRROR, OWN, Object, a_pod, std_node, terminated, waiting
from descheduling.harness import cycle, evictions, refusals

NODE_1 = std_node("node1")
#: A second usable node on which nothing runs.
ALONE = [NODE_1, std_node("node2")]
CRASH = "CrashLoopBackOff"


def fixture(**status: Any) -> list[Object]:
    """Ten pods with 5 restarts times their number in the init container, and 10 in each of two regular ones."""
    special: dict[int, Object] = {6: {"owner": DS}, 7: {"volumes": LS}, 8: {"owner": None, "annotations": MIRROR}}
    pods = []
    for base in range(10):
        given: Object = {
            "statuses": [{"restartCount": 10 * base}, {"restartCount": 10 * base}],
            "init_statuses": [{"restartCount": 5 * base}],
        }
        more = {"node": "node1", "owner": OWN} | special.get(base, {}) | given | status
        pods.append(a_pod(f"pod-{base}", **more))
    consumers = [
        a_pod(f"CPU-consumer-{index}", node=node, owner=OWN, cpu="150m", memory="100")
        for index, node in ((1, "node4"), (2, "node5"))
    ]
    return pods + consumers


def found(args: Object, pods: list[Object], nodes: list[Object] = ALONE, **more: Any) -> list[int]:
    """Numbers of the evicted pods."""
    evicted = evictions("RemovePodsHavingTooManyRestarts", args, nodes=nodes, pods=pods, **more)
    return [int(name.removeprefix("pod-")) for name in evicted]


INIT: Object = {"includingInitContainers": True}
THRESHOLD_ROWS: dict[str, tuple[Object, list[int]]] = {
    "TR-01": ({"podRestartThreshold": 10000, **INIT}, []),
    "TR-02": ({"podRestartThreshold": 1, **INIT}, [9, 5, 4, 3, 2, 1]),
    "TR-03": ({"podRestartThreshold": 25, **INIT}, [9, 5, 4, 3, 2, 1]),
    "TR-04": ({"podRestartThreshold": 25}, [9, 5, 4, 3, 2]),
    "TR-06": ({"podRestartThreshold": 20}, [9, 5, 4, 3, 2, 1]),
}


@pytest.mark.parametrize(("args", "expected"), THRESHOLD_ROWS.values(), ids=THRESHOLD_ROWS.keys())
def test_pods_with_at_least_the_threshold_of_restarts_go(args: Object, expected: list[int]) -> None:
    assert found(args, fixture()) == expected


def test_pods_with_most_restarts_of_a_node_go_first() -> None:
    """TR-09: and the first refusal by the node's limit ends the node."""
    args = {"podRestartThreshold": 1, **INIT}
    assert found(args, fixture(), per_node=3) == [9, 5, 4]
    refused = refusals("RemovePodsHavingTooManyRestarts", args, nodes=ALONE, pods=fixture(), per_node=3)
    assert [name for name, code in refused.items() if code == "MaxPodsToEvictPerNode"] == ["pod-3"]


ROOM_ROWS: dict[str, tuple[Object, list[int]]] = {
    "TR-11": (std_node("node2", taints=["hardware=gpu:NoSchedule"]), []),
    "TR-12": (std_node("node3", unschedulable=True), []),
    "TR-13": (std_node("node4", 200), []),
    "TR-14": (std_node("node5"), [9, 5, 4]),
}


@pytest.mark.parametrize(("other", "expected"), ROOM_ROWS.values(), ids=ROOM_ROWS.keys())
def test_with_node_fit_pods_go_only_if_another_node_has_room(other: Object, expected: list[int]) -> None:
    args = {"podRestartThreshold": 1, **INIT}
    assert found(args, fixture(), [NODE_1, other], evictor={"nodeFit": True}, per_node=3) == expected


CRASHING_INIT: Object = {"init_statuses": [waiting(CRASH)]}
STATE_ROWS: dict[str, tuple[Object, list[Object], list[int]]] = {
    "a container waits": (
        {"states": [CRASH]},
        fixture(statuses=[waiting(CRASH, restarts=50), {"restartCount": 10}]),
        [0, 1, 2],
    ),
    "TR-16": ({"states": [CRASH]}, fixture(), []),
    "TR-17": ({"states": ["Running"]}, fixture(phase="Running"), [9, 5, 4]),
    "TR-18": ({"states": ["Running"]}, fixture(phase="Pending"), []),
    "TR-19": ({"states": [CRASH], **INIT}, fixture(**CRASHING_INIT), [9, 5, 4]),
    "TR-20": ({"states": [CRASH]}, fixture(**CRASHING_INIT), []),
    "why a container ended is not read": (
        {"states": [CRASH]},
        fixture(statuses=[terminated(CRASH, restarts=50)]),
        [],
    ),
}


@pytest.mark.parametrize(("args", "pods", "expected"), STATE_ROWS.values(), ids=STATE_ROWS.keys())
def test_states_name_the_phase_or_what_a_container_waits_for(
    args: Object, pods: list[Object], expected: list[int]
) -> None:
    assert found({"podRestartThreshold": 1} | args, pods, per_node=3) == expected


def test_pods_of_any_phase_are_looked_at() -> None:
    pods = [a_pod("pod-1", node="node1", owner=OWN, phase="Succeeded", statuses=[{"restartCount": 7}])]
    assert found({"podRestartThreshold": 7}, pods) == [1]


def test_the_total_limit_ends_the_strategy() -> None:
    pods = [
        a_pod(f"pod-{index}", node=node, owner=OWN, statuses=[{"restartCount": index}])
        for index, node in ((1, "node1"), (2, "node1"), (3, "node2"), (4, "node2"))
    ]
    assert found({"podRestartThreshold": 1}, pods) == [2, 1, 4, 3]
    assert found({"podRestartThreshold": 1}, pods, total=3) == [2, 1, 4]


def test_the_reason_tells_the_restarts() -> None:
    done = cycle("RemovePodsHavingTooManyRestarts", {"podRestartThreshold": 100}, nodes=ALONE, pods=fixture())
    assert [each.reason for each in done.record.evictions] == [
        "180 restarts, threshold 100",
        "100 restarts, threshold 100",
    ]
