"""A scheduler on an API server, in virtual time: which pods it binds where, and when it tries again."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from builders import a_node
from restow.scheduler import daemon as daemon_module
from restow.scheduler.attempts import Result
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.framework.extension_points import PhaseTimer
from restow.scheduling.loop.decision import PodAttempt
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduler.double import AFTER, BEFORE, Notes, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_pods_that_wait_are_bound_and_those_of_other_schedulers_are_counted_and_left_alone() -> None:
    async with a_server() as (server, api):
        for each in "ab":
            server.put("Node", a_node(each, cpu="1"))
        for at in range(4):
            server.create(f"p{at}", cpu="400m")
        server.create("other", cpu="400m", spec={"schedulerName": "somebody"})
        server.create("settled", cpu="400m", node="a")
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: {each.pod.name for each in notes.attempts} == {"p0", "p1", "p2", "p3"})
            assert server.nodes_of()["other"] is None
            assert sorted(each.node for each in server.bindings) == ["a", "b", "b"]
            unbound = {each.pod.name for each in notes.attempts if each.result is Result.UNSCHEDULABLE}
            assert unbound == {"p3"}


async def test_a_pod_that_fits_nowhere_is_bound_once_a_node_comes() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="100m"))
        server.create("p", cpu="1")
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: bool(notes.attempts))
            (condition,) = server.pod("p")["status"]["conditions"]
            assert condition["reason"] == "Unschedulable"
            assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
            server.put("Node", a_node("b"))
            await until(lambda: server.nodes_of()["p"] == "b")


async def test_a_pod_that_fits_nowhere_is_bound_once_another_one_goes() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("big", cpu="1", node="a")
        server.create("p", cpu="1")
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: bool(notes.attempts))
            server.delete("Pod", "big", "default")
            await until(lambda: server.nodes_of()["p"] == "a")


async def test_a_pod_keeps_its_place_while_its_bind_is_under_way_whatever_is_told_of_it() -> None:
    async with a_server(latency=5.0) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("first", cpu="1")
        async with a_scheduler(api) as daemon:
            uid = server.pod("first")["metadata"]["uid"]
            await until(lambda: daemon.mirror.is_assumed(uid))
            server.change("Pod", "first", "metadata", "default", labels={"seen": "unbound"})
            server.create("second", cpu="1")
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.UNSCHEDULABLE]))
            assert daemon.mirror.state.requested[0].sum() == 1000
            await until(lambda: server.nodes_of()["first"] == "a")
        assert [each.name for each in server.bindings] == ["first"]


async def test_a_pod_whose_bind_was_carried_out_and_not_answered_is_bound_once_and_keeps_its_place() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("first", cpu="1")
        notes = Notes()
        server.hung.add("Pod")
        server.trouble = lambda what: AFTER if what == "binding" else None
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: bool(server.bindings))
            await asyncio.sleep(60)
            assert daemon.mirror.state.requested[0].sum() == 1000
            server.trouble = lambda _: None
            await until(lambda: bool(notes.attempts))
        assert [(each.result, each.node) for each in notes.attempts] == [(Result.SCHEDULED, "a")]
        assert len(server.bindings) == 1


async def test_nobody_is_put_in_the_place_of_a_pod_of_which_nobody_knows_whether_it_is_bound() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("first", cpu="1", priority=5)
        server.create("second", cpu="1", priority=5)
        server.trouble = lambda what: BEFORE if what == "binding" else None
        async with a_scheduler(api):
            await asyncio.sleep(30)
            assert not server.bindings
            server.trouble = lambda _: None
            await until(lambda: bool(server.bindings))
            await asyncio.sleep(600)
        assert len(server.bindings) == 1


@pytest.mark.parametrize("hears", [True, False])
async def test_a_pod_that_somebody_else_has_bound_meanwhile_is_counted_there_and_not_written_to(*, hears: bool) -> None:
    async with a_server(latency=1.0) as (server, api):
        server.put("Node", a_node("a", cpu="1", taints=["k=v:NoSchedule"]))
        server.put("Node", a_node("b", cpu="1"))
        server.create("p", cpu="1")
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: daemon.mirror.is_assumed(server.pod("p")["metadata"]["uid"]))
            if not hears:
                server.hung.add("Pod")
            server.change("Pod", "p", "spec", "default", nodeName="a")
            await until(lambda: bool(notes.attempts))
            server.hung.clear()
            await asyncio.sleep(60)
            assert daemon.mirror.state.requested[0].tolist() == [1000, 0]
            assert not len(daemon.queue)
        assert {(each.result, each.node) for each in notes.attempts} == {(Result.ERROR, "b")}
        assert set(server.written) == {("binding", "p")}


@pytest.mark.parametrize("status", [404, 409, 429, 500, 503])
async def test_a_pod_whose_bind_is_refused_gives_its_place_back_and_is_tried_again(status: int) -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("p", cpu="1")
        troubles = [status] * 7
        server.trouble = lambda what: troubles.pop() if what == "binding" and troubles else None
        async with a_scheduler(api):
            await until(lambda: server.nodes_of()["p"] == "a")
        assert len(server.bindings) == 1


async def test_a_pod_that_is_gated_is_not_bound_before_its_gates_are_gone() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a"))
        server.create("p", spec={"schedulingGates": [{"name": "later"}]})
        async with a_scheduler(api) as daemon:
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.GATED]))
            await asyncio.sleep(600)
            assert not server.written
            server.change("Pod", "p", "spec", "default", schedulingGates=None)
            await until(lambda: server.nodes_of()["p"] == "a")


async def test_a_pod_that_goes_while_it_waits_is_forgotten() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("p", cpu="2")
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.UNSCHEDULABLE]))
            server.delete("Pod", "p", "default")
            await until(lambda: not len(daemon.queue))


async def test_nothing_is_bound_without_the_permission_to_write() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a"))
        server.create("p")
        remaining = [0.0]
        async with a_scheduler(api, permit=lambda: remaining[0]):
            await asyncio.sleep(60)
            assert not server.written
            remaining[0] = 60.0
            await until(lambda: server.nodes_of()["p"] == "a")


async def test_a_more_important_pod_has_the_least_important_ones_deleted_and_gets_their_place() -> None:
    async with a_server() as (server, api):
        for each in "ab":
            server.put("Node", a_node(each, cpu="1"))
        server.create("low", cpu="800m", priority=1, node="a")
        server.create("middle", cpu="800m", priority=5, node="b")
        server.create("high", cpu="800m", priority=10)
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: server.pod("high").get("status", {}).get("nominatedNodeName") == "a")
            assert server.pod("high")["status"]["conditions"][0]["message"].startswith("0/2 nodes are available")
            await until(lambda: server.nodes_of().get("high") == "a")
        assert notes.victims == ["low"]
        assert "nominatedNodeName" not in server.pod("high")["status"]


async def test_a_less_important_pod_does_not_take_the_place_that_is_kept_for_one_that_preempts() -> None:
    async with a_server(grace=30.0) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("low", cpu="800m", priority=1, node="a")
        server.create("high", cpu="800m", priority=10)
        async with a_scheduler(api):
            await until(lambda: server.pod("high").get("status", {}).get("nominatedNodeName") == "a")
            server.create("sly", cpu="800m", priority=5)
            await until(lambda: server.nodes_of().get("high") == "a")
            assert server.nodes_of()["sly"] is None


async def test_a_nomination_outlives_a_scheduler() -> None:
    async with a_server(grace=30.0) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("low", cpu="800m", priority=1, node="a")
        server.create("high", cpu="800m", priority=10)
        async with a_scheduler(api):
            await until(lambda: server.pod("high").get("status", {}).get("nominatedNodeName") == "a")
        server.create("sly", cpu="800m", priority=5)
        async with a_scheduler(api):
            await until(lambda: server.nodes_of().get("high") == "a")
            assert server.nodes_of()["sly"] is None


async def test_victims_that_cannot_be_deleted_are_tried_again() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("low", cpu="800m", priority=1, node="a")
        server.create("high", cpu="800m", priority=10)
        troubles = [500] * 8
        server.trouble = lambda what: troubles.pop() if what == "delete" and troubles else None
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: server.nodes_of().get("high") == "a")
        assert Result.ERROR in {each.result for each in notes.attempts}


async def test_preemption_is_tried_for_pods_that_fit_nowhere_if_the_profile_preempts() -> None:
    """As kube-scheduler counts it: also for a pod that may not preempt, and not for one that is not decided about."""
    without = structs.replace(DEFAULT_PROFILE, name="calm", plugins=DEFAULT_PROFILE.plugins | {"postFilter": ()})
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("fits")
        server.create("polite", cpu="2", spec={"preemptionPolicy": "Never"})
        server.create("calm", cpu="2", spec={"schedulerName": "calm"})
        server.create("claims", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]})
        notes = Notes()
        async with a_scheduler(api, notes, profiles=(DEFAULT_PROFILE, without)):
            await until(lambda: len({each.pod.name for each in notes.attempts}) == 4)
        tried = {each.pod.name: each.tried_preemption for each in notes.attempts}
        assert tried == {"fits": False, "polite": True, "calm": False, "claims": False}


async def test_the_parts_of_an_attempt_are_timed_and_sometimes_each_plugin_that_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws = iter([0.05, 0.1, 0.5])
    monkeypatch.setattr(daemon_module, "random", lambda: next(draws))
    async with a_server(latency=2.0) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.put("Node", a_node("b", cpu="1"))
        for name, priority in (("sampled", 9), ("other", 8)):
            server.create(name, cpu="100m", priority=priority)
        server.create("large", cpu="9", priority=7)
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: len(notes.attempts) == 3)
        parts = {each.pod.name: dict(each.parts) for each in notes.attempts}
    scored = {"sampled", "other"}
    whole = {("Filter", "", "Success"), ("Score", "", "Success"), ("Bind", "", "Success")}
    assert all({part for part in parts[name] if not part[1]} == whole for name in scored)
    plugins = {plugin for _, plugin, _ in parts["sampled"] if plugin}
    assert {"NodeResourcesFit", "ImageLocality"} <= plugins
    assert {plugin for _, plugin, _ in parts["other"]} == {""}
    assert set(parts["large"]) == {("Filter", "", "Success"), ("PostFilter", "", "Unschedulable")}
    timed = parts["sampled"]
    assert sum(timed["Score", each, "Success"] for each in plugins) <= timed["Score", "", "Success"]
    assert timed["Bind", "", "Success"] >= 2.0


async def test_a_pod_that_the_kubelet_rejects_gives_its_room_back_and_its_replacement_goes_elsewhere() -> None:
    """Another scheduler took the last place of a node at the same time: the node is over-committed until its kubelet rejects one."""
    async with a_server(latency=1.0) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("ours", cpu="800m")
        async with a_scheduler(api) as daemon:
            await until(lambda: daemon.mirror.is_assumed(server.pod("ours")["metadata"]["uid"]))
            server.create("theirs", cpu="800m", node="a", spec={"schedulerName": "somebody"})
            await until(lambda: server.nodes_of()["ours"] == "a")
            await until(lambda: daemon.mirror.state.requested[0].sum() == 1600)
            server.change("Pod", "ours", "status", "default", phase="Failed", reason="OutOfcpu")
            await until(lambda: daemon.mirror.state.requested[0].sum() == 800)
            server.create("again", cpu="800m")
            await until(lambda: daemon.queue.lengths()[QueuePlace.UNSCHEDULABLE] == 1)
            assert server.nodes_of()["again"] is None
            server.put("Node", a_node("b", cpu="1"))
            await until(lambda: server.nodes_of()["again"] == "b")
        assert [each.node for each in server.bindings] == ["a", "b"]


async def test_a_pod_that_waits_takes_the_room_of_one_that_the_kubelet_rejects() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("ours", cpu="800m")
        async with a_scheduler(api) as daemon:
            await until(lambda: server.nodes_of()["ours"] == "a")
            server.create("waits", cpu="800m")
            await until(lambda: daemon.queue.lengths()[QueuePlace.UNSCHEDULABLE] == 1)
            server.change("Pod", "ours", "status", "default", phase="Failed", reason="OutOfcpu")
            await until(lambda: server.nodes_of()["waits"] == "a", 60)
            await asyncio.sleep(600)
        assert [each.name for each in server.bindings] == ["ours", "waits"]


async def test_a_pod_that_a_plugin_fails_on_is_an_error_and_the_others_are_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempt = Schedulers.attempt

    def failing(self: Schedulers, pod: int, start: int, timer: PhaseTimer) -> PodAttempt:
        if self.nominations._pods.names[pod] == "odd":
            self.nominations._state.place(pod, 0)
            raise ValueError("too odd")
        return attempt(self, pod, start, timer)

    monkeypatch.setattr(Schedulers, "attempt", failing)
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("odd", cpu="1", priority=7)
        server.create("p", cpu="1")
        notes = Notes()
        async with a_scheduler(api, notes):
            await until(lambda: server.nodes_of()["p"] == "a")
            assert server.pod("odd")["status"]["conditions"][0]["reason"] == "SchedulerError"
        assert "a decision failed: ValueError: too odd" in notes.warnings


async def test_a_pod_on_its_way_out_is_not_bound() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a"))
        server.create("p", deleted="2026-11-21T09:30:00Z")
        server.create("later")
        async with a_scheduler(api) as daemon:
            await until(lambda: server.nodes_of()["later"] == "a")
            assert server.written == [("binding", "later")]
            assert not len(daemon.queue)


async def test_nothing_is_decided_on_what_nobody_knows_any_more_and_people_are_told() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a"))
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: daemon.live.ready)
            server.die()
            await asyncio.sleep(400)
            assert any(each.endswith("and pods that depend on it are not scheduled") for each in notes.warnings)
            server.dead = False
            server.create("p")
            await until(lambda: server.nodes_of()["p"] == "a")
