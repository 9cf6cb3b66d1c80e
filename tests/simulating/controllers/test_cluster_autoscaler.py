"""The cluster autoscaler: when nodes come, when they go, and which pods keep them."""

from __future__ import annotations

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerSettings, NodeGroup
from simulating.manifests import a_controller, a_template
from simulating.scenes import MINUTE, Scene


def a_group(name="pool", *, least=0, most=3, cpu="1", **node):
    return NodeGroup(name, least, most, manifest_of(a_node(name, cpu=cpu, memory="8Gi", labels={"pool": name}, **node)))


class Growing(Scene):
    """A cluster of one node with room for ten pods that request 100m, and a group whose nodes are as large."""

    def __init__(self, *groups, **settings) -> None:
        super().__init__(1, cpu="1")
        self.ordered = []
        self.autoscaler = ClusterAutoscaler(
            self.simulation, ClusterAutoscalerSettings(groups or (a_group(),), **settings)
        )
        self.autoscaler.listeners.append(lambda each: self.ordered.append((each.group, each.old, each.node)))
        self.autoscaler.start()

    def nodes(self):
        return sorted(each.metadata.name for each in self.store.list("Node"))

    def taints(self, node):
        return self.store.get("Node", "", node).spec.taints or ()

    def scale(self, replicas, **template):
        self.store.apply(a_controller("Deployment", "web", replicas, template=a_template("web") | template))
        return self


def test_as_many_nodes_come_as_the_pods_need_that_fit_nowhere():
    scene = Growing().scale(25)
    scene.run(60)
    assert scene.nodes() == ["n1"]
    scene.run(20)
    assert scene.nodes() == ["n1", "pool-1", "pool-2"]
    assert all(pod.node for pod in scene.run(10).pods("web"))
    assert scene.ordered == [("pool", 0, "pool-1"), ("pool", 1, "pool-2")]


def test_while_a_node_is_on_its_way_no_other_comes_for_the_same_pods():
    scene = Growing(provisioning=5 * MINUTE).scale(15)
    assert scene.run(600).nodes() == ["n1", "pool-1"]


def test_a_group_never_has_more_than_its_most():
    assert Growing(a_group(most=2)).scale(99).run(600).nodes() == ["n1", "pool-1", "pool-2"]


def test_pods_that_fit_on_no_node_of_a_group_are_left():
    big = a_template("web")
    big["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    assert Growing().scale(1, **big).run(600).nodes() == ["n1"]
    tainted = a_group(taints=[{"key": "only", "effect": "NoSchedule"}])
    assert Growing(tainted).scale(15).run(600).nodes() == ["n1"]


def test_the_first_group_grows_whose_nodes_a_pod_fits_on():
    selecting = a_template("web", nodeSelector={"pool": "second"})
    scene = Growing(a_group("first"), a_group("second")).scale(1, **selecting)
    assert scene.run(120).nodes() == ["n1", "second-1"]


def shrinking(group=None, **settings):
    """A scene whose group has got a node, on which two pods are left that fit on n1 by now."""
    scene = Growing(group or a_group(), **settings)
    scene.store.apply(a_controller("Deployment", "first", 5))
    scene.run(5)
    scene.scale(10).run(120)
    assert scene.nodes() == ["n1", "pool-1"]
    scene.delete("Deployment", "first")
    return scene.scale(7)


def test_a_node_of_which_little_is_requested_goes_after_ten_minutes():
    scene = shrinking()
    scene.run(9 * 60)
    assert scene.nodes() == ["n1", "pool-1"]
    scene.run(5 * 60)
    assert scene.nodes() == ["n1"]
    assert all(pod.node == "n1" for pod in scene.pods("web"))


def test_none_goes_soon_after_one_was_ordered():
    scene = shrinking(unneeded_time=0, delay_after_add=20 * MINUTE)
    assert scene.run(17 * 60).nodes() == ["n1", "pool-1"]
    assert scene.run(2 * 60).nodes() == ["n1"]


def test_a_group_never_has_fewer_than_its_least():
    assert shrinking(a_group(least=1)).run(3600).nodes() == ["n1", "pool-1"]


def test_a_node_stays_whose_pods_fit_nowhere_else():
    scene = Growing().scale(15)
    assert scene.run(3600).nodes() == ["n1", "pool-1"]


def test_pods_that_may_not_be_moved_keep_their_node():
    kept = {"volumes": [{"name": "data", "emptyDir": {}}]}
    scene = Growing()
    scene.store.apply(a_controller("Deployment", "first", 8))
    scene.run(5)
    scene.scale(7, **a_template("web", **kept)).run(120)
    scene.delete("Deployment", "first")
    assert scene.run(3600).nodes() == ["n1", "pool-1"]


def test_a_removal_that_a_budget_holds_up_is_given_up_after_ten_minutes():
    scene = shrinking()
    document = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}}
    budget = manifest_of(document | {"spec": {"minAvailable": 7, "selector": {"matchLabels": {"app": "web"}}}})
    scene.autoscaler.listeners.append(lambda _: scene.store.apply(budget))
    scene.run(11 * 60)
    assert [each.key for each in scene.taints("pool-1")] == ["ToBeDeletedByClusterAutoscaler"]
    scene.run(10 * 60)
    assert scene.taints("pool-1") == ()


def test_nodes_of_no_group_stay():
    scene = Growing()
    assert scene.run(3600).nodes() == ["n1"]
