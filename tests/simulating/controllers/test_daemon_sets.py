"""DaemonSets have a pod on each node that they are for, and update them a few at a time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec import structs

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.kube.objects import Taint
from restow.simulating.controllers.daemon_sets import node_for
from restow.simulating.kubelets import EXIT_CODE, READY_DELAY, RUN_FOR
from simulating.manifests import a_controller, a_template
from simulating.scenes import Scene


def agent(image="example/agent:1", ready="5s", annotations=None, spec=None, **fields):
    """A DaemonSet whose pods run an image."""
    template = a_template("agent", containers=[{"name": "c", "image": image}], **(spec or {}))
    template["metadata"]["annotations"] = {READY_DELAY: ready} | (annotations or {})
    return a_controller("DaemonSet", "agent", template=template, **fields)


def places(scene):
    """The nodes of the pods."""
    return sorted(pod.node for pod in scene.pods("agent"))


def images(scene):
    """The versions of the images, by node."""
    pods = sorted(scene.pods("agent"), key=node_for)
    return [pod.spec["containers"][0]["image"][-1] for pod in pods]


def change(scene, name, **fields):
    """A node whose spec changes."""
    node = scene.store.get("Node", "", name)
    scene.store.update(structs.replace(node, spec=structs.replace(node.spec, **fields)))


def test_each_node_has_one_pod_those_that_come_too():
    """A cordoned one as well; one that is gone has none."""
    scene = Scene(nodes=3)
    change(scene, "n2", unschedulable=True)
    scene.store.apply(agent())
    scene.settle()
    assert places(scene) == ["n1", "n2", "n3"]
    scene.store.load(manifest_of(a_node("n4", cpu="4", memory="8Gi")))
    scene.settle()
    assert places(scene) == ["n1", "n2", "n3", "n4"]
    scene.store.delete("Node", "", "n1")
    scene.settle()
    assert places(scene) == ["n2", "n3", "n4"]
    status = scene.get("DaemonSet", "agent").status
    assert (status.desired_number_scheduled, status.number_ready, status.number_unavailable) == (3, 3, 0)


def test_taints_keep_new_pods_away_and_expelling_ones_old_ones_too():
    """What is tolerated by all DaemonSets does neither."""
    scene = Scene(nodes=3)
    change(scene, "n1", taints=(Taint("gpu", "yes", "NoSchedule"),))
    scene.store.apply(agent())
    scene.settle()
    assert places(scene) == ["n2", "n3"]
    change(scene, "n2", taints=(Taint("gpu", "yes", "NoSchedule"),))
    scene.settle()
    assert places(scene) == ["n2", "n3"]
    change(scene, "n3", taints=(Taint("gpu", "yes", "NoExecute"),))
    scene.settle()
    assert places(scene) == ["n2"]


def test_a_node_selector_says_which_nodes_and_a_label_that_goes_takes_the_pod_away():
    """Required node affinity counts the same."""
    scene = Scene(nodes=2)
    node = scene.store.get("Node", "", "n1")
    scene.store.update(structs.replace(node, metadata=structs.replace(node.metadata, labels={"disk": "ssd"})))
    scene.store.apply(agent(spec={"nodeSelector": {"disk": "ssd"}}))
    scene.settle()
    assert places(scene) == ["n1"]
    scene.store.update(structs.replace(scene.store.get("Node", "", "n1"), metadata=node.metadata))
    scene.settle()
    assert places(scene) == []


@pytest.mark.parametrize(("rule", "most_away"), [({}, 1), ({"maxUnavailable": 2}, 2), ({"maxUnavailable": "50%"}, 3)])
def test_an_update_takes_a_few_pods_away_at_a_time(rule, most_away):
    """As many as ``maxUnavailable``, rounded up."""
    scene = Scene(nodes=5)
    scene.store.apply(agent())
    scene.settle()
    away = []
    scene.store.subscribe(
        "Pod", lambda _: away.append(5 - sum(pod.is_active and pod.ready_since is not None for pod in scene.pods()))
    )
    strategy = {"type": "RollingUpdate", "rollingUpdate": rule}
    scene.store.apply(agent(image="example/agent:2", updateStrategy=strategy))
    scene.settle()
    assert max(away) == most_away
    assert images(scene) == ["2"] * 5


def test_a_surge_makes_new_pods_before_old_ones_go():
    """No node is ever without a pod that is ready; as many pods more than nodes are there as the surge allows."""
    scene = Scene(nodes=4)
    scene.store.apply(agent())
    scene.settle()
    ready, most = [], {}

    def look(_):
        ready.append(len({pod.node for pod in scene.pods() if pod.is_active and pod.ready_since is not None}))
        most[scene.clock.now] = len([pod for pod in scene.pods() if pod.is_active])

    scene.store.subscribe("Pod", look)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    scene.store.apply(agent(image="example/agent:2", updateStrategy=strategy))
    scene.settle()
    assert (min(ready), max(most.values())) == (4, 6)
    assert images(scene) == ["2"] * 4


def test_on_delete_only_what_others_delete_is_updated():
    """The rest stays as it is."""
    scene = Scene(nodes=3)
    manual = {"type": "OnDelete"}
    scene.store.apply(agent(updateStrategy=manual))
    scene.settle()
    scene.store.apply(agent(image="example/agent:2", updateStrategy=manual))
    scene.settle()
    assert images(scene) == ["1"] * 3
    scene.delete("Pod", next(pod.metadata.name for pod in scene.pods() if pod.node == "n2"))
    scene.settle()
    assert images(scene) == ["1", "2", "1"]


def test_pods_that_fail_are_made_again_later_each_time():
    """Twice as long."""
    scene = Scene(nodes=1)
    created = []

    def look(event):
        if event.old is None:
            created.append(scene.clock.now // 10**9)

    scene.store.subscribe("Pod", look)
    failing = {EXIT_CODE: "1", RUN_FOR: "0s"}
    scene.store.apply(agent(annotations=failing, ready="0s", spec={"restartPolicy": "Never"}))
    scene.run(120)
    gaps = [after - before for before, after in pairwise(created)]
    assert gaps[-1] > gaps[-2] > gaps[-3]


def test_a_pod_that_may_stay_where_none_would_be_made_is_not_noticed_at_once():
    """The taint keeps new pods away only; it is noticed when another node changes."""
    scene = Scene(2)
    scene.store.apply(a_controller("DaemonSet", "agent"))
    scene.settle()
    _taint(scene, "n1", "NoSchedule")
    assert scene.get("DaemonSet", "agent").status.number_misscheduled == 0
    _taint(scene, "n2", "NoExecute")
    assert scene.get("DaemonSet", "agent").status.number_misscheduled == 1


def _taint(scene, name, effect):
    node = scene.store.get("Node", "", name)
    scene.store.update(structs.replace(node, spec=structs.replace(node.spec, taints=(Taint("broken", "", effect),))))
    scene.settle()
