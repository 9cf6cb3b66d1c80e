"""What events do to a simulated cluster, with its controllers and kubelets."""

from __future__ import annotations

import pytest

from builders import a_pdb
from restow.kube.manifests import document_of
from restow.kube.objects import Taint
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenarios.staging import Staged


def written(manifest):
    """An object as it stands in a scenario."""
    return document_of(manifest)


def web(replicas=3, kind="Deployment", **fields):
    return written(a_controller(kind, "web", replicas, **fields))


def at(seconds, **action):
    return {"at": f"{seconds}s"} | action


def staged(*events, start=(), **fields):
    return Staged(start=[*start], events=[*events], **fields)


def failed_events(scene):
    return [(each.place, each.message) for each in scene.applier.failed_events]


def test_objects_come_and_go():
    scene = staged(at(0, apply=web(2)), at(60, delete="deployment/web")).run(30)
    assert len(scene.pods("web")) == 2
    assert scene.run(120).pods("web") == []
    assert failed_events(scene) == []


def test_what_a_deleted_object_owns_stays_if_it_is_orphaned():
    scene = staged(at(60, delete="replicaset/web", cascade="orphan"), start=[web(2, "ReplicaSet")]).run(120)
    assert scene.store.list("ReplicaSet") == []
    assert [pod.metadata.controller for pod in scene.pods("web")] == [None, None]


def test_what_is_applied_again_changes():
    scene = staged(at(60, apply=web(5)), start=[web(2)]).run(120)
    assert len(scene.pods("web")) == 5


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"])
def test_a_workload_is_scaled(kind):
    scene = staged(at(60, scale=f"{kind}/web", to=5), at(120, scale=f"{kind}/web", to=1), start=[web(2, kind)])
    assert [len(scene.run(60).pods("web")) for _ in range(3)] == [2, 5, 1]


def test_a_new_image_rolls_out():
    scene = staged(at(60, setImage="deployment/web", to={"c": "example/app:2"}), start=[web(3)]).run(300)
    assert {pod.spec["containers"][0]["image"] for pod in scene.pods("web")} == {"example/app:2"}
    assert len(scene.store.list("ReplicaSet")) == 2


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_new_image_reaches_the_pods_of_other_workloads_too(kind):
    start = [written(a_controller(kind, "web", *([2] if kind == "StatefulSet" else [])))]
    scene = staged(at(60, setImage=f"{kind}/web", to={"c": "example/app:2"}), start=start).run(600)
    assert {pod.spec["containers"][0]["image"] for pod in scene.pods("web")} == {"example/app:2"}


def test_labels_are_set_and_removed():
    scene = staged(
        at(1, label="node/n1", **{"with": {"zone": "b"}}), at(2, label="node/n1", **{"with": {"zone": None}})
    )
    assert scene.run(1).node("n1").metadata.labels["zone"] == "b"
    assert "zone" not in (scene.run(1).node("n1").metadata.labels or {})


def test_taints_come_replace_one_another_and_go():
    scene = staged(
        at(1, taint="n1", **{"with": ["a=1:NoSchedule", "b=:NoExecute"]}),
        at(2, taint="n1", **{"with": "a=2:NoSchedule"}),
        at(3, untaint="n1", **{"with": "a:NoExecute"}),
        at(4, untaint="n1", **{"with": "a"}),
    )
    seen = [scene.run(1).node("n1").spec.taints for _ in range(4)]
    assert seen[0] == (Taint("a", "1", "NoSchedule"), Taint("b", "", "NoExecute"))
    assert seen[1] == seen[2] == (Taint("a", "2", "NoSchedule"), Taint("b", "", "NoExecute"))
    assert seen[3] == (Taint("b", "", "NoExecute"),)


def test_a_taint_drives_pods_away():
    scene = staged(at(60, taint="n1", **{"with": "gone:NoExecute"}), start=[web(6)]).run(200)
    assert len(scene.pods("web")) == 6
    assert "n1" not in {pod.node for pod in scene.pods("web")}


def test_a_cordoned_node_takes_no_pods_until_it_is_uncordoned():
    events = [at(0, cordon="pool!=spot"), at(10, apply=web(3)), at(60, uncordon="n1")]
    scene = staged(*events, at(61, scale="deployment/web", to=6)).run(50)
    assert [each.metadata.name for each in scene.store.list("Node") if each.spec.unschedulable] == ["n1", "n2", "n3"]
    assert [pod.node for pod in scene.pods("web")] == ["", "", ""]
    scene.run(60)
    assert {pod.node for pod in scene.pods("web")} == {"n1"}


def budget(**spec):
    document = a_pdb("web", selector={"matchLabels": {"app": "web"}}, **spec)
    del document["status"]
    return document


def test_a_drain_goes_on_as_the_budget_allows_and_leaves_what_must_stay():
    expect = [
        {"eventually": {"evictions": "any", "by": "drain", "exactly": 4}, "after": "60s"},
        {"never": {"pods": "ready", "of": "deployment/web", "atMost": 2}, "after": "40s"},
        {"eventually": {"pods": "any", "onNodes": "n1", "exactly": 1}, "after": "60s"},
    ]
    scene = staged(
        at(0, cordon="n2"),
        at(1, apply=[web(4), budget(max_unavailable=1), written(a_controller("DaemonSet", "agent"))]),
        at(30, uncordon="n2"),
        at(60, drain="n1"),
        expect=expect,
        nodes=2,
    )
    assert {pod.node for pod in scene.run(50).pods("web")} == {"n1"}
    assert {pod.node for pod in scene.run(120).pods("web")} == {"n2"}
    assert [each for each, _ in scene.outcomes()] == ["met", "met", "met"]


