"""What happened in a simulated cluster is recorded; what came from outside is found in the recording, and nothing else."""

from __future__ import annotations

import pytest

from builders import a_node
from builders.recordings import recorded
from restow.kube.duration import SECOND
from restow.simulating.api_server.eviction import evict
from restow.simulating.replaying.replay import replay_of
from simulating.manifests import a_bare_pod, a_controller, a_template
from simulating.replaying.replayed import a_scene, finished
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import budget, written

_QUIET = 60
_START = [
    written(a_controller("Deployment", "web", 3)),
    written(a_controller("StatefulSet", "db", 2)),
    written(a_controller("DaemonSet", "agent")),
    written(a_bare_pod("once")),
    budget(max_unavailable=1),
]


def found(tmp_path, *events, start=_START, then=lambda scene: None, seconds=600):
    """The texts of the events in the recording of a run, and how many evictions by others there are."""
    timed = [{"at": f"{_QUIET + 10 * (number + 1)}s"} | each for number, each in enumerate(events)]
    scene = Staged(start=start, events=timed, seed=1)
    scene.run(_QUIET)
    scene.clock.after(5 * SECOND, lambda: then(scene))
    replay = replay_of(recorded(scene, seconds, tmp_path))
    return [each.text for each in replay.events if each.text], sum(each.word == "evict" for each in replay.events)


@pytest.mark.parametrize(
    ("event", "texts"),
    [
        ({"scale": "deployment/web", "to": 5}, ["scale deployment/web to 5"]),
        ({"scale": "statefulset/db", "to": 1}, ["scale statefulset/db to 1"]),
        ({"setImage": "deployment/web", "to": {"c": "i:2"}}, ["roll out deployment/web"]),
        ({"setImage": "statefulset/db", "to": {"c": "i:2"}}, ["roll out statefulset/db"]),
        ({"setImage": "daemonset/agent", "to": {"c": "i:2"}}, ["roll out daemonset/agent"]),
        ({"delete": "deployment/web"}, ["delete deployment/web"]),
        ({"delete": "pod/once"}, ["delete pod/once"]),
        ({"delete": "pod/db-0"}, ["delete pod/db-0"]),
        ({"delete": "pdb/web"}, ["delete poddisruptionbudget/web"]),
        ({"cordon": "n1"}, ["cordon n1"]),
        ({"drain": "n1"}, ["cordon n1", "drain n1"]),
        ({"taint": "n1", "with": "a=1:NoExecute"}, ["change node/n1"]),
        ({"label": "node/n1", "with": {"zone": "b"}}, ["change node/n1"]),
        ({"delete": "node/n1"}, ["delete node/n1"]),
        ({"failNode": "n1"}, ["n1 is not ready", "n1 is silent"]),
        ({"apply": a_node("n9", cpu="4", memory="8Gi")}, ["create node/n9"]),
        ({"apply": written(a_controller("Deployment", "new", 2))}, ["create deployment/new"]),
        ({"apply": written(a_bare_pod("late"))}, ["create pod/late"]),
    ],
)
def test_what_people_and_machines_do_is_from_outside(tmp_path, event, texts):
    assert found(tmp_path, event) == (texts, 0)


def test_nothing_is_from_outside_where_nothing_happens(tmp_path):
    assert found(tmp_path) == ([], 0)


def test_what_jobs_and_cron_jobs_make_is_not_from_outside(tmp_path):
    job = {"template": a_template("j", restartPolicy="Never")}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "often", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
    }
    assert found(tmp_path, start=[cron]) == ([], 0)


def test_a_deleted_pod_of_a_workload_is_from_outside(tmp_path):
    def delete(scene):
        scene.delete("Pod", scene.names("web")[0])

    (text,), _ = found(tmp_path, then=delete)
    assert text.startswith("delete pod/web-")


def test_a_pod_deleted_right_after_a_rollout_is_from_outside(tmp_path):
    """Its ReplicaSet has just grown: it had no reason to delete one."""

    def delete_new(scene):
        scene.clock.after(9 * SECOND, lambda: scene.delete("Pod", scene.pods("web")[-1].metadata.name))

    texts, _ = found(tmp_path, {"setImage": "deployment/web", "to": {"c": "i:2"}}, then=delete_new)
    assert texts[0] == "roll out deployment/web"
    assert [each.startswith("delete pod/web-") for each in texts[1:]] == [True]


def deleting(app):
    """Delete a pod of a workload."""
    return lambda scene: scene.delete("Pod", scene.names(app)[0])


def an_endless_job(**spec):
    template = a_template("j", restartPolicy="Never")
    template["metadata"]["annotations"] = {"simulate.restow.dev/run-for": "10h"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template} | spec}


