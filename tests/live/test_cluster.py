"""A cluster that follows an API server through everything that connections do; in virtual time, real server elsewhere."""

from __future__ import annotations

import asyncio
import random
import re

import pytest

from builders import Owner, a_namespace, a_node, a_pdb, a_pod, a_service, node_metrics, pod_metrics
from builders.metadata import uid_of
from live.apiserver import ApiServer
from live.contents import contents_of
from restow.client.server import ServerTime
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.reading import METRICS, read_kinds
from restow.usage.measured import KEY, OF_PODS, recent_usage

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

KINDS = ("Node", "Pod", "Service")
#: Seconds.
LONG = 3_600.0


def now() -> float:
    return asyncio.get_running_loop().time()


async def fresh(api: Api, kinds: tuple[str, ...] = KINDS) -> ClusterSnapshot:
    store = ClusterStore()
    await read_kinds(api, kinds, store)
    return store.snapshot()


async def catches_up(live: LiveCluster, api: Api) -> None:
    wanted = contents_of(await fresh(api))
    assert await live.wait_for(lambda: contents_of(live.snapshot()) == wanted, now() + LONG), "it never caught up"


def populate(server: ApiServer) -> None:
    for at in range(4):
        server.put("Node", a_node(f"n{at}"))
    for at in range(8):
        server.put("Pod", a_pod(f"p{at}", node=f"n{at % 4}", owner=Owner("ReplicaSet", "web")))
    server.put("Service", a_service("web", selector={"app": "web"}))


def change(server: ApiServer, chance: random.Random) -> None:
    """One random change."""
    name = f"p{chance.randrange(12)}"
    there = ("default", name) in server.objects["Pod"]
    match chance.randrange(5):
        case 0 if there:
            server.delete("Pod", name, "default")
        case 1:
            server.put("Node", a_node(f"n{chance.randrange(5)}", labels={"at": str(server.version)}))
        case 2:
            server.put("Service", a_service(chance.choice("ab"), selector={"v": str(server.version)}))
        case _:
            server.put("Pod", a_pod(name, node=f"n{chance.randrange(4)}", labels={"v": str(server.version)}))


@pytest.mark.parametrize("seed", range(4))
async def test_it_follows_random_changes_though_every_watch_is_cut_each_second(
    server: ApiServer, api: Api, seed: int
) -> None:
    chance = random.Random(seed)
    populate(server)
    server.cut_after = 1.0
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        for _ in range(60):
            change(server, chance)
            await asyncio.sleep(chance.random())
            if chance.random() < 0.1:
                server.forget()
        await catches_up(live, api)


