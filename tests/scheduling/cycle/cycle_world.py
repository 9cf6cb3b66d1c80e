"""A scheduling cycle on a cluster that changes at random, step by step.

The cluster is a store of objects; the cycle decides on a mirror of it, which lags behind. Its actions are carried out
late, in any order, and fail now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import numpy as np

from builders import Object, a_node, a_pod
from builders.cluster_objects import a_coscheduled_group, a_pod_group, in_group
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.state import ClusterState
from restow.kube.objects import KINDS
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.cycle.actions import Bind, MarkGroup, MarkUnschedulable
from restow.scheduling.cycle.cycle import ClusterChanges, SchedulingCycle
from restow.scheduling.cycle.mirror import Mirror
from restow.scheduling.framework.coscheduled_groups import KIND as COSCHEDULED
from restow.scheduling.framework.coscheduled_groups import CoscheduledKey
from restow.scheduling.framework.requeueing import PodFacts
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduling.configurations import COSCHEDULING

NODES = ("n0", "n1", "n2")
_ROOM = 1000
#: How many pods the gang needs.
_LEAST = 2


class Objects:
    """The objects of an API server, in memory; it notes which ones have changed."""

    def __init__(self, mirror: Mirror) -> None:
        self.store = ClusterStore()
        self.pods: dict[str, Object] = {}
        self.nodes: dict[str, Object] = {}
        self.groups: dict[str, Object] = {}
        self._mirror = mirror

    def snapshot(self) -> ClusterSnapshot:
        return self.store.snapshot()

    def put(self, kind: str, made: Object) -> None:
        name = made["metadata"]["name"]
        self._of(kind)[name] = made
        self.store.add(kind, [msgspec.json.decode(msgspec.json.encode(made), type=KINDS[kind])])
        self._mirror.touch(kind, [("" if kind == "Node" else "default", name)])

    def remove(self, kind: str, name: str) -> None:
        del self._of(kind)[name]
        namespace = "" if kind == "Node" else "default"
        self.store.remove(kind, namespace, name)
        self._mirror.touch(kind, [(namespace, name)])

    def _of(self, kind: str) -> dict[str, Object]:
        return {"Node": self.nodes, "Pod": self.pods}.get(kind, self.groups)

    def uid(self, name: str) -> str | None:
        found = self.pods.get(name)
        return None if found is None else found["metadata"]["uid"]

    def node_of(self, name: str) -> str:
        return self.pods[name]["spec"].get("nodeName", "")


class World:
    """A cycle, the objects, and the actions that are not carried out yet."""

    def __init__(self, seed: int, profile: SchedulerProfile = DEFAULT_PROFILE) -> None:
        self.chance, self.now, self.made = Random(seed), 0.0, 0
        #: Whether it is the plugin Coscheduling that binds a gang or none of it.
        self.coschedules = profile is COSCHEDULING
        self.mirror = Mirror((profile,))
        self.objects = Objects(self.mirror)
        for name in NODES:
            self.objects.put("Node", a_node(name, cpu=f"{_ROOM}m"))
        self.put_the_group()
        self.mirror.begin(self.objects)
        self.cycle = SchedulingCycle(self.mirror, (profile,), Random(seed), self.now)
        self.cycle.begin(self.now)
        self.running: list[Bind | MarkUnschedulable] = []
        self.bound: list[str] = []

    def step(self, what: str) -> None:
        """One thing happens."""
        self.now += self.chance.choice((0.0, 0.01, 0.7))
        pods = sorted(self.objects.pods)
        match what:
            case "create":
                self.create()
            case "delete" if pods:
                self.objects.remove("Pod", self.chance.choice(pods))
            case "bump" if pods:
                self.bump(self.objects.pods[self.chance.choice(pods)])
            case "node":
                self.change_a_node()
            case "group":
                self.change_the_group()
            case "look":
                self.look()
            case "try":
                self.attempt()
            case "end" if self.running:
                self.end(self.running.pop(self.chance.randrange(len(self.running))), fails=self.chance.random() < 0.3)
            case "wait":
                self.now += self.chance.choice((1.0, 12.0, 400.0))

    def create(self) -> None:
        """A pod comes, some with a gate, a priority, or the name of one that was there."""
        self.made += 1
        name = f"p{self.made if self.chance.random() < 0.8 else self.chance.randrange(self.made)}"
        spec = {"schedulingGates": [{"name": "g"}]} if self.chance.random() < 0.1 else {}
        labels = {}
        if self.chance.random() < 0.3:
            labels, more = ({POD_GROUP_LABEL: "gang"}, {}) if self.coschedules else ({}, in_group("gang"))
            spec |= more
        cpu, priority = self.chance.choice((100, 400, 700)), self.chance.choice((0, 0, 5))
        pod = a_pod(name, uid=f"{name}-{self.made}", cpu=f"{cpu}m", priority=priority, labels=labels, spec=spec)
        self.objects.put("Pod", pod)

    def bump(self, pod: Object) -> None:
        """Something of a pod changes; one that has failed stays so."""
        phase = self.chance.choice(("Pending", "Failed"))
        if pod.get("status", {}).get("phase") != "Failed":
            self.objects.put("Pod", pod | {"status": {"phase": phase}})

    def change_a_node(self) -> None:
        name = self.chance.choice(NODES)
        if name in self.objects.nodes and self.chance.random() < 0.4:
            self.objects.remove("Node", name)
        else:
            self.objects.put("Node", a_node(name, cpu=f"{_ROOM * self.chance.choice((1, 2))}m"))

    def change_the_group(self) -> None:
        if self.objects.groups:
            self.objects.remove(COSCHEDULED if self.coschedules else "PodGroup", "gang")
        else:
            self.put_the_group()

    def put_the_group(self) -> None:
        if self.coschedules:
            self.objects.put(COSCHEDULED, a_coscheduled_group("gang", _LEAST))
        else:
            self.objects.put("PodGroup", a_pod_group("gang", least=_LEAST))

    def look(self) -> None:
        """The mirror catches up."""
        self.cycle.follow(self.mirror.catch_up(), self.now)

    def attempt(self) -> None:
        """The first waiting pod is tried, as the daemon does it: only when the mirror has caught up."""
        self.look()
        queued = self.cycle.queue.pop(self.now)
        if queued is None:
            return
        assert queued.key not in {each.queued.key for each in self.running}
        tried = self.cycle.tried_with(queued, self.now)
        before = _places(self.mirror.state)
        actions = [each for each in self.cycle.attempt(tried) if not isinstance(each, MarkGroup)]
        assert [each.queued for each in actions] == tried
        if self.coschedules and not self.objects.groups:
            assert not any(isinstance(each, Bind) and is_coscheduled(each.queued.pod) for each in actions)
        if queued not in tried:
            assert self.cycle.queue.get(queued.key) is None
        if not any(isinstance(each, Bind) for each in actions):
            # What was assumed meanwhile is taken back.
            assert _places(self.mirror.state) == before
        for each in actions:
            assert self.cycle.queue.place(each.queued.key) is QueuePlace.IN_FLIGHT
            assert self.mirror.is_assumed(each.queued.key) is isinstance(each, Bind)
        self._check_gang(actions)
        self.running += actions

    def _check_gang(self, actions: Sequence[Bind | MarkUnschedulable]) -> None:
        """Of a gang enough pods have nodes now, or none has got one."""
        placed = [each.queued.pod for each in actions if isinstance(each, Bind)]
        schedulers = self.mirror.schedulers
        if any(each.group for each in placed):
            assert len(schedulers.groups.placed(("default", "gang"))) >= _LEAST
        if any(map(is_coscheduled, placed)):
            assert len(schedulers.coscheduled.placed(CoscheduledKey("default", "gang"))) >= _LEAST

    def end(self, action: Bind | MarkUnschedulable, *, fails: bool) -> None:
        """An action is carried out, as far as the API server lets it."""
        queued, cycle = action.queued, self.cycle
        name = queued.pod.name
        is_there = self.objects.uid(name) == queued.key and not self.objects.node_of(name)
        if isinstance(action, MarkUnschedulable):
            for victim in () if fails else action.victims:
                if self.objects.uid(victim.name) == victim.uid:
                    self.objects.remove("Pod", victim.name)
            cycle.requeue(queued, frozenset() if fails else action.rejected_by, self.now)
        elif is_there and not fails and action.node in self.objects.nodes:
            assert queued.key not in self.bound
            self.bound.append(queued.key)
            pod = self.objects.pods[name]
            self.objects.put("Pod", pod | {"spec": pod["spec"] | {"nodeName": action.node}})
            cycle.queue.delete(queued.key)
        else:
            cycle.notify(ClusterChanges(pods=self.mirror.forget(queued.key)), self.now)
            cycle.requeue(queued, frozenset(), self.now)

    def check(self) -> None:
        """What the cycle believes is what there is, and every pod is in its place."""
        self.look()
        self.mirror.state.validate()
        there = {uid: self.objects.node_of(name) for name in self.objects.pods if (uid := self.objects.uid(name))}
        assumed = {each.queued.key: each.node for each in self.running if isinstance(each, Bind)}
        expected = {uid: node or assumed.get(uid, "") for uid, node in there.items()}
        assert _places(self.mirror.state) == {
            uid: node if node in self.objects.nodes else "" for uid, node in expected.items()
        }
        assert {uid for uid in there if self.mirror.is_assumed(uid)} == assumed.keys() & {
            uid for uid, node in there.items() if not node
        }
        running = {each.queued.key for each in self.running}
        waiting = {
            made["metadata"]["uid"]
            for name, made in self.objects.pods.items()
            if not self.objects.node_of(name) and made.get("status", {}).get("phase") != "Failed"
        }
        queued = {each.key for each in self.cycle.queue}
        assert waiting - running <= queued <= waiting | running
        places = {each.key: self.cycle.queue.place(each.key) for each in self.cycle.queue}
        assert {key for key, place in places.items() if place is QueuePlace.IN_FLIGHT} <= running

    def finish(self) -> None:
        """Nothing happens any more but that everything is carried out."""
        for _ in range(200):
            self.attempt()
            while self.running:
                self.end(self.running.pop(), fails=False)
            self.now += 5.0
        self.look()


def _places(state: ClusterState) -> dict[str, str]:
    names, uids = state.cluster.nodes.names, state.cluster.pods.uids
    nodes = {int(row): int(state.node[row]) for row in np.flatnonzero(state.exists)}
    return {uids[row]: names[node] if node >= 0 else "" for row, node in nodes.items()}


def is_coscheduled(pod: PodFacts) -> bool:
    """Whether a pod names a group of Coscheduling."""
    return POD_GROUP_LABEL in pod.labels