@pytest.mark.parametrize("app", ["web", "agent", "j"])
def test_a_deleted_pod_of_any_controller_is_from_outside(tmp_path, app):
    texts, _ = found(tmp_path, start=[*_START, an_endless_job(parallelism=2)], then=deleting(app))
    assert [each.startswith(f"delete pod/{app}-") for each in texts] == [True]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"taint": "n1", "with": "a=1:NoExecute"}, "change node/n1"),
        ({"label": "node/n1", "with": {"zone": "b"}}, "change node/n1"),
        ({"setImage": "daemonset/agent", "to": {"c": "i:2"}}, "roll out daemonset/agent"),
        ({"apply": an_endless_job(parallelism=2, suspend=True)}, "change job/j"),
        ({"apply": an_endless_job(parallelism=1)}, "change job/j"),
        ({"apply": an_endless_job(parallelism=2, activeDeadlineSeconds=60)}, "change job/j"),
        ({"delete": "job/j"}, "delete job/j"),
    ],
    ids=str,
)
def test_a_pod_that_its_controller_has_a_reason_to_delete_is_not_deleted_from_outside(tmp_path, event, text):
    agent = written(a_controller("DaemonSet", "agent", template=a_template("agent", nodeSelector={"zone": "a"})))
    fitting = {"label": "node/n1", "with": {"zone": "a"}}
    start = [agent, an_endless_job(parallelism=2)]
    assert found(tmp_path, fitting, event, start=start) == (["change node/n1", text], 0)


