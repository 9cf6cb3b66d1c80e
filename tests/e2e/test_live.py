"""The live cluster against a real API server: what it holds is what a fresh list says."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Object
from builders.policies import as_yaml, strategy_policy
from client.open_sockets import needs_proc, sockets_to
from e2e.control_plane import ControlPlane
from e2e.snapshots import write_snapshot
from e2e.workloads import budget, deployment, stateful_set, wait_for_ready
from live.contents import contents_of
from restow.client.connection import connect
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.errors import InputError
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.reading import METRICS, READ, read_kinds

pytestmark = pytest.mark.e2e

_RESTOW = "from restow.cli.main import main; main()"
#: Seconds.
_PATIENCE = 30.0
#: A ClusterRole of the test, from the rules of the kinds that it names.
_FEW = ("Node", "Pod", "Namespace", "PodDisruptionBudget")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``restow`` in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"}
    command = [sys.executable, "-c", _RESTOW, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


async def listed(api: Api, kinds: tuple[str, ...] = READ) -> ClusterSnapshot:
    """The cluster as fresh lists tell it."""
    store = ClusterStore()
    await read_kinds(api, kinds, store)
    return store.snapshot()


async def agrees(live: LiveCluster, api: Api) -> None:
    """Until the live cluster is what fresh lists say; they cannot be of the very same moment."""
    deadline = time.monotonic() + _PATIENCE
    while (seen := contents_of(live.snapshot())) != (wanted := contents_of(await listed(api))):
        if time.monotonic() > deadline:
            assert seen == wanted
        await asyncio.sleep(0.05)


def disturb(plane: ControlPlane, namespace: str, chance: random.Random, rounds: int) -> None:
    """Creates, scales, relabels and deletes workloads, budgets and nodes' labels."""
    names = [f"w{at}" for at in range(6)]
    for _ in range(rounds):
        name = chance.choice(names)
        there = plane.admin.find("Deployment", name, namespace)
        if there is None:
            plane.admin.create(deployment(name, chance.randint(0, 4), namespace=namespace))
        elif chance.random() < 0.3:
            plane.admin.call("DELETE", f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
        else:
            change = {"spec": {"replicas": chance.randint(0, 4)}}
            plane.admin.call(
                "PATCH",
                f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
                change,
                content="application/merge-patch+json",
            )
        _budget(plane, name, namespace, chance)
        node = chance.choice(plane.admin.items("Node"))["metadata"]["name"]
        labels = {"metadata": {"labels": {"test/colour": chance.choice(["red", "green", None])}}}
        plane.admin.call("PATCH", f"/api/v1/nodes/{node}", labels, content="application/merge-patch+json")


def _budget(plane: ControlPlane, name: str, namespace: str, chance: random.Random) -> None:
    if plane.admin.find("PodDisruptionBudget", name, namespace) is None:
        plane.admin.create(budget(name, name, namespace=namespace, max_unavailable=1))
    elif chance.random() < 0.5:
        plane.admin.call("DELETE", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}")


def in_loop(body: Callable[[], object]) -> None:
    asyncio.run(body())  # type: ignore[arg-type]


def test_after_random_changes_the_snapshot_is_a_fresh_list(plane: ControlPlane, namespace: str) -> None:
    async def body() -> None:
        said: list[str] = []
        async with connect(str(plane.kubeconfig), qps=-1) as api, live_cluster(api, warn=said.append) as live:
            assert await live.wait_ready(asyncio.get_running_loop().time() + _PATIENCE)
            for seed in range(3):
                await asyncio.to_thread(disturb, plane, namespace, random.Random(seed), 8)
                await agrees(live, api)
        assert said == []

    in_loop(body)


def test_a_snapshot_does_not_change_and_pods_can_be_asked_for_one_by_one(plane: ControlPlane, namespace: str) -> None:
    async def body() -> None:
        async with connect(str(plane.kubeconfig), qps=-1) as api, live_cluster(api, warn=print) as live:
            loop = asyncio.get_running_loop()
            assert await live.wait_ready(loop.time() + _PATIENCE)
            before, content = live.snapshot(), contents_of(live.snapshot())
            plane.admin.create(deployment("web", 2, namespace=namespace))
            pods = await asyncio.to_thread(wait_for_ready, plane.admin, "web", 2, namespace)
            owner = pods[0]["metadata"]["ownerReferences"][0]["uid"]
            ready = lambda: sum(each.is_ready for each in live.pods_of(namespace, owner)) == 2  # noqa: E731
            assert await live.wait_for(ready, loop.time() + _PATIENCE)
            found = live.pod(namespace, pods[0]["metadata"]["name"])
            assert found is not None
            assert (found.uid, found.node) == (pods[0]["metadata"]["uid"], pods[0]["spec"]["nodeName"])
            assert contents_of(before) == content
            assert contents_of(live.snapshot()) != content
            assert live.age("Pod") < _PATIENCE

    in_loop(body)


def test_an_api_server_that_dies_and_comes_back(own_plane: ControlPlane) -> None:
    own_plane.add_nodes(2)
    own_plane.admin.create(deployment("web", 2))
    wait_for_ready(own_plane.admin, "web", 2)

    async def body() -> None:
        said: list[str] = []
        async with connect(str(own_plane.kubeconfig), qps=-1) as api, live_cluster(api, warn=said.append) as live:
            loop = asyncio.get_running_loop()
            assert await live.wait_ready(loop.time() + _PATIENCE)
            own_plane.kill("kube-apiserver")
            known = contents_of(live.snapshot())
            assert await live.wait_for(lambda: bool(said), loop.time() + _PATIENCE)
            assert contents_of(live.snapshot()) == known
            await asyncio.to_thread(own_plane.restart, "kube-apiserver")
            await asyncio.to_thread(lambda: own_plane.admin.create(deployment("late", 1)))
            await asyncio.to_thread(wait_for_ready, own_plane.admin, "late", 1)
            await agrees(live, api)
        assert said[0].startswith("cannot update ")

    in_loop(body)


@needs_proc
class TestTheEnd:
    """Of the other sockets of this process some are connected to the API server too."""

    def test_no_socket_is_left_open_whenever_it_comes(self, own_plane: ControlPlane) -> None:
        port = own_plane.layout.ports.apiserver
        others = len(sockets_to(port))

        async def body(seconds: float) -> None:
            async with connect(str(own_plane.kubeconfig), qps=-1) as api, live_cluster(api, warn=print):
                await asyncio.sleep(seconds)
            assert (seconds, len(sockets_to(port))) == (seconds, others)

        for each in range(20):
            in_loop(lambda seconds=each / 200: body(seconds))

    def test_no_socket_is_left_open_if_the_server_hangs(self, own_plane: ControlPlane) -> None:
        port = own_plane.layout.ports.apiserver
        others = len(sockets_to(port))

        async def body() -> None:
            async with connect(str(own_plane.kubeconfig), qps=-1) as api, live_cluster(api, warn=print) as live:
                assert await live.wait_ready(asyncio.get_running_loop().time() + _PATIENCE)
                own_plane.pause("kube-apiserver")
            assert len(sockets_to(port)) == others

        in_loop(body)


@pytest.fixture(scope="module")
def restricted(plane: ControlPlane) -> Path:
    """The kubeconfig of an identity that may list a few kinds only."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list", "watch"]},
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "few"}}
    plane.admin.create(role | {"rules": rules})
    return plane.kubeconfig_for(plane.service_account("few", roles=("few",)), "few")


def test_kinds_that_may_not_be_listed_are_named_once_and_come_in_when_they_may(
    plane: ControlPlane, restricted: Path
) -> None:
    async def body() -> None:
        said: list[str] = []
        async with connect(str(restricted), qps=-1) as api, live_cluster(api, warn=said.append) as live:
            loop = asyncio.get_running_loop()
            assert await live.wait_ready(loop.time() + _PATIENCE)
            cluster = live.snapshot()
            assert [kind for kind in READ if cluster.has_list(kind)] == ["Namespace", "PodDisruptionBudget"]
            assert set(live.refused) == set(READ) - set(_FEW)
            assert sorted(said) == sorted(live.refused.values())
            services = live.refused["Service"]
            assert 'add the rule {apiGroups: [""], resources: ["services"], verbs: [list, watch]}' in services

            everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]
            path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/few"
            before = plane.admin.call("GET", path)["rules"]
            merge = "application/merge-patch+json"
            plane.admin.call("PATCH", path, {"rules": everything}, content=merge)
            try:
                assert await live.wait_for(lambda: not live.refused, loop.time() + _PATIENCE)
            finally:
                plane.admin.call("PATCH", path, {"rules": before}, content=merge)
            assert all(live.snapshot().has_list(kind) for kind in READ if kind not in ("Node", "Pod"))
            assert len([each for each in said if "may not" in each]) == len(READ) - len(_FEW)

    in_loop(body)


def test_a_kind_that_is_not_served_is_not_told_of(plane: ControlPlane) -> None:
    async def body() -> None:
        said: list[str] = []
        async with (
            connect(str(plane.kubeconfig), qps=-1) as api,
            live_cluster(api, (*READ, *METRICS), warn=said.append) as live,
        ):
            assert await live.wait_ready(asyncio.get_running_loop().time() + _PATIENCE)
            assert not live.snapshot().has_list("NodeMetrics")
            assert [each.partition(":")[0] for each in sorted(said)] == [
                "the API server has no nodes.metrics.k8s.io",
                "the API server has no pods.metrics.k8s.io",
            ]

    in_loop(body)


@pytest.fixture
def crowded(plane: ControlPlane, namespace: str, tmp_path: Path) -> list[str]:
    """Two workloads with pods on one node, and the arguments of a plan about them."""
    plane.admin.create(deployment("web", 4, namespace=namespace))
    plane.admin.create(stateful_set("db", 2, namespace=namespace))
    plane.admin.create(budget("web", "web", namespace=namespace, max_unavailable=1))
    wait_for_ready(plane.admin, "web", 4, namespace)
    wait_for_ready(plane.admin, "db", 2, namespace)
    policy = tmp_path / "policy.yaml"
    args = {"thresholds": {"pods": 3}, "targetThresholds": {"pods": 4}}
    policy.write_bytes(as_yaml(strategy_policy("LowNodeUtilization", args)))
    return ["--policy-config-file", str(policy), "--now", "2026-11-21T00:00:00Z", "-o", "json"]


def settled(plane: ControlPlane, tmp_path: Path, ask: Callable[[Path], tuple[Object, Object]]) -> None:
    """What is asked of a live cluster and of a dump is the same, if nothing happened between the two."""
    for attempt in range(5):
        dump = write_snapshot(plane.admin, tmp_path / f"dump-{attempt}")
        live, offline = ask(dump)
        after = write_snapshot(plane.admin, tmp_path / f"after-{attempt}")
        if _items(dump) == _items(after):
            # Only a live cluster is known by its API server.
            assert live["metadata"]["cluster"].pop("apiServer")
            offline["metadata"]["cluster"].pop("apiServer")
            assert live == offline
            return
        time.sleep(0.5)
    pytest.fail("the cluster did not settle")


def _items(dump: Path) -> dict[str, Object]:
    """What is in a dump, whatever the versions of its lists are."""
    return {each.name: json.loads(each.read_text())["items"] for each in dump.iterdir()}


def test_a_plan_without_f_is_that_of_a_dump(plane: ControlPlane, crowded: list[str], tmp_path: Path) -> None:
    def ask(dump: Path) -> tuple[Object, Object]:
        live = run("plan", "--kubeconfig", str(plane.kubeconfig), *crowded)
        offline = run("plan", "-f", str(dump), *crowded)
        assert (live.returncode, offline.returncode) == (0, 0), live.stderr + offline.stderr
        return json.loads(live.stdout), json.loads(offline.stdout)

    settled(plane, tmp_path, ask)


def test_a_plan_on_a_snapshot_is_that_of_the_live_cluster(
    plane: ControlPlane, crowded: list[str], tmp_path: Path
) -> None:
    def ask(_: Path) -> tuple[Object, Object]:
        file = tmp_path / "snapshot.json.gz"
        written = run("snapshot", "--kubeconfig", str(plane.kubeconfig), "-o", str(file))
        assert written.returncode == 0, written.stderr
        live = run("plan", "--kubeconfig", str(plane.kubeconfig), *crowded)
        return json.loads(live.stdout), json.loads(run("plan", "-f", str(file), *crowded).stdout)

    settled(plane, tmp_path, ask)


def test_the_commands_read_the_live_cluster(plane: ControlPlane, crowded: list[str], namespace: str) -> None:
    where = ("--kubeconfig", str(plane.kubeconfig))
    pod = plane.admin.items("Pod", namespace)[0]["metadata"]["name"]

    schedule = run("schedule", *where, "--pod", f"{namespace}/{pod}")
    explain = run("explain", "pod", f"{namespace}/{pod}", *where, *crowded[:2])

    assert (schedule.returncode, explain.returncode) == (0, 0), schedule.stderr + explain.stderr
    assert f"the cluster at 127.0.0.1:{plane.layout.ports.apiserver}" in schedule.stdout


def test_a_restricted_identity_gets_a_plan_and_is_told_what_it_lacks(restricted: Path, crowded: list[str]) -> None:
    ran = run("plan", "--kubeconfig", str(restricted), *crowded)

    assert ran.returncode == 0
    assert 'add the rule {apiGroups: ["apps"], resources: ["replicasets"], verbs: [list, watch]}' in ran.stderr
    assert json.loads(ran.stdout)["kind"] == "Plan"


@pytest.mark.usefixtures("crowded")
def test_a_plan_moves_nothing_where_the_api_server_does_not_show_namespaces(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """As ``restow run`` would: each of them may have opted out."""
    rules = [{"apiGroups": ["", "policy"], "resources": ["nodes", "pods", "poddisruptionbudgets"], "verbs": ["list"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "fewer"}}
    plane.admin.create(role | {"rules": rules})
    kubeconfig = plane.kubeconfig_for(plane.service_account("fewer", roles=("fewer",)), "fewer")
    policy = tmp_path / "aged.yaml"
    policy.write_bytes(as_yaml(strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1})))

    old = ("--now", "2100-01-01T00:00:00Z", "--policy-config-file", str(policy), "-o", "json")
    ran = run("plan", "--kubeconfig", str(kubeconfig), *old)

    assert ran.returncode == 0
    plan = json.loads(ran.stdout)
    assert plan["moves"] == []
    refusals = {(each["stage"], each["code"]) for each in plan["refusals"]}
    assert refusals == {("evictor", "Unknown")}
    assert 'add the rule {apiGroups: [""], resources: ["namespaces"], verbs: [list, watch]}' in ran.stderr
    assert "moves depend on Namespaces, which could not be listed" in ran.stderr


def test_an_identity_without_rights_is_told_so(plane: ControlPlane) -> None:
    nobody = plane.kubeconfig_for(plane.service_account("nobody"), "nobody")

    ran = run("plan", "--kubeconfig", str(nobody))

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("restow failed: system:serviceaccount:default:nobody may not list and watch ")
    assert "Traceback" not in ran.stderr


def test_a_context_that_is_not_there(plane: ControlPlane) -> None:
    ran = run("plan", "--kubeconfig", str(plane.kubeconfig), "--context", "moon")

    assert ran.returncode == 2
    assert ran.stderr == f"{plane.kubeconfig}: has no context moon; it has test\n"


def test_unreadable_objects_do_not_stop_a_snapshot_of_the_others() -> None:
    store = ClusterStore()
    with pytest.raises(InputError):
        store.add("Node", [_broken_node()])
    assert len(store.snapshot().nodes) == 0


def _broken_node() -> object:
    from restow.kube.objects import Node, NodeStatus, ObjectMeta

    return Node(ObjectMeta(name="n"), status=NodeStatus(allocatable={"cpu": "much"}))