def test_a_drain_gives_up_pods_that_nobody_may_evict_only_when_they_go():
    scene = staged(at(60, drain="n1"), start=[web(2), budget(min_available=2)], nodes=1).run(300)
    assert len(scene.pods("web")) == 2
    assert scene.node("n1").spec.unschedulable
    assert not any(pod.metadata.is_terminating for pod in scene.pods("web"))


def test_a_node_that_fails_loses_its_pods_after_the_time_that_they_tolerate():
    expect = [
        {"eventually": {"nodes": "unready", "exactly": 1}},
        {"never": {"pods": "ready", "of": "deployment/web", "atMost": 4}, "after": "40s"},
        {"eventually": {"pods": "ready", "of": "deployment/web", "exactly": 6}, "after": "120s"},
        {"eventually": {"nodes": "ready", "exactly": 3}, "after": "500s"},
    ]
    scene = staged(at(60, failNode="n1"), at(900, restartNode="n1"), start=[web(6)], expect=expect).run(1000)
    unready, missing, replaced, back = scene.outcomes()
    assert unready == ("met", 110)
    assert (missing[0], int(missing[1])) == ("failed", 110)
    assert replaced[0] == "met"
    assert 110 + 300 <= replaced[1] <= 110 + 330
    assert back == ("met", 900)


def test_a_node_that_restarts_starts_its_pods_anew():
    never = written(a_bare_pod("once", restartPolicy="Never", nodeName="n1"))
    never["metadata"]["annotations"] = {"simulate.restow.dev/run-for": "1h"}
    scene = staged(at(60, restartNode="n1"), start=[web(1)], nodes=1).run(30)
    (before,) = scene.pods("web")
    scene.run(60)
    (after,) = scene.pods("web")
    assert (before.status.container_statuses[0].restart_count, after.status.container_statuses[0].restart_count) == (
        0,
        1,
    )
    assert after.ready_since == "2026-01-01T00:01:00Z"
    assert before.metadata.uid == after.metadata.uid


def test_a_pod_that_is_not_to_be_restarted_fails_when_its_node_restarts():
    pod = written(a_bare_pod("once", restartPolicy="Never"))
    pod["metadata"]["annotations"] = {"simulate.restow.dev/run-for": "1h"}
    scene = staged(at(0, apply=pod), at(60, restartNode="n1"), nodes=1).run(120)
    assert scene.get("Pod", "once").status.phase == "Failed"


def test_pods_of_a_trace_arrive_and_depart(tmp_path):
    (tmp_path / "t.csv").write_text("pod,start,end,cores\na,1000,1060,1\nb,1030,,1\n")
    columns = {"name": "pod", "arrives": "start", "departs": "end", "requests": {"cpu": "cores"}}
    scene = Staged(folder=tmp_path, arrivals=[{"trace": "t.csv", "at": "10s", "faster": 2, "columns": columns}])
    assert [scene.run(seconds).names() for seconds in (5, 10, 15, 15)] == [[], ["a"], ["a", "b"], ["b"]]
    assert scene.get("Pod", "b").node


def test_a_pod_of_a_trace_whose_name_is_taken_does_not_come(tmp_path):
    (tmp_path / "t.csv").write_text("pod,start\na,0\nb,0\n")
    columns = {"name": "pod", "arrives": "start"}
    scene = Staged(folder=tmp_path, start=[written(a_bare_pod("a"))], arrivals=[{"trace": "t.csv", "columns": columns}])
    assert scene.run(5).names() == ["a", "b"]
    assert failed_events(scene) == [(("arrivals",), "Pod default/a exists already")]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"delete": "pod/web-0"}, "there is no pod/default/web-0"),
        ({"scale": "deployment/none", "to": 1}, "there is no deployment/default/none"),
        ({"setImage": "deployment/web", "to": {"d": "x"}}, "deployment/default/web has no container d"),
        ({"cordon": "n9"}, "there is no node n9"),
        ({"failNode": "zone=nowhere"}, "there is no node zone=nowhere"),
        ({"setUsage": "pod/none", "to": {"cpu": "1"}}, "there is no pod/default/none"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_cannot_be_done_is_kept_and_the_run_goes_on(event, message):
    scene = staged(at(5, **event), at(6, scale="deployment/web", to=2), start=[web(1)]).run(60)
    assert failed_events(scene) == [(("events", 0), message)]
    assert len(scene.pods("web")) == 2


def usage(scene, kind, name):
    found = scene.store.get(kind, "default" if kind == "PodMetrics" else "", name)
    return found and (found.content.get("usage") or found.content["containers"][0]["usage"])


def test_pods_use_what_is_said_of_them_or_of_their_controller_and_nodes_what_their_pods_use():
    scene = staged(
        at(30, setUsage="deployment/web", to={"cpu": "500m", "memory": "1Gi"}),
        at(60, scale="deployment/web", to=2),
        at(90, setUsage="node/n1", to={"cpu": "1"}),
        start=[web(1)],
        nodes=1,
    ).run(20)
    assert scene.store.list("NodeMetrics") == []
    (pod,) = scene.run(20).names("web")
    assert usage(scene, "PodMetrics", pod) == {"cpu": "500m", "memory": str(2**30)}
    assert usage(scene, "NodeMetrics", "n1") == {"cpu": "500m", "memory": str(2**30)}
    assert usage(scene.run(40), "NodeMetrics", "n1") == {"cpu": "1000m", "memory": str(2 * 2**30)}
    assert usage(scene.run(40), "NodeMetrics", "n1")["cpu"] == "2000m"
    scene.store.delete("Deployment", "default", "web")
    scene.run(60)
    assert (scene.store.list("PodMetrics"), usage(scene, "NodeMetrics", "n1")["cpu"]) == ([], "1000m")
