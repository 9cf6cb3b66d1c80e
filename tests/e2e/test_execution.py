"""Plans carried out on a real control plane: side by side, within budgets, and where they were foretold to land."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman, crowd
from e2e.workloads import wait_for_ready
from restow.client.connection import connect
from restow.client.transport import always
from restow.descheduling.cycle import run_cycle
from restow.descheduling.registry import plugins, strategies
from restow.executing.deciding import tasks_of
from restow.executing.execution import Execution
from restow.executing.history import EvictionHistory
from restow.executing.surroundings import ApiEvictions, ExecutionSettings
from restow.executing.task import (
    ENDINGS,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Landed,
    LandingMatch,
    Outcome,
    Postponed,
    Settled,
    Task,
)
from restow.live.cluster import LiveCluster, live_cluster
from restow.policies.codes import OutcomeCode
from restow.policies.load import load_policy
from restow.proving.search import prove_cycle

pytestmark = pytest.mark.e2e

NODES = 5
APPS, REPLICAS = 10, 8
#: What ``waiting`` does when an outcome is told.
React = Callable[[Outcome], None]


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("execution")) as plane:
        plane.add_nodes(NODES)
        yield plane


@pytest.fixture
def stage(cluster: ControlPlane) -> Iterator[ControlPlane]:
    yield cluster
    cluster.clear("default")


@asynccontextmanager
async def connected(kubeconfig: Path, **settings: float) -> AsyncIterator[tuple[LiveCluster, Execution]]:
    """The live cluster and an execution on it."""
    async with connect(str(kubeconfig)) as api, live_cluster(api, warn=print) as live:
        assert await live.wait_ready(asyncio.get_running_loop().time() + 30)
        evictions = ApiEvictions(api, always)
        yield live, Execution(live, evictions, always, ExecutionSettings(**settings), EvictionHistory(), time.time)
    # Watches that were cut off say good-bye over TLS; a loop that ends before leaves their sockets open.
    await asyncio.sleep(0.5)


def planned(live: LiveCluster, policy: Policy, *, prove: bool) -> tuple[Task, ...]:
    read = load_policy(msgspec.json.encode(policy), "policy.json", plugins()).policy
    decide = prove_cycle if prove else run_cycle
    return tasks_of(decide(live.snapshot(), read, strategies(), time.time_ns()), read)


async def outcomes(execution: Execution, tasks: tuple[Task, ...], react: React = lambda _: None) -> list[Outcome]:
    told = []
    async with aclosing(execution.carry_out(tasks)) as stream:
        async for each in stream:
            react(each)
            told.append(each)
    return told


def test_side_by_side_is_faster_and_no_budget_is_violated(stage: ControlPlane) -> None:
    """Forty evictions of ten workloads, each with a budget of one; every pod is replaced before the next goes."""
    crowd(stage, APPS, REPLICAS, max_unavailable=1)
    watchman = Watchman()

    async def run() -> tuple[tuple[Task, ...], list[Outcome], float, float]:
        async with connected(stage.kubeconfig) as (live, execution):
            tasks = planned(live, strategy_policy("RemoveDuplicates"), prove=False)
            few = tuple(structs.replace(each, workload="one") for each in tasks if each.workload == tasks[0].workload)
            started = time.monotonic()
            told = await outcomes(execution, few)
            alone = (time.monotonic() - started) / len(few)
            rest = tuple(each for each in tasks if each.workload != tasks[0].workload)
            started = time.monotonic()
            told += await outcomes(execution, rest)
            return tasks, told, alone, (time.monotonic() - started) / len(rest)

    stage.audit.restart()
    with watchman.watching(stage):
        tasks, told, alone, together = asyncio.run(run())
    assert len(tasks) >= 30
    ends = [each for each in told if isinstance(each, ENDINGS)]
    assert all(isinstance(each, Settled) for each in ends), [each for each in ends if not isinstance(each, Settled)]
    assert len(ends) == len({each.task.move.pod.uid for each in told if isinstance(each, Evicted)}) == len(tasks)
    assert set(watchman.fewest.values()) <= {REPLICAS - 1, REPLICAS}, watchman.fewest
    answers = Counter(call.response_status.code for call in stage.audit.calls("create", "pods", "eviction"))
    assert answers[201] == len(tasks)
    assert set(answers) <= {201, 429}
    print(f"{len(tasks)} evictions: {alone:.2f} s each one after another, {together:.2f} s side by side; {answers}")
    assert together < alone / 1.2


def test_proven_moves_land_on_their_candidates(stage: ControlPlane) -> None:
    """Until of several candidates another one wins than the plan goes on with; later landings are no misses."""
    crowd(stage, 4, 6, min_available=3)

    async def run() -> list[Outcome]:
        async with connected(stage.kubeconfig) as (live, execution):
            return await outcomes(execution, planned(live, strategy_policy("RemoveDuplicates"), prove=True))

    landings = [each for each in asyncio.run(run()) if isinstance(each, Landed)]
    assert len(landings) >= 8
    astray = next((at for at, each in enumerate(landings) if each.node != each.task.move.target), len(landings))
    assert {each.match for each in landings[: astray + 1]} == {LandingMatch.PREDICTED}
    assert {each.match for each in landings} <= {LandingMatch.PREDICTED, LandingMatch.VOID}


def test_a_full_budget_is_waited_for(stage: ControlPlane) -> None:
    crowd(stage, 1, 6, min_available=6)

    def make_room(outcome: Outcome) -> None:
        if isinstance(outcome, Postponed):
            stage.admin.patch("PodDisruptionBudget", "app-0", {"spec": {"minAvailable": 5}})

    async def run() -> list[Outcome]:
        async with connected(stage.kubeconfig) as (live, execution):
            tasks = planned(live, strategy_policy("RemoveDuplicates"), prove=False)
            return await outcomes(execution, tasks, make_room)

    told = asyncio.run(run())
    assert "needs 6 healthy pods and has 6 currently" in next(
        each.message for each in told if isinstance(each, Postponed)
    )
    assert {type(each) for each in told if isinstance(each, ENDINGS)} == {Settled}
    assert Counter(type(each) for each in told)[Evicted] >= 2


def test_a_replacement_that_its_controller_does_not_want_any_more_is_not_waited_for(stage: ControlPlane) -> None:
    """A rollout takes a ReplicaSet down meanwhile. One pod is evicted then; those that it has too many stay."""
    crowd(stage, 1, 6)
    replica_set = stage.admin.items("ReplicaSet", "default")[0]["metadata"]["name"]

    def scale_down(outcome: Outcome) -> None:
        if isinstance(outcome, Evicted):
            stage.admin.patch("ReplicaSet", replica_set, {"spec": {"replicas": 3}})

    async def run() -> list[Outcome]:
        async with connected(stage.kubeconfig) as (live, execution):
            tasks = planned(live, strategy_policy("RemoveDuplicates"), prove=False)
            return await outcomes(execution, tasks, scale_down)

    stage.pause("kube-controller-manager")
    try:
        told = asyncio.run(run())
    finally:
        stage.resume("kube-controller-manager")
    cleared, *dropped = (each for each in told if isinstance(each, ENDINGS))
    assert isinstance(cleared, Cleared)
    assert dropped
    assert {each.code for each in dropped if isinstance(each, Dropped)} == {OutcomeCode.SURPLUS}
    assert all(isinstance(each, Dropped) for each in dropped)


def test_a_pod_that_went_meanwhile_is_dropped_and_a_missing_right_is_named(stage: ControlPlane) -> None:
    crowd(stage, 1, 6, max_unavailable=1)
    kubeconfig = stage.kubeconfig_for(stage.service_account("reader", roles=("view", "system:node-reader-of-tests")))
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules}
    stage.admin.create(role | {"metadata": {"name": "system:node-reader-of-tests"}})

    async def run() -> list[Outcome]:
        async with connected(kubeconfig) as (live, execution):
            first, second, *_ = planned(live, strategy_policy("RemoveDuplicates"), prove=False)
            stage.admin.delete("Pod", first.move.pod.name, at_once=True)
            assert await live.wait_for(
                lambda: live.pod("default", first.move.pod.name) is None, asyncio.get_running_loop().time() + 10
            )
            await asyncio.to_thread(wait_for_ready, stage.admin, "app-0", 6)
            await asyncio.sleep(0.5)
            return await outcomes(execution, (first, second))

    dropped, failed = asyncio.run(run())
    assert isinstance(dropped, Dropped)
    assert dropped.message == "it is already gone"
    assert isinstance(failed, Failed)
    assert 'may not create pods/eviction; add the rule {apiGroups: [""]' in failed.message
