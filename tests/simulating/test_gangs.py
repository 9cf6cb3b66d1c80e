"""Gangs of Kubernetes 1.35 in a simulated cluster: pods wait on their nodes, for five minutes, until there are enough."""

from __future__ import annotations

from random import Random

import pytest

from builders import a_node
from builders.cluster_objects import a_gang_workload, of_workload
from restow.kube.manifests import manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.actors import start_actors
from restow.simulating.virtual_cluster import VirtualCluster
from simulating.manifests import a_bare_pod
from simulating.scenes import START


class Gangs:
    """A cluster with one node and a gang of so many pods."""

    def __init__(self, least, cpu="4"):
        self.simulation = VirtualCluster.at(START, seed=1, minor=35)
        (self.scheduler,) = start_actors(self.simulation).schedulers
        self.store = self.simulation.store
        self.add(a_node("n", cpu=cpu, memory="8Gi"))
        self.add(a_gang_workload("w", g=least))

    def add(self, made):
        self.store.load(manifest_of(made))

    def pod(self, name, cpu="1", priority=0, *, is_member=True):
        spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], "priority": priority}
        self.store.apply(a_bare_pod(name, **spec, **(of_workload("w", "g") if is_member else {})))

    def run(self, seconds):
        self.simulation.clock.run(self.simulation.clock.now + round(seconds * SECOND))

    def nodes(self):
        """By name, the node of each pod."""
        return {pod.metadata.name: pod.node for pod in self.store.list("Pod")}

    def get(self, name):
        return self.store.get("Pod", "default", name)

    def said(self, name):
        return self.scheduler.messages.get(("default", name), "")


def test_a_gang_is_bound_once_enough_of_its_pods_have_a_node():
    gangs = Gangs(least=3)
    for name in ("a", "b"):
        gangs.pod(name)
    gangs.run(60)
    assert gangs.nodes() == {"a": "", "b": ""}
    gangs.pod("c")
    gangs.run(60)
    assert set(gangs.nodes().values()) == {"n"}


def test_a_pod_that_waits_on_its_node_keeps_it_and_says_so():
    gangs = Gangs(least=2, cpu="2")
    gangs.pod("large", cpu="3")
    gangs.pod("small")
    gangs.run(60)
    gangs.pod("other", cpu="2", is_member=False)
    gangs.run(60)
    assert gangs.nodes() == {"large": "", "small": "", "other": ""}
    assert gangs.get("small").status.nominated_node_name == "n"
    assert gangs.said("other").startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_after_five_minutes_it_loses_its_node_to_others():
    gangs = Gangs(least=2, cpu="2")
    gangs.pod("large", cpu="3")
    gangs.pod("small")
    gangs.pod("other", cpu="2", is_member=False)
    gangs.run(299)
    assert gangs.nodes()["other"] == ""
    gangs.run(30)
    assert gangs.nodes() == {"large": "", "small": "", "other": "n"}
    assert gangs.get("small").status.nominated_node_name is None
    assert gangs.said("small") == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling."
    )


def test_a_pod_that_comes_later_waits_for_what_is_left_of_the_time():
    gangs = Gangs(least=3, cpu="2")
    for name in ("a", "b", "large"):
        gangs.pod(name, cpu="3" if name == "large" else "1")
    gangs.run(10)
    gangs.store.delete("Pod", "default", "b")
    gangs.run(190)
    gangs.pod("d")
    gangs.run(90)
    assert gangs.said("d") == ""
    gangs.run(30)
    assert "after waiting 1m" in gangs.said("d")


def test_a_pod_that_is_deleted_while_it_waits_leaves_its_room_at_once():
    gangs = Gangs(least=2, cpu="2")
    gangs.pod("large", cpu="3")
    gangs.pod("small")
    gangs.pod("other", cpu="2", is_member=False)
    gangs.run(30)
    gangs.store.delete("Pod", "default", "small")
    gangs.run(30)
    assert gangs.nodes() == {"large": "", "other": "n"}


def test_a_pod_that_is_preempted_while_it_waits_is_not_deleted():
    gangs = Gangs(least=2, cpu="2")
    gangs.pod("large", cpu="3")
    gangs.pod("small")
    gangs.run(30)
    gangs.pod("mighty", cpu="2", priority=9, is_member=False)
    gangs.run(30)
    assert gangs.nodes() == {"large": "", "small": "", "mighty": "n"}
    assert gangs.get("small").metadata.deletion_timestamp is None


def test_pods_of_a_gang_are_tried_when_its_workload_comes():
    gangs = Gangs(least=2)
    gangs.store.delete("Workload.scheduling.k8s.io", "default", "w")
    for name in ("a", "b"):
        gangs.pod(name)
    gangs.run(60)
    assert gangs.nodes() == {"a": "", "b": ""}
    gangs.add(a_gang_workload("w", g=2))
    gangs.run(60)
    assert gangs.nodes() == {"a": "n", "b": "n"}


def test_a_node_that_goes_takes_no_pod_that_waited_on_it():
    gangs = Gangs(least=2)
    gangs.pod("a")
    gangs.pod("large", cpu="9")
    gangs.run(30)
    gangs.store.delete("Node", "", "n")
    gangs.add(a_node("m", cpu="4", memory="8Gi"))
    gangs.pod("b")
    gangs.run(30)
    assert gangs.nodes()["a"] == ""


@pytest.mark.parametrize("seed", range(8))
def test_of_a_gang_no_pod_runs_or_enough_do(seed):
    """Whatever comes and goes meanwhile, unless a pod that ran is gone; and no node has more than its room."""
    random, gangs = Random(seed), Gangs(least=3)
    ran = set()
    for step in range(40):
        match random.choice(("member", "member", "other", "delete", "wait")):
            case "delete" if waiting := [name for name, node in gangs.nodes().items() if not node]:
                gangs.store.delete("Pod", "default", random.choice(waiting))
            case "member" | "other" as what:
                cpu, priority = random.choice(("500m", "1", "2")), random.choice((0, 0, 5))
                gangs.pod(f"{what}-{step}", cpu, priority, is_member=what == "member")
        gangs.run(random.choice((0.05, 1, 20, 200)))
        state = gangs.simulation.view.state
        state.validate()
        assert (state.requested <= state.cluster.nodes.allocatable).all()
        running = {name for name, node in gangs.nodes().items() if node and name.startswith("member")}
        if ran <= running:
            assert not running or len(running) >= 3
        ran |= running
