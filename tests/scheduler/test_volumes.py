"""Volumes that wait for their first consumer: claimed or asked for where the pod will be, and bound before it is."""

from __future__ import annotations

import asyncio

import pytest

from builders import ZONE, Object, a_node, a_pv, a_pvc, a_storage_class
from restow.scheduler.attempts import Result
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduler.double import Notes, SchedulingServer, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"


def volumes(*claims: str) -> list[Object]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def storage(server: SchedulingServer, *claims: str, provisioner: str = "csi.example.com") -> None:
    """Two nodes in two zones, and claims of a class that waits for the first consumer."""
    for name, zone in (("a", "x"), ("b", "y")):
        server.put("Node", a_node(name, labels={ZONE: zone}))
    server.put("StorageClass", a_storage_class("late", provisioner=provisioner, binding="WaitForFirstConsumer"))
    for claim in claims:
        server.put("PersistentVolumeClaim", a_pvc(claim, storage_class="late"))


def a_volume(name: str, zone: str) -> Object:
    return a_pv(name, zone=zone, storage_class="late") | {"status": {"phase": "Available"}}


def bind(server: SchedulingServer, claim: str, volume: str) -> None:
    """What the controller of volumes does."""
    annotations = server.objects["PersistentVolumeClaim"]["default", claim]["metadata"].get("annotations", {})
    server.change("PersistentVolumeClaim", claim, "metadata", "default", annotations=annotations | {COMPLETED: "yes"})
    server.change("PersistentVolumeClaim", claim, "spec", "default", volumeName=volume)


def selected(server: SchedulingServer, claim: str) -> str | None:
    found: Object = server.objects["PersistentVolumeClaim"]["default", claim]["metadata"]
    node: str | None = found.get("annotations", {}).get(SELECTED)
    return node


async def test_a_pod_is_bound_once_its_volume_has_been_made_where_it_will_be() -> None:
    async with a_server() as (server, api):
        storage(server, "data")
        server.create("p", volumes=volumes("data"), node_selector={ZONE: "y"})
        async with a_scheduler(api):
            await until(lambda: selected(server, "data") == "b")
            await asyncio.sleep(300)
            assert server.nodes_of()["p"] is None
            server.put("PersistentVolume", a_volume("made", "y"))
            bind(server, "data", "made")
            await until(lambda: server.nodes_of()["p"] == "b")


async def test_a_volume_that_exists_is_claimed_and_the_pod_goes_where_it_is() -> None:
    async with a_server() as (server, api):
        storage(server, "data", provisioner="kubernetes.io/no-provisioner")
        server.put("PersistentVolume", a_volume("disk", "x"))
        server.create("p", volumes=volumes("data"))
        async with a_scheduler(api):
            disk = ("", "disk")
            await until(lambda: "claimRef" in server.objects["PersistentVolume"][disk]["spec"])
            assert server.objects["PersistentVolume"][disk]["spec"]["claimRef"]["name"] == "data"
            bind(server, "data", "disk")
            await until(lambda: server.nodes_of()["p"] == "a")


async def test_two_pods_do_not_take_the_same_volume_though_objects_change_meanwhile() -> None:
    async with a_server(latency=2.0) as (server, api):
        storage(server, "one", "two", provisioner="kubernetes.io/no-provisioner")
        server.put("PersistentVolume", a_volume("disk", "x"))
        server.create("first", volumes=volumes("one"), priority=2)
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            uid = server.pod("first")["metadata"]["uid"]
            await until(lambda: daemon.mirror.is_assumed(uid))
            server.put("StorageClass", a_storage_class("other"))
            server.create("second", volumes=volumes("two"), priority=1)
            await until(lambda: bool(notes.attempts))
            assert notes.attempts[0].pod.name == "second"
            assert "didn't find available persistent volumes to bind" in notes.attempts[0].message
            await until(lambda: "claimRef" in server.objects["PersistentVolume"]["", "disk"]["spec"])
            assert server.objects["PersistentVolume"]["", "disk"]["spec"]["claimRef"]["name"] == "one"


async def test_a_pod_whose_volume_does_not_come_in_time_waits_again() -> None:
    async with a_server() as (server, api):
        storage(server, "data")
        server.create("p", volumes=volumes("data"))
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: bool(notes.attempts), 1_000)
        assert notes.attempts[0].result is Result.ERROR
        assert notes.attempts[0].message == "binding volumes: default/data not bound within 600 s"
        assert server.nodes_of()["p"] is None


async def test_a_pod_for_which_no_volume_can_be_made_is_decided_again() -> None:
    async with a_server() as (server, api):
        storage(server, "data")
        server.create("p", volumes=volumes("data"))
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: selected(server, "data") is not None)
            await asyncio.sleep(1)
            server.change("PersistentVolumeClaim", "data", "metadata", "default", annotations={})
            await until(lambda: bool(notes.attempts))
            assert notes.attempts[0].message.startswith(
                "binding volumes: no volume can be made for default/data on node"
            )
            await until(lambda: selected(server, "data") is not None)


async def test_where_a_pod_will_be_is_announced_while_its_volume_is_made_and_not_after_that_has_failed() -> None:
    async with a_server() as (server, api):
        storage(server, "data")
        server.create("p", volumes=volumes("data"), node_selector={ZONE: "y"})
        server.create("plain")
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: selected(server, "data") == "b")
            assert server.pod("p")["status"]["nominatedNodeName"] == "b"
            await until(lambda: server.nodes_of()["plain"] is not None)
            assert ("status", "plain") not in server.written
            await until(lambda: any(each.pod.name == "p" for each in notes.attempts), 1_000)
            assert daemon.queue.lengths()[QueuePlace.BACKOFF] == 1
            assert not server.pod("p")["status"].get("nominatedNodeName")


async def test_pods_that_wait_for_volumes_hinder_nobody() -> None:
    async with a_server() as (server, api):
        storage(server, *(f"c{at}" for at in range(5)))
        for at in range(5):
            server.create(f"slow{at}", volumes=volumes(f"c{at}"), priority=9)
        server.create("quick")
        async with a_scheduler(api, in_flight=2):
            await until(lambda: server.nodes_of()["quick"] is not None, 60)


async def test_a_pod_that_goes_while_it_waits_for_a_volume_gives_its_place_back() -> None:
    async with a_server() as (server, api):
        storage(server, "data")
        server.create("p", volumes=volumes("data"), cpu="4")
        server.create("other", cpu="4", node="a")
        async with a_scheduler(api):
            await until(lambda: selected(server, "data") == "b")
            server.create("next", cpu="4")
            server.delete("Pod", "p", "default")
            await until(lambda: server.nodes_of()["next"] == "b")
