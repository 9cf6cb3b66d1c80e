"""``restow run`` beside the real Descheduler, on the same clusters: the same evictions, a true dry run, no loops."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import HOSTNAME, ZONE, Object, node_affinity, node_term, pod_anti_affinity, pod_term, selector, spread
from builders.policies import Policy, a_config, a_policy, a_profile, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import CYCLE_ENDS, a_descheduler, evicted, programs, run_once
from e2e.loop_scenes import NODES, SCENES, Scene
from e2e.outages import Outages
from e2e.placed import Placed, place
from e2e.waiting import wait_until
from e2e.workloads import job, pods_of, replica_set, wait_for_ready

pytestmark = pytest.mark.e2e

_CYCLES, _DRY_RUNS = 4, 5
_LEAVE = {"key": "example.com/leave", "effect": "NoSchedule"}


@dataclass(slots=True, frozen=True)
class Case:
    """Workloads, what is done to the cluster then, a policy, and how many pods of each workload have to go."""

    name: str
    workloads: Callable[[], list[Placed]]
    policy: Policy
    #: None as a name: no matter of which workload.
    wanted: dict[str | None, int]
    then: Callable[[ControlPlane], None] = lambda _: None


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("beside-upstream")) as plane:
        plane.add_nodes(len(NODES))
        yield plane


@pytest.fixture
def stage(cluster: ControlPlane) -> Iterator[ControlPlane]:
    yield cluster
    put_back(cluster)


def put_back(plane: ControlPlane) -> None:
    """No workloads, no taints."""
    plane.clear("default")
    taint(plane, [])


def taint(plane: ControlPlane, taints: list[Object]) -> None:
    """These taints and no others for node-5."""
    plane.admin.patch("Node", "node-5", {"spec": {"taints": taints}})


def only_on(node: str) -> Object:
    return node_affinity(required=[node_term((HOSTNAME, "In", node))])


def unfit() -> list[Placed]:
    """Pods that are where they must not be, too old, or unwell."""
    in_zone_a = node_affinity(required=[node_term((ZONE, "In", "a"))])
    apart = pod_anti_affinity(required=[pod_term(selector(labels={"app": "rivals"}))])
    shaky = replica_set("shaky", 2, affinity=only_on("node-1"), annotations={"test/restarts": "7"})
    return [
        Placed(replica_set("tainted", 4), ["node-5"] * 4),
        Placed(replica_set("misplaced", 3, affinity=in_zone_a), ["node-2"] * 3),
        Placed(replica_set("rivals", 2, affinity=apart), ["node-3"] * 2),
        Placed(replica_set("old", 3), ["node-1", "node-2", "node-3"]),
        Placed(shaky, ["node-1"] * 2),
    ]


def spoil(plane: ControlPlane) -> None:
    """A node gets a taint, and a Job fails."""
    taint(plane, [_LEAVE])
    broken = job("broken", labels={"test/fails": ""})
    broken["spec"]["backoffLimit"] = 0
    plane.admin.create(broken)
    wait_until(
        "the Job's pod fails",
        lambda: any(each["status"]["phase"] == "Failed" for each in pods_of(plane.admin, "broken")),
    )
    # Pods count their age in whole seconds.
    time.sleep(2.5)


SIX_STRATEGIES = a_policy(
    a_profile(
        a_config("RemoveFailedPods", {"minPodLifetimeSeconds": 1}),
        a_config("RemovePodsViolatingNodeTaints", {}),
        a_config(
            "RemovePodsViolatingNodeAffinity", {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}
        ),
        a_config("RemovePodsViolatingInterPodAntiAffinity", {}),
        a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 1, "labelSelector": {"matchLabels": {"app": "old"}}}),
        a_config("RemovePodsHavingTooManyRestarts", {"podRestartThreshold": 5}),
        deschedule=[
            "RemoveFailedPods",
            "RemovePodsViolatingNodeTaints",
            "RemovePodsViolatingNodeAffinity",
            "RemovePodsViolatingInterPodAntiAffinity",
            "PodLifeTime",
            "RemovePodsHavingTooManyRestarts",
        ],
    )
)


def duplicates() -> list[Placed]:
    return [
        Placed(replica_set("five", 5), ["node-1"] * 5),
        Placed(replica_set("six", 6), ["node-1"] * 3 + ["node-2"] * 3),
    ]


def crowded() -> list[Placed]:
    """Three quarters of a node's CPUs."""
    return [Placed(replica_set(f"crowd-{number}", 4, cpu="150m"), ["node-1"] * 4) for number in range(5)]


def lopsided() -> list[Placed]:
    even = [spread(1, ZONE, selector(labels={"app": "lopsided"}))]
    return [Placed(replica_set("lopsided", 9, spread=even), ["node-1", "node-4"] * 4 + ["node-1"])]


def scattered() -> list[Placed]:
    """One node that is nearly empty, and four that are half full."""
    few = [Placed(replica_set(f"few-{number}", 1), ["node-1"]) for number in range(3)]
    return [*few, Placed(replica_set("many", 4, cpu="2"), NODES[1:])]


