"""The state of a scheduler: after any changes it decides as one that is made now, of the same objects."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import numpy as np
import pytest

from builders import (
    ZONE,
    Object,
    a_node,
    a_pdb,
    a_pod,
    a_pv,
    a_pvc,
    a_service,
    a_storage_class,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    spread,
)
from live.apiserver import ApiServer, now, serving
from restow.cluster.state import ClusterState
from restow.live.cluster import LiveCluster, live_cluster
from restow.scheduler.settings import KINDS
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.cycle.mirror import Mirror
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.usage.measured import RecentUsage

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

_APPS = "abc"


def a_random_pod(name: str, chance: Random) -> Object:
    app = chance.choice(_APPS)
    term = pod_term({"matchLabels": {"app": chance.choice(_APPS)}}, topology=ZONE)
    kinds: list[dict[str, Any]] = [
        {},
        {"affinity": pod_affinity([term])},
        {"affinity": pod_anti_affinity([term])},
        {"spread": [spread(1, ZONE, {"matchLabels": {"app": app}})]},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": chance.choice(("c1", "c2"))}}]},
        {"priority": chance.randrange(3)},
    ]
    features = chance.choice(kinds)
    # A pod that is bound has claims that are bound.
    if chance.random() < 0.5 and "volumes" not in features:
        features = features | {"node": f"n{chance.randrange(7)}"}
    if chance.random() < 0.1:
        features = features | {"phase": chance.choice(("Running", "Succeeded", "Failed"))}
    if chance.random() < 0.1:
        features = features | {"nominated_node": f"n{chance.randrange(6)}", "priority": 1}
    return a_pod(
        name,
        cpu=chance.choice(("100m", "700m", "2")),
        labels={"app": app},
        uid=f"{name}-{chance.randrange(3)}",
        **features,
    )


def change(server: ApiServer, chance: Random) -> None:
    """One random change of anything."""
    chance.choice((change_a_pod, change_a_pod, change_a_node, change_another_object))(server, chance)


def change_a_pod(server: ApiServer, chance: Random) -> None:
    name = f"p{chance.randrange(25)}"
    if chance.random() < 0.2 and ("default", name) in server.objects["Pod"]:
        server.delete("Pod", name, "default")
    else:
        server.put("Pod", a_random_pod(name, chance))


def change_a_node(server: ApiServer, chance: Random) -> None:
    if chance.random() < 0.3 and len(server.objects["Node"]) > 2:
        server.delete("Node", chance.choice(sorted(server.objects["Node"]))[1])
        return
    labels = {ZONE: chance.choice("xyz")}
    taints = ["k=v:NoSchedule"] if chance.random() < 0.2 else None
    server.put("Node", a_node(f"n{chance.randrange(6)}", labels=labels, taints=taints, cpu=chance.choice("24")))


def change_another_object(server: ApiServer, chance: Random) -> None:
    claim, labels = chance.choice(("c1", "c2")), {"app": chance.choice(_APPS)}
    match chance.randrange(7):
        case 0:
            server.put("PersistentVolumeClaim", a_pvc(claim, storage_class="s"))
        case 1:
            server.put("PersistentVolumeClaim", a_pvc(claim, storage_class="s", volume=f"v-{claim}"))
        case 2:
            server.put("PersistentVolume", a_pv(f"v-{claim}", storage_class="s"))
        case 3:
            server.put("StorageClass", a_storage_class("s", binding="WaitForFirstConsumer"))
        case 4:
            server.put("PodDisruptionBudget", a_pdb("b", selector={"matchLabels": labels}))
        case 5:
            server.put("Service", a_service("s", selector=labels))
        case _ if ("default", claim) in server.objects["PersistentVolumeClaim"]:
            server.delete("PersistentVolumeClaim", claim, "default")


def decisions(schedulers: Schedulers, state: ClusterState) -> dict[str, tuple[object, ...]]:
    """What is said of each pod that waits, by name."""
    names, pods = state.cluster.nodes.names, state.cluster.pods
    found = {}
    for pod in schedulers.queue().pods:
        decision = schedulers.decide(pod)
        best = [names[node] for node in decision.best]
        nominated = names[decision.nominated_node] if decision.nominated_node >= 0 else ""
        victims = sorted(pods.full_name(each) for each in decision.victims)
        found[pods.full_name(pod)] = best, nominated, victims, decision.message
    return found


def where(state: ClusterState) -> dict[str, str]:
    """The node of each pod by uid, where it is there."""
    names = state.cluster.nodes.names
    return {
        state.cluster.pods.uids[pod]: names[state.node[pod]] if state.node[pod] >= 0 else ""
        for pod in np.flatnonzero(state.exists).tolist()
    }


def assert_as_fresh(mirror: Mirror, live: LiveCluster) -> None:
    """Nothing is left of what was there before."""
    fresh = ClusterState(live.snapshot())
    schedulers = Schedulers(Context.of(fresh), (DEFAULT_PROFILE,))
    assert where(mirror.state) == where(fresh)
    told = decisions(mirror.schedulers, mirror.state)
    assert told == decisions(schedulers, fresh)
    mirror.state.validate()


@pytest.mark.parametrize("seed", range(4))
async def test_it_decides_as_one_that_is_made_now_of_the_same_objects(seed: int) -> None:
    chance, server, mirror = Random(seed), ApiServer(), Mirror((DEFAULT_PROFILE,))
    server.page = 500
    async with serving(server) as api:
        for _ in range(40):
            change(server, chance)
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            for _ in range(40):
                for _ in range(chance.choice((1, 1, 5))):
                    change(server, chance)
                await asyncio.sleep(0.1)
                mirror.catch_up()
                assert_as_fresh(mirror, live)


async def test_a_list_after_a_gap_tells_what_came_and_went_meanwhile() -> None:
    server, mirror = ApiServer(), Mirror((DEFAULT_PROFILE,))
    server.cut_after = 1.0
    async with serving(server) as api:
        server.put("Node", a_node("n"))
        for name in ("stays", "goes"):
            server.put("Pod", a_pod(name, node="n"))
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            server.die()
            server.dead = False
            server.delete("Pod", "goes", "default")
            server.put("Pod", a_pod("comes", node="n"))
            server.forget()
            await asyncio.sleep(60)
            changes = mirror.catch_up()
            told = [
                (each.before and each.before.facts.name, each.after and each.after.facts.name) for each in changes.pods
            ]
            assert told == [(None, "comes"), ("goes", None)]
            assert_as_fresh(mirror, live)


async def test_a_status_that_no_rule_looks_at_changes_nothing() -> None:
    server, mirror = ApiServer(), Mirror((DEFAULT_PROFILE,))
    async with serving(server) as api:
        server.put("Node", a_node("n"))
        server.put("Pod", a_pod("p", node="n"))
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            before = len(mirror.state.changes)
            server.put("Pod", a_pod("p", node="n", conditions=[{"type": "Ready", "status": "True"}]))
            server.put("Node", a_node("n") | {"status": a_node("n")["status"] | {"nodeInfo": {"osImage": "x"}}})
            await asyncio.sleep(1)
            changes = mirror.catch_up()
            assert not changes.pods
            assert not changes.objects
            assert len(mirror.state.changes) == before


async def test_a_pod_whose_requests_make_sums_wrap_around_does_not_empty_its_node() -> None:
    server, mirror = ApiServer(), Mirror((DEFAULT_PROFILE,))
    async with serving(server) as api:
        server.put("Node", a_node("n", memory="8Gi"))
        server.put("Pod", a_pod("first", node="n", memory="7Ei"))
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            for name in ("second", "third"):
                server.put("Pod", a_pod(name, node="n", memory="7Ei"))
                await asyncio.sleep(1)
                mirror.catch_up()
            memory = mirror.state.cluster.nodes.resources.index("memory")
            assert mirror.state.requested[memory, 0] == 7 << 60
            server.delete("Pod", "first", "default")
            await asyncio.sleep(1)
            mirror.catch_up()
            assert mirror.state.requested[memory, 0] == 0


async def test_a_long_list_is_carried_over_in_parts() -> None:
    server, mirror = ApiServer(), Mirror((DEFAULT_PROFILE,))
    async with serving(server) as api:
        server.put("Node", a_node("n"))
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            for at in range(5_000):
                server.put("Pod", a_pod(f"p{at}", node="n"))
            await asyncio.sleep(1)
            parts = []
            while mirror.is_behind:
                parts.append(len(mirror.catch_up().pods))
            assert parts == [2_000, 2_000, 1_000]
            assert_as_fresh(mirror, live)


async def test_preemption_goes_by_a_budget_as_it_is_by_now_and_nothing_is_made_anew() -> None:
    """It comes, allows a disruption, covers other pods, and goes; each time the same schedulers know."""
    server, mirror = ApiServer(), Mirror((DEFAULT_PROFILE,))
    async with serving(server) as api:
        for node in "ab":
            server.put("Node", a_node(node, cpu="1"))
            server.put("Pod", a_pod(f"low-{node}", node=node, cpu="1", labels={"on": node}, priority=1))
        server.put("Pod", a_pod("high", cpu="1", priority=9))
        async with live_cluster(api, KINDS, warn=lambda _: None) as live:
            live.listeners.append(mirror.touch)
            assert await live.wait_ready(now() + 60)
            mirror.begin(live)
            made = mirror.schedulers

            async def nominated() -> str:
                await asyncio.sleep(1)
                mirror.catch_up()
                assert_as_fresh(mirror, live)
                decision = mirror.schedulers.decide(mirror.state.order.find("default", "high"))
                return mirror.state.cluster.nodes.names[decision.nominated_node]

            def put(on: str, allowed: int) -> None:
                chosen = {"matchLabels": {"on": on}}
                server.put("PodDisruptionBudget", a_pdb("b", selector=chosen, disruptions_allowed=allowed))

            assert await nominated() == "a"
            put("a", 0)
            assert await nominated() == "b"
            put("a", 1)
            assert await nominated() == "a"
            put("b", 0)
            assert await nominated() == "a"
            put("a", 0)
            assert await nominated() == "b"
            server.delete("PodDisruptionBudget", "b", "default")
            assert await nominated() == "a"
            assert mirror.schedulers is made


async def test_before_it_begins_nothing_is_there() -> None:
    """Also where the usage of nodes is known already."""
    mirror = Mirror((DEFAULT_PROFILE,))
    mirror.measure(RecentUsage(("n1",), np.array([1]), np.ones((1, 2, 1))))
    assert mirror.sizes() == {"nodes": 0, "pods": 0, "assumed_pods": 0}
    assert mirror.measured == 0
