"""Simulated schedulers place pods as kube-scheduler does, with chance where it leaves things to chance."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from builders import a_node, a_pdb, selector
from builders.cluster_objects import a_coscheduled_group, a_pod_group, in_group
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.kube.manifests import manifest_of
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.simulating.actors import start_actors
from restow.simulating.virtual_cluster import VirtualCluster
from scheduling.configurations import COSCHEDULING
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenes import MINUTE, START, Scene


def asking(cpu, **fields):
    """A container that requests so much CPU."""
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]} | fields


def condition(pod, kind):
    """Status and reason of a condition."""
    return next(((each.status, each.reason) for each in pod.status.conditions or () if each.type == kind), None)


def test_a_pod_that_fits_nowhere_says_so_and_gets_a_node_when_there_is_one():
    """Within seconds of the event that helps."""
    scene = Scene(nodes=1)
    scene.store.apply(a_bare_pod("large", **asking("6")))
    scene.run(60)
    assert condition(scene.get("Pod", "large"), "PodScheduled") == ("False", "Unschedulable")
    scene.store.load(manifest_of(a_node("n2", cpu="8", memory="8Gi")))
    scene.settle()
    assert scene.get("Pod", "large").node == "n2"
    assert condition(scene.get("Pod", "large"), "PodScheduled") == ("True", None)


def test_ties_are_broken_by_the_seed():
    """The same seed gives the same node, and over many seeds every node has its share."""

    def landed(seed):
        scene = Scene(nodes=4, seed=seed)
        scene.store.apply(a_bare_pod("p"))
        scene.settle()
        return scene.get("Pod", "p").node

    nodes = Counter(map(landed, range(60)))
    assert [landed(5), landed(6)] == [landed(5), landed(6)]
    assert set(nodes) == {"n1", "n2", "n3", "n4"}


def test_a_more_important_pod_takes_the_place_of_others():
    """It is nominated for the node, and its victims have their time to end."""
    scene = Scene(nodes=1)
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    scene.store.apply(manifest_of(high))
    scene.store.apply(
        a_controller("ReplicaSet", "web", 4, template={"metadata": {"labels": {"app": "web"}}, "spec": asking("1")})
    )
    scene.settle()
    scene.store.apply(a_bare_pod("important", **asking("2", priorityClassName="high")))
    scene.run(0.5)
    important = scene.get("Pod", "important")
    assert (important.node, important.status.nominated_node_name) == ("", "n1")
    victims = [pod for pod in scene.pods("web") if pod.metadata.is_terminating]
    assert [condition(pod, "DisruptionTarget") for pod in victims] == [("True", "PreemptionByScheduler")] * 2
    scene.run(60)
    scene.check()
    assert scene.get("Pod", "important").node == "n1"
    assert sum(pod.node == "n1" for pod in scene.pods("web")) == 2
    assert sum(not pod.node for pod in scene.pods("web")) == 2


def test_preemption_goes_by_the_budgets_of_the_moment():
    """A budget that comes to forbid what it allowed before is spared by the next pod that preempts."""
    scene = Scene(nodes=2, cpu="2")
    scene.store.apply(manifest_of({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}))
    for name, node in (("a-1", "n1"), ("a-2", "n1"), ("b-1", "n2"), ("b-2", "n2")):
        scene.store.apply(a_bare_pod(name, metadata={"labels": {"app": name[0]}}, **asking("1", nodeName=node)))
    budgets = [manifest_of(a_pdb(app, selector=selector(labels={"app": app}), min_available=0)) for app in "ab"]
    for budget in budgets:
        scene.store.apply(budget)
    scene.settle()

    def preempted(name):
        """The apps whose pods a new pod has to go."""
        scene.store.apply(a_bare_pod(name, **asking("1", priorityClassName="high")))
        scene.run(0.5)
        return {pod.metadata.labels["app"] for pod in scene.pods() if condition(pod, "DisruptionTarget")}

    assert preempted("first") == {"a"}
    scene.run(60)
    spared = structs.replace(budgets[0].spec, min_available=2)
    scene.store.apply(structs.replace(budgets[0], spec=spared))
    scene.run(60)
    assert preempted("second") == {"b"}


def test_a_gate_holds_a_pod_back():
    """Until it is taken away."""
    scene = Scene()
    scene.store.apply(a_bare_pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    scene.run(60)
    pod = scene.get("Pod", "p")
    assert pod.node == ""
    scene.store.update(structs.replace(pod, spec={**pod.spec, "schedulingGates": []}))
    scene.settle()
    assert scene.get("Pod", "p").node


def test_a_scheduler_leaves_pods_of_others_alone():
    """Those that name another one wait for that."""
    scene = Scene()
    scene.store.apply(a_bare_pod("p", schedulerName="mine"))
    scene.run(3600)
    assert scene.get("Pod", "p").node == ""


def test_two_schedulers_that_decide_at_once_overdraw_a_node_and_its_kubelet_refuses_one_pod():
    """Each sees what the other has bound, not what it is about to bind."""
    simulation = VirtualCluster.at(START, seed=1)
    start_actors(simulation, [(DEFAULT_PROFILE,), (structs.replace(DEFAULT_PROFILE, name="mine"),)])
    simulation.store.load(manifest_of(a_node("n1", cpu="4", memory="8Gi")))
    for name in ("default-scheduler", "mine"):
        simulation.store.apply(a_bare_pod(name, **asking("3", schedulerName=name)))
    simulation.clock.run(START + 2 * MINUTE)
    ended = {pod.status.phase: pod.status.reason for pod in simulation.store.list("Pod")}
    assert ended == {"Running": None, "Failed": "OutOfcpu"}
    state = simulation.view.state
    state.validate()
    assert (state.requested <= state.cluster.nodes.allocatable).all()


def test_a_gang_starts_when_it_has_its_group_and_enough_pods():
    """All of it at once; until then nothing of it is on a node."""
    scene = Scene(nodes=2)
    for name in ("one", "two", "three"):
        scene.store.apply(a_bare_pod(name, **asking("1", **in_group("gang"))))
    scene.run(60)
    assert {scene.get("Pod", name).node for name in ("one", "two", "three")} == {""}
    scene.store.load(manifest_of(a_pod_group("gang", least=3)))
    scene.settle()
    assert all(scene.get("Pod", name).node for name in ("one", "two", "three"))


def test_a_gang_that_does_not_fit_leaves_its_room_to_others():
    scene = Scene(nodes=1)
    scene.store.load(manifest_of(a_pod_group("gang", least=2)))
    for name in ("one", "two"):
        scene.store.apply(a_bare_pod(name, **asking("3", **in_group("gang"))))
    scene.run(60)
    assert {scene.get("Pod", name).node for name in ("one", "two")} == {""}
    scene.store.apply(a_bare_pod("other", **asking("3")))
    scene.run(60)
    assert scene.get("Pod", "other").node


def test_a_group_of_coscheduling_is_bound_once_it_has_enough_pods():
    """Its pods come one after the other, and the last one starts all of them."""
    simulation = VirtualCluster.at(START, seed=1)
    start_actors(simulation, [(COSCHEDULING,)])
    simulation.store.load(manifest_of(a_node("n1", cpu="4", memory="8Gi")))
    simulation.store.load(manifest_of(a_coscheduled_group("g", 3)))
    nodes = []
    for at in range(3):
        labelled = {"metadata": {"labels": {POD_GROUP_LABEL: "g"}}}
        simulation.store.apply(a_bare_pod(f"p{at}", **asking("1"), **labelled))
        simulation.clock.run(START + (at + 1) * MINUTE)
        nodes.append([pod.node for pod in simulation.store.list("Pod")])
    assert nodes == [[""], ["", ""], ["n1", "n1", "n1"]]