async def test_a_fresh_list_replaces_the_old_one_as_a_whole(server: ApiServer, api: Api) -> None:
    populate(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        sizes = []
        server.on_request = lambda: sizes.append((len(live.snapshot().nodes), len(live.snapshot().pods)))
        server.cut_after, before = 0.5, server.lists
        for _ in range(5):
            server.forget()
            await asyncio.sleep(120)
        # Each list of pods has three pages, so it was looked at between them.
        assert server.lists > before + 15
        assert set(sizes) == {(4, 8)}


async def test_what_was_deleted_while_nobody_listened_is_gone(server: ApiServer, api: Api) -> None:
    populate(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        server.die()
        await asyncio.sleep(5)
        server.delete("Pod", "p3", "default")
        server.forget()
        server.dead = False
        await catches_up(live, api)
        assert live.pod("default", "p3") is None


async def test_an_outage_is_told_once_and_its_end_too(server: ApiServer, api: Api) -> None:
    populate(server)
    server.cut_after, server.bookmark_after = 30.0, 10.0
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        before = live.snapshot()
        assert not live.interruptions
        server.die()
        # Shorter than what is heard is trusted, a last pause included.
        await asyncio.sleep(100)
        assert len(said) == 1
        assert said[0].startswith("cannot update ")
        assert live.snapshot() is before
        assert live.age("Pod") > 90
        assert live.interruptions
        server.dead = False
        await asyncio.sleep(120)
        for kind, each in (("Node", a_node("new")), ("Pod", a_pod("new")), ("Service", a_service("new"))):
            server.put(kind, each)
        await catches_up(live, api)
        assert said[1:] == ["the cluster state is up to date again"]


@pytest.mark.parametrize("last_bookmark", [2.0, 0.0], ids=["says that nothing is missing", "says nothing"])
async def test_the_end_of_an_outage_is_told_within_seconds_though_nothing_changes(
    server: ApiServer, api: Api, last_bookmark: float
) -> None:
    populate(server)
    server.cut_after, server.bookmark_after, server.last_bookmark = 1e6, 1e6, last_bookmark
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        lists = server.lists
        server.die()
        await asyncio.sleep(5)
        assert len(said) == 1
        server.dead = False
        await asyncio.sleep(30)
        assert said[1:] == ["the cluster state is up to date again"]
        assert all(live.age(kind) < 30 for kind in KINDS)
        assert (server.lists == lists) == bool(last_bookmark)


async def test_while_watches_say_nothing_after_an_outage_the_state_is_not_told_to_be_up_to_date(
    server: ApiServer, api: Api
) -> None:
    populate(server)
    server.cut_after, server.bookmark_after = 1e6, 1e6
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        server.die()
        await asyncio.sleep(5)
        server.hung.add("Pod")
        server.dead = False
        await asyncio.sleep(30)
        assert len(said) == 1


async def test_it_is_ready_when_every_list_is_in(server: ApiServer, api: Api) -> None:
    populate(server)
    server.refused["Pod"] = 500
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert not await live.wait_ready(now() + 60)
        del server.refused["Pod"]
        assert await live.wait_ready(now() + LONG)


async def test_a_refused_kind_is_named_once_and_does_not_hold_up_the_others(server: ApiServer, api: Api) -> None:
    populate(server)
    server.refused["Service"] = 403
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        assert not live.snapshot().has_list("Service")
        await asyncio.sleep(2_000)
        rule = '{apiGroups: [""], resources: ["services"], verbs: [list, watch]}'
        assert said == [f"jane may not list and watch services; add the rule {rule} to its ClusterRole"]
        assert live.refused == {"Service": said[0]}

        del server.refused["Service"]
        await asyncio.sleep(400)
        assert live.snapshot().has_list("Service")
        assert said[1:] == ["services can be listed now"]


async def test_a_right_that_is_taken_away_leaves_nothing_of_the_kind(server: ApiServer, api: Api) -> None:
    populate(server)
    server.cut_after = 1.0
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        assert live.snapshot().has_list("Service")
        server.refused["Service"] = 403
        assert await live.wait_for(lambda: not live.snapshot().has_list("Service"), now() + LONG)
        assert live.ready


@pytest.mark.parametrize("kind", ["Node", "Pod"])
async def test_without_nodes_or_pods_it_is_never_ready(server: ApiServer, api: Api, kind: str) -> None:
    populate(server)
    server.refused[kind] = 403
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert not await live.wait_ready(now() + 600)
        assert "add the rule" in live.refused[kind]


@pytest.mark.parametrize("status", [404, 503])
async def test_metrics_that_are_not_served_are_not_told_of_until_they_are(
    server: ApiServer, api: Api, status: int
) -> None:
    populate(server)
    server.refused["NodeMetrics"] = status
    said: list[str] = []
    async with live_cluster(api, (*KINDS, "NodeMetrics"), warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        assert not live.snapshot().has_list("NodeMetrics")
        assert len(said) == 1
        del server.refused["NodeMetrics"]
        server.put("NodeMetrics", {"metadata": {"name": "n1"}, "usage": {"cpu": "1"}})
        await asyncio.sleep(400)
        assert list(live.snapshot().kind("NodeMetrics")) == [("", "n1")]


async def test_metrics_are_asked_for_again_and_again(server: ApiServer, api: Api) -> None:
    populate(server)
    server.put("NodeMetrics", {"metadata": {"name": "n1"}, "usage": {"cpu": "1"}})
    async with live_cluster(api, (*KINDS, "NodeMetrics"), warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        server.put("NodeMetrics", {"metadata": {"name": "n1"}, "usage": {"cpu": "2"}})
        await asyncio.sleep(20)
        assert live.snapshot().kind("NodeMetrics")["", "n1"].usage == {"cpu": "1271m", "memory": "0"}
        assert live.age("NodeMetrics") < 16


class VirtualTime(ServerTime):
    """The clock of a server that lives in the time of the event loop."""

    def now(self) -> float:
        return 1_795_219_200 + now()


async def test_samples_of_metrics_are_kept_for_a_window_from_when_they_are_asked_for(
    server: ApiServer, api: Api
) -> None:
    populate(server)
    api.server_time = VirtualTime()
    async with live_cluster(api, (*KINDS, *METRICS), warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        await asyncio.sleep(60)
        assert not live.snapshot().has_list("RecentUsage")
        live.keep_usage(600, 60)
        for cpu in range(20):
            server.put("NodeMetrics", node_metrics("n1", cpu=str(cpu)))
            server.put("PodMetrics", pod_metrics("p1", cpu=f"{cpu}m"))
            await asyncio.sleep(60)
        nodes, pods = (recent_usage(live.snapshot(), key) for key in (KEY, OF_PODS))
        assert nodes is not None
        assert pods is not None
        assert nodes.values[:, 0, 0].tolist() == [each * 1000 for each in range(10, 20)], "not their means"
        assert (pods.names, len(pods.times)) == (("default/p1",), 10)
        live.keep_usage(0, 0)
        await asyncio.sleep(60)
        assert not live.snapshot().has_list("RecentUsage")


async def test_an_object_that_cannot_be_read_is_left_out_and_told(server: ApiServer, api: Api) -> None:
    populate(server)
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        server.put("Pod", a_pod("p1", node="n1", cpu="much"))
        server.put("Pod", a_pod("p9", node="n1"))
        assert await live.wait_for(lambda: live.pod("default", "p9") is not None, now() + LONG)
        assert live.pod("default", "p1") is None
        assert [each.partition(":")[0] for each in said] == ["Pod default/p1"]
        assert said[0].endswith("; it is left out")


async def test_an_object_is_told_to_be_left_out_once_as_long_as_it_is(server: ApiServer, api: Api) -> None:
    populate(server)
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        for at in range(3):
            server.put("Pod", a_pod("huge", node="n1", memory="10E", labels={"at": str(at)}))
            server.put("Pod", a_pod(f"after{at}", node="n1"))
            assert await live.wait_for(lambda name=f"after{at}": live.pod("default", name) is not None, now() + LONG)
            server.forget()
            await asyncio.sleep(400)
        (told,) = (each for each in said if "left out" in each)
        assert told.startswith("Pod default/huge: memory is more than ")
        assert list(live.snapshot().left_out) == [("Pod", "default", "huge")]
        server.put("Pod", a_pod("huge", node="n1"))
        assert await live.wait_for(lambda: live.pod("default", "huge") is not None, now() + LONG)
        assert not live.snapshot().left_out


async def test_pods_that_only_together_are_too_large_are_told_once(server: ApiServer, api: Api) -> None:
    populate(server)
    for name in ("big", "bigger"):
        server.put("Pod", a_pod(name, node="n1", memory="6Ei"))
    said: list[str] = []
    async with live_cluster(api, KINDS, warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        for at in range(3):
            server.put("Pod", a_pod(f"after{at}"))
            assert await live.wait_for(lambda name=f"after{at}": live.pod("default", name) is not None, now() + LONG)
            assert list(live.snapshot().left_out) == [("Pod", "default", "big")]
        assert len(said) == 1
        assert said[0].startswith("Pod default/big: with the other pods of its node, memory is more than ")


#: Objects of kinds that protect pods, as nobody should send them.
_ODD = {
    "PodDisruptionBudget": a_pdb("db", selector={"app": "db"}) | {"status": {"disruptionsAllowed": "many"}},
    "Namespace": a_namespace("default", labels={"a": 1}),
    "Job": {"metadata": {"name": "sums", "namespace": "default"}, "spec": {"backoffLimit": "x"}},
}


@pytest.mark.parametrize("kind", _ODD)
@pytest.mark.parametrize("comes", ["listed", "watched"])
async def test_an_object_of_a_wrong_type_is_left_out_and_pods_that_it_may_protect_stay(
    server: ApiServer, api: Api, kind: str, comes: str
) -> None:
    populate(server)
    said: list[str] = []
    odd = _ODD[kind]
    if comes == "listed":
        server.put(kind, odd)
    async with live_cluster(api, (*KINDS, kind), warn=said.append) as live:
        assert await live.wait_ready(now() + LONG)
        if comes == "watched":
            server.put(kind, odd)
        assert await live.wait_for(lambda: bool(live.snapshot().left_out), now() + LONG)
        key = odd["metadata"].get("namespace", ""), odd["metadata"]["name"]
        assert list(live.snapshot().left_out) == [(kind, *key)]
        assert key in live.snapshot().kind(kind)
        assert re.search("; it is left out, and no pod of the .* is evicted until it can be read$", said[0])
        assert len(said) == 1
        server.delete(kind, key[1], key[0])
        assert await live.wait_for(lambda: key not in live.snapshot().kind(kind), now() + LONG)
        assert not live.snapshot().left_out


async def test_reading_once_leaves_out_what_cannot_be_read(server: ApiServer, api: Api) -> None:
    populate(server)
    server.put("Pod", a_pod("huge", memory="10E"))
    server.put("Pod", a_pod("odd", spec={"priority": "high"}))
    cluster = await fresh(api)
    assert len(cluster.pods) == 8
    assert {name for _, _, name in cluster.left_out} == {"huge", "odd"}


async def test_pods_of_an_owner(server: ApiServer, api: Api) -> None:
    populate(server)
    server.put("Pod", a_pod("other", owner=Owner("ReplicaSet", "db")))
    foreign = Owner("ReplicaSet", "web", uid_of("ReplicaSet", "default", "web"))
    server.put("Pod", a_pod("copied", namespace="tenant", owner=foreign))
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        web = live.pod("default", "p0")
        assert web is not None
        found = live.pods_of("default", web.owners[0].uid)
        assert [each.name for each in found] == [f"p{at}" for at in range(8)]
        assert found[1].node == "n1"
        assert live.pods_of("default", "nobody") == []
        assert [each.name for each in live.pods_of("tenant", web.owners[0].uid)] == ["copied"]


async def test_a_deadline_that_passes(server: ApiServer, api: Api) -> None:
    populate(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        before = now()
        assert not await live.wait_for(lambda: False, before + 30)
        assert now() == pytest.approx(before + 30, abs=0.1)


async def test_reading_once_asks_each_kind_once(server: ApiServer, api: Api) -> None:
    populate(server)
    server.refused["Service"] = 403
    server.page = 100
    store = ClusterStore()

    unlisted = await read_kinds(api, KINDS, store)

    assert [each.kind for each in unlisted] == ["Service"]
    assert server.lists == 2
    assert not store.snapshot().has_list("Service")
