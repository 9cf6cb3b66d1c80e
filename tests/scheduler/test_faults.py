"""Whatever goes wrong between a scheduler and its API server: no pod is bound to a node that is gone, none is forgotten.

Random clusters change while requests are refused, delayed and lost, watches break and the scheduler itself is killed.
Once all of that ends, every pod that fits somewhere is bound, nodes hold no more than they can, and what the scheduler
believes is what the API server has.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from builders import a_node
from live.apiserver import now
from restow.client.transport import Api
from restow.scheduler.daemon import SchedulerDaemon
from scheduler.double import AFTER, BEFORE, SchedulingServer, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

#: CPU of each node, and of each pod that fits: three of them on a node.
_NODE, _POD = "1", "300m"
_ROOM = 3
#: More pods than there is room for at most times.
_MOST = 16
#: Seconds that a request may be under way, and be repeated, after a node has gone.
_NEWS = 10.0
#: Seconds that a request takes at most.
_LONGEST = 1.0
_TROUBLES = (None, None, None, AFTER, BEFORE, 409, 404, 429, 500, 503)


@dataclass
class Scene:
    """A cluster that changes at random."""

    server: SchedulingServer
    chance: Random
    made: int = 0
    #: When each node went.
    gone: dict[str, float] = field(default_factory=dict)

    def begin(self) -> None:
        for at in range(4):
            self.server.put("Node", a_node(f"n{at}", cpu=_NODE))
        self.server.create("theirs", cpu=_POD, node="n0", spec={"schedulerName": "somebody"})
        self.server.trouble = lambda _: self.chance.choice(_TROUBLES)
        self.server.cut_after = 2.0

    def change(self) -> None:
        """Something happens, and answers take another time from now on."""
        self.server.latency = self.chance.choice((0.01, 0.3, _LONGEST))
        pods = sorted(name for _, name in self.server.objects["Pod"] if name.startswith("p"))
        match self.chance.randrange(10):
            case 0:
                self._swap_node(f"n{self.chance.randrange(6)}")
            case 1 if pods:
                self.server.delete("Pod", self.chance.choice(pods), "default")
            case 2 if pods:
                self._make_again(self.chance.choice(pods))
            case 3:
                self._create(gates=[{"name": "later"}])
            case 4 if pods:
                self.server.change("Pod", self.chance.choice(pods), "spec", "default", schedulingGates=None)
            case 5:
                self.server.forget()
            case 6 if pods:
                labels = {"v": str(self.server.version)}
                self.server.change("Pod", self.chance.choice(pods), "metadata", "default", labels=labels)
            case _:
                self._create()

    def calm(self) -> None:
        """Nothing goes wrong from now on, and there is room on one node for all that waits."""
        self.server.trouble = lambda _: None
        self.server.cut_after = 60.0
        for _, name in sorted(self.server.objects["Pod"]):
            self.server.change("Pod", name, "spec", "default", schedulingGates=None)
        self.server.put("Node", a_node("spare", cpu="100"))

    def _create(self, gates: list[dict[str, str]] | None = None) -> None:
        if len(self.server.objects["Pod"]) < _MOST:
            self.made += 1
            self.server.create(f"p{self.made}", cpu=_POD, spec={"schedulingGates": gates} if gates else None)

    def _make_again(self, name: str) -> None:
        self.server.delete("Pod", name, "default")
        self.server.create(name, cpu=_POD)

    def _swap_node(self, name: str) -> None:
        if ("", name) in self.server.objects["Node"]:
            self.server.delete("Node", name)
            self.gone[name] = now()
        else:
            self.gone.pop(name, None)
            self.server.put("Node", a_node(name, cpu=_NODE))


class Seats:
    """Checks each binding as it comes, against the cluster as it is at that moment."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._seen = 0

    def check(self) -> None:
        server = self._scene.server
        for each in server.bindings[self._seen :]:
            gone = self._scene.gone.get(each.node)
            assert gone is None or each.at - gone < _NEWS, f"{each.name} was bound to {each.node} long after it went"
        self._seen = len(server.bindings)
        uids = Counter(each.uid for each in server.bindings)
        assert not uids or max(uids.values()) == 1, "a pod was bound twice"
        on_node = Counter(node for node in server.nodes_of().values() if node is not None and node != "spare")
        assert all(count <= _ROOM for count in on_node.values()), f"a node has too many pods: {on_node}"


async def run(scene: Scene, api: Api, *, restarts: bool) -> None:
    seats = Seats(scene)
    async with AsyncExitStack() as stack:
        daemon = await stack.enter_async_context(a_scheduler(api))
        for _ in range(60):
            scene.change()
            await asyncio.sleep(scene.chance.random())
            seats.check()
            if restarts and scene.chance.random() < 0.1:
                await stack.aclose()
                # Whoever follows waits for the lease, longer than a request takes.
                await asyncio.sleep(_LONGEST)
                daemon = await stack.enter_async_context(a_scheduler(api))
        scene.calm()
        await until(lambda: all(node is not None for node in scene.server.nodes_of().values()))
        await until(lambda: knows(daemon, scene.server))
        seats.check()
        daemon.mirror.state.validate()


def knows(daemon: SchedulerDaemon, server: SchedulingServer) -> bool:
    """Whether a scheduler believes of all pods what the API server has."""
    state = daemon.mirror.state
    pods, nodes = state.cluster.pods, state.cluster.nodes
    known = {
        pods.names[pod]: nodes.names[state.node[pod]] if state.node[pod] >= 0 else None
        for pod in np.flatnonzero(state.exists).tolist()
    }
    there = {name: node if ("", node) in server.objects["Node"] else None for name, node in server.nodes_of().items()}
    return known == there and not len(daemon.queue) and not daemon.mirror.is_behind


@pytest.mark.parametrize("seed", range(4))
async def test_random_faults_lose_and_double_nothing(seed: int) -> None:
    async with a_server() as (server, api):
        scene = Scene(server, Random(seed))
        scene.begin()
        await run(scene, api, restarts=False)


@pytest.mark.parametrize("seed", range(3))
async def test_a_scheduler_that_is_killed_again_and_again_loses_and_doubles_nothing(seed: int) -> None:
    async with a_server() as (server, api):
        scene = Scene(server, Random(seed))
        scene.begin()
        await run(scene, api, restarts=True)