@pytest.mark.parametrize(
    "strategy",
    [{"type": "OnDelete"}, {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}, {"rollingUpdate": {}}],
    ids=str,
)
def test_a_pod_of_a_daemon_set_whose_turn_in_an_update_has_not_come_is_deleted_from_outside(tmp_path, strategy):
    """People delete it under OnDelete; the others wait for the first new pod, which asks for more than its node has."""
    agent = written(a_controller("DaemonSet", "agent", updateStrategy=strategy))
    nowhere = a_template("agent")
    nowhere["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "64"
    update = written(a_controller("DaemonSet", "agent", updateStrategy=strategy, template=nowhere))

    def delete_old(scene):
        scene.delete("Pod", next(pod.metadata.name for pod in scene.pods("agent") if pod.node))

    def later(scene):
        scene.clock.after(60 * SECOND, lambda: delete_old(scene))

    texts, _ = found(tmp_path, {"apply": update}, start=[agent], then=later)
    assert texts[0] == "roll out daemonset/agent"
    assert [each.startswith("delete pod/agent-") for each in texts[1:]] == [True]


def an_update_of_db(**strategy):
    """Events in which db gets another template, after its strategy."""
    written_set = written(a_controller("StatefulSet", "db", 2))
    written_set["spec"]["updateStrategy"] = strategy
    return [{"apply": written_set}, {"setImage": "statefulset/db", "to": {"c": "i:2"}}]


@pytest.mark.parametrize("strategy", [{"type": "OnDelete"}, {"rollingUpdate": {"partition": 2}}], ids=str)
def test_a_pod_that_no_update_deletes_is_deleted_from_outside(tmp_path, strategy):
    """It is of an old template, but the strategy leaves it to people, or keeps it below the partition."""
    texts, _ = found(tmp_path, *an_update_of_db(**strategy), {"delete": "pod/db-0"})
    assert texts[-2:] == ["roll out statefulset/db", "delete pod/db-0"]


def test_a_pod_whose_turn_in_an_update_has_not_come_is_deleted_from_outside(tmp_path):
    """The update waits for db-1, which finds no node."""
    cordons = [{"cordon": f"n{number}"} for number in (1, 2, 3)]
    texts, _ = found(tmp_path, *cordons, *an_update_of_db(), {"delete": "pod/db-0"})
    assert texts[-2:] == ["roll out statefulset/db", "delete pod/db-0"]


def test_a_pod_that_is_too_many_and_waits_for_others_to_be_well_is_deleted_from_outside(tmp_path):
    """A StatefulSet that wants one pod fewer deletes db-1 once db-0 is there, which finds no node."""
    cordons = [{"cordon": f"n{number}"} for number in (1, 2, 3)]
    events = [{"delete": "pod/db-0"}, {"scale": "statefulset/db", "to": 1}, {"delete": "pod/db-1"}]
    texts, _ = found(tmp_path, *cordons, *events)
    assert texts[-3:] == ["delete pod/db-0", "scale statefulset/db to 1", "delete pod/db-1"]


def test_an_eviction_is_that_of_another_client(tmp_path):
    assert found(tmp_path, then=lambda scene: evict(scene.store, "default", scene.names("web")[0])) == ([], 1)


def evicting(app):
    """Evict a pod of a workload from n1, half a minute after the events have begun."""

    def evict_there(scene):
        there = next(pod for pod in scene.pods(app) if pod.node == "n1")
        assert evict(scene.store, "default", there.metadata.name).is_evicted

    return lambda scene: scene.clock.after(30 * SECOND, lambda: evict_there(scene))


def test_an_eviction_from_a_cordoned_node_where_other_pods_stay_is_no_drain(tmp_path):
    start = [written(a_controller("Deployment", name, 3)) for name in ("web", "shop")]
    assert found(tmp_path, {"cordon": "n1"}, start=start, then=evicting("web")) == (["cordon n1"], 1)


def test_a_drain_after_such_an_eviction_is_one(tmp_path):
    start = [written(a_controller("Deployment", name, 3)) for name in ("web", "shop")]
    events = [{"cordon": "n1"}, *({"label": "deployment/web", "with": {"a": "b"}} for _ in range(11)), {"drain": "n1"}]
    texts, evictions = found(tmp_path, *events, start=start, then=evicting("web"))
    assert ([each for each in texts if "n1" in each], evictions) == (["cordon n1", "drain n1"], 1)


def test_a_drain_that_a_budget_holds_up_is_one(tmp_path):
    """The replay asks again for the pods that stay, as the drain did."""
    start = [*(written(a_controller("Deployment", name, 3)) for name in ("web", "shop")), budget(max_unavailable=0)]
    assert found(tmp_path, {"drain": "n1"}, start=start) == (["cordon n1", "drain n1"], 0)


def test_a_drain_goes_on_when_its_node_takes_pods_again(tmp_path):
    """As a simulated one does: its last eviction waits for a budget."""
    start = [*(written(a_controller("Deployment", name, 3)) for name in ("web", "shop")), budget(max_unavailable=0)]
    events = [{"drain": "n1"}, {"uncordon": "n1"}, {"delete": "pdb/web"}]
    texts = ["cordon n1", "drain n1", "uncordon n1", "delete poddisruptionbudget/web"]
    assert found(tmp_path, *events, start=start) == (texts, 0)


def test_scaling_down_right_after_somebody_deleted_a_pod_deletes_it_once(tmp_path):
    """A controller that wants fewer pods at that moment may have deleted it itself."""
    texts, _ = found(tmp_path, {"scale": "deployment/web", "to": 1}, then=lambda scene: scene.delete("Pod", "db-1"))
    assert texts == ["delete pod/db-1", "scale deployment/web to 1"]


def test_a_namespace_goes_with_all_that_is_in_it(tmp_path):
    """The replay deletes each object once, whoever was first."""
    shop = written(a_controller("Deployment", "shop", 2))
    shop["metadata"]["namespace"] = "shop"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    scene = Staged(start=[namespace, shop], events=[{"at": "100s", "delete": "namespace/shop"}], seed=1)
    scene.run(_QUIET)
    replay = replay_of(recorded(scene, 300, tmp_path))
    assert "delete namespace/shop" in [each.text for each in replay.events]
    over = finished(replay)
    assert not over.failed_events
    assert over.record.size.pods == 0


def test_only_the_namespace_by_default_is_left_out_of_a_name(tmp_path):
    other = written(a_controller("Deployment", "web", 1))
    other["metadata"]["namespace"] = "my-default"
    assert found(tmp_path, {"apply": other}) == (["create deployment/my-default/web"], 0)


def test_a_node_that_is_back_is_from_outside(tmp_path):
    restart = {"restartNode": "n1"}
    calm = {"label": "deployment/web", "with": {"a": "b"}}
    texts, _ = found(tmp_path, {"failNode": "n1"}, *(calm for _ in range(6)), restart)
    assert [each for each in texts if "n1" in each] == ["n1 is not ready", "n1 is silent", "n1 is ready", "n1 is back"]


@pytest.mark.parametrize(
    "event",
    [
        {"scale": "deployment/web", "to": 5},
        {"setImage": "deployment/web", "to": {"c": "i:2"}},
        {"setImage": "statefulset/db", "to": {"c": "i:2"}},
        {"delete": "deployment/web"},
        {"delete": "pod/db-0"},
        {"cordon": "n1"},
        {"drain": "n1"},
        {"failNode": "n1"},
        {"delete": "node/n1"},
    ],
    ids=str,
)
def test_events_of_a_recording_are_found_again_in_the_recording_of_its_replay(tmp_path, event):
    """So a replay of a replay is a replay."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    scene = Staged(start=_START, events=[{"at": "70s"} | event], seed=1)
    scene.run(_QUIET)
    first = replay_of(recorded(scene, 600, tmp_path / "first"))
    second = replay_of(recorded(a_scene(first), 600, tmp_path / "second"))
    assert [each.text for each in first.events] == [each.text for each in second.events]