CASES = (
    Case(
        "six strategies",
        unfit,
        SIX_STRATEGIES,
        {"tainted": 4, "misplaced": 3, "rivals": 1, "old": 3, "shaky": 2, "broken": 1},
        spoil,
    ),
    Case("duplicates", duplicates, strategy_policy("RemoveDuplicates", {}), {"five": 4, "six": 2}),
    Case(
        "low utilization",
        crowded,
        strategy_policy("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}),
        {None: 7},
    ),
    Case("zone spread", lopsided, strategy_policy("RemovePodsViolatingTopologySpreadConstraint", {}), {"lopsided": 6}),
    Case(
        "high utilization",
        scattered,
        strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 20}}),
        {"few-0": 1, "few-1": 1, "few-2": 1},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_evict_as_many_pods_of_each_workload(case: Case, stage: ControlPlane, tmp_path: Path) -> None:
    """Which ones of a workload is left to the order of Go's maps."""
    policy = case.policy | {"restow": {"placement": "upstream"}}
    for program in programs():
        put_back(stage)
        place(stage, case.workloads())
        case.then(stage)
        ran = run_once(stage, program, policy, tmp_path)
        assert ran.status == 0, ran.log
        gone = Counter(None if None in case.wanted else pod.split("/")[1].rpartition("-")[0] for pod in ran.evicted)
        assert gone == case.wanted, f"{program}: {ran.told}, refused {ran.refusals}"
        assert sorted(pod for pod, _ in ran.told) == sorted(ran.evicted)


def leaving() -> list[Placed]:
    return [Placed(replica_set(f"web-{number}", 3), ["node-5", "node-5", "node-1"]) for number in range(5)]


def test_a_dry_run_tells_what_the_real_run_does(stage: ControlPlane, tmp_path: Path) -> None:
    place(stage, leaving())
    taint(stage, [_LEAVE])
    policy = strategy_policy("RemovePodsViolatingNodeTaints")
    dry = [run_once(stage, "restow", policy, tmp_path, flags=["--dry-run"]) for _ in range(_DRY_RUNS)]
    assert not any(each.answers for each in dry)
    assert {each.told for each in dry} == {dry[0].told}
    real = run_once(stage, "restow", policy, tmp_path)
    assert sorted(real.evicted) == sorted(pod for pod, _ in dry[0].told)
    assert len(real.evicted) == 10


def test_certain_moves_land_where_they_were_predicted(stage: ControlPlane, tmp_path: Path) -> None:
    """Void are those that count on a landing before them on which chance decided otherwise, among equals."""
    place(stage, leaving())
    taint(stage, [_LEAVE])
    policy = strategy_policy("RemovePodsViolatingNodeTaints")
    with a_descheduler(stage, "restow", policy, tmp_path, ["--descheduling-interval=1h"]) as restow:
        restow.wait_for_line(CYCLE_ENDS)
        samples = restow.samples()
    predictions = "restow_predictions_total"
    assert samples.total("restow_moves_total", result="evicted") == 10
    assert samples.total(predictions, certainty="certain") == samples.total(predictions) == 10
    assert samples.total(predictions, result="hit") + samples.total(predictions, result="void") == 10
    assert samples.total(predictions, result="hit") >= 5


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_is_evicted_again_and_again(scene: Scene, stage: ControlPlane, tmp_path: Path) -> None:
    """Proofs allow no such eviction; without them one a workload shows that it gains nothing, and the log says so."""
    place(stage, scene.workloads())
    assert _cycles(stage, scene.policy(), "prove", tmp_path)[0] == ()
    gone, log = _cycles(stage, scene.policy(), "upstream", tmp_path)
    assert set(Counter(pod.rpartition("-")[0] for pod in gone).values()) == {1}, log
    assert "backing off from " in log


def _cycles(plane: ControlPlane, policy: Policy, placement: str, directory: Path) -> tuple[tuple[str, ...], str]:
    plane.audit.restart()
    policy |= {"restow": {"placement": placement}}
    with a_descheduler(plane, "restow", policy, directory, ["--descheduling-interval=1s"]) as restow:
        restow.wait_for_line(CYCLE_ENDS, times=_CYCLES)
        restow.send(signal.SIGTERM)
        assert restow.wait() == 0
        return evicted(plane), restow.log.read_text()


def test_a_workload_is_never_without_a_ready_pod(stage: ControlPlane, tmp_path: Path) -> None:
    """Its two replicas have to leave their node; the second waits until the first is ready elsewhere."""
    place(stage, [Placed(replica_set("web", 2, annotations={"test/ready-delay": "3s"}), ["node-5"] * 2)])
    taint(stage, [_LEAVE])
    policy = strategy_policy("RemovePodsViolatingNodeTaints") | {"restow": {"placement": "upstream"}}
    with Outages(stage, "web") as outages:
        ran = run_once(stage, "restow", policy, tmp_path)
        wait_for_ready(stage.admin, "web", 2)
    assert len(ran.evicted) == 2
    assert outages.longest == 0
