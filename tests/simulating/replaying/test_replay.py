"""A recorded past, and its simulation: where chance has nothing to say, they are the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import a_node
from builders.recordings import recorded
from restow.kube.duration import SECOND
from restow.simulating.api_server.eviction import evict
from restow.simulating.replaying.as_it_was import recorded_run
from restow.simulating.replaying.replay import replay_of
from restow.simulating.scenarios.run_record import RunRecord
from simulating.manifests import a_bare_pod, a_controller, a_template
from simulating.replaying.replayed import finished
from simulating.replaying.test_outside import an_endless_job
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import budget, written

_QUIET = 60
_SLOW = {"simulate.restow.dev/ready-delay": "7s", "simulate.restow.dev/delete-delay": "5s"}


def slow(app):
    """A template of pods that take their time."""
    template = a_template(app)
    template["metadata"]["annotations"] = _SLOW
    return template


#: All of it has room on one node, so that no scheduler has a choice.
_START = [
    written(a_controller("Deployment", "web", 3, template=slow("web"))),
    written(a_controller("StatefulSet", "db", 2)),
    written(a_controller("DaemonSet", "agent")),
    written(a_controller("ReplicaSet", "old", 1)),
    written(a_bare_pod("once")),
    an_endless_job(parallelism=1),
    budget(max_unavailable=1),
]
_DELETED = ["pod/db-0", "pod/db-1", "pod/once", "deployment/web", "rs/old", "pdb/web"]
_ACTIONS = st.one_of(
    st.fixed_dictionaries(
        {"scale": st.sampled_from(["deployment/web", "statefulset/db", "rs/old"]), "to": st.integers(0, 5)}
    ),
    st.fixed_dictionaries(
        {
            "setImage": st.sampled_from(["deployment/web", "statefulset/db", "daemonset/agent"]),
            "to": st.sampled_from([{"c": "i:2"}, {"c": "i:3"}]),
        }
    ),
    st.fixed_dictionaries({"delete": st.sampled_from(_DELETED)}),
    st.fixed_dictionaries({"cordon": st.just("n1")}),
    st.fixed_dictionaries({"uncordon": st.just("n1")}),
    st.fixed_dictionaries({"drain": st.just("n1")}),
    st.fixed_dictionaries({"apply": st.sampled_from([_START[0], _START[3], _START[4]])}),
    st.fixed_dictionaries({"apply": st.integers(0, 1).map(lambda most: an_endless_job(parallelism=most))}),
    st.fixed_dictionaries({"deleteOneOf": st.sampled_from(["web", "old", "agent", "j"])}),
    st.fixed_dictionaries({"evictOneOf": st.sampled_from(["web", "old", "db", "j"])}),
    st.fixed_dictionaries({"label": st.just("deployment/web"), "with": st.just({"tier": "x"})}),
)
#: Each is over before the next one.
_EVENTS = st.lists(_ACTIONS, max_size=8)
_APART = 90


def both(scene: Staged, seconds: int, directory: Path) -> tuple[RunRecord, RunRecord]:
    """What was recorded from now on, and what its replay came to."""
    span = recorded(scene, seconds, directory)
    replay = replay_of(span)
    return recorded_run(span, replay.begins, replay.begins + replay.duration), finished(replay).record


def counts(record: RunRecord):
    """What must be equal: of each workload the new pods and where they are, evictions, nodes and pods."""
    workloads = {str(name): (each.came, dict(each.placed)) for name, each in record.workloads.items()}
    evicted = sorted((str(each.pod.controllers[-1:]), each.by[0], each.landing) for each in record.evictions)
    return workloads, evicted, record.size


#: The update waits for db-1, which has no node to come back to, so that it was not the update that deleted db-0.
_STUCK = [{"cordon": "n1"}, {"setImage": "statefulset/db", "to": {"c": "i:2"}}, {"delete": "pod/db-0"}]


@given(_EVENTS)
@example(_STUCK)
@example([{"cordon": "n1"}, {"evictOneOf": "old"}, {"drain": "n1"}])
@example([{"deleteOneOf": "agent"}, {"deleteOneOf": "j"}])
@settings(max_examples=30, deadline=None)
def test_the_same_happens_again(events):
    """Of each workload as many pods come, as many are evicted and land as they did; times differ by moments."""
    scene = _played(events)
    with TemporaryDirectory() as directory:
        past, again = both(scene, 30 + _APART * (len(events) + 1), Path(directory))
    assert counts(past) == counts(again)
    for name in past.disruptions.keys() | again.disruptions.keys():
        totals = [each.disruptions[name].total if name in each.disruptions else 0 for each in (past, again)]
        assert abs(totals[0] - totals[1]) < 3 * SECOND * (1 + len(events)), name


def _played(events):
    """A scene that is quiet, and in which events of a scenario and of other clients will happen."""
    at = [_APART * number + 10 for number in range(len(events))]
    others = [(seconds, each) for seconds, each in zip(at, events, strict=True) if each.keys() & _OTHERS.keys()]
    timed = [{"at": f"{_QUIET + seconds}s"} | each for seconds, each in zip(at, events, strict=True)]
    scene = Staged(start=_START, events=[each for each in timed if not each.keys() & _OTHERS.keys()], seed=1, nodes=1)
    scene.run(_QUIET)
    for seconds, each in others:
        scene.clock.after(seconds * SECOND, partial(_act, scene, each))
    return scene


#: What others do to a pod, by their words.
_OTHERS = {
    "deleteOneOf": lambda store, name: store.delete("Pod", "default", name),
    "evictOneOf": lambda store, name: evict(store, "default", name),
}


def _act(scene, event):
    ((word, app),) = event.items()
    for pod in [each for each in scene.pods(app) if each.is_active][:1]:
        _OTHERS[word](scene.store, pod.metadata.name)


def test_pods_take_as_long_as_recorded(tmp_path):
    """No annotation says it to the replay: it was measured."""
    start = [written(a_controller("Deployment", "web", 2, template=slow("web")))]
    timed = [{"at": "100s", "scale": "deployment/web", "to": 4}, {"at": "200s", "scale": "deployment/web", "to": 1}]
    scene = Staged(start=start, events=timed, seed=1, nodes=1)
    scene.run(_QUIET)
    replay = replay_of(recorded(scene, 300, tmp_path))
    assert replay.kubelets.ready == pytest.approx(7 * SECOND, rel=0.1)
    assert replay.kubelets.delete == pytest.approx(5 * SECOND, rel=0.1)


def test_an_eviction_by_others_is_of_a_pod_of_the_same_workload(tmp_path):
    """Also where the recorded pod has another name in the replay: the second eviction is that of a replacement."""
    scene = Staged(start=_START[:1], seed=1, nodes=1)
    scene.run(_QUIET)
    for seconds in (50, 150):
        scene.clock.after(seconds * SECOND, lambda: evict(scene.store, "default", _youngest(scene)))
    past, again = both(scene, 300, tmp_path)
    assert len(past.evictions) == 2
    assert counts(past) == counts(again)


def _youngest(scene):
    return max(scene.pods("web"), key=lambda each: (each.metadata.creation_timestamp, each.metadata.name)).metadata.name


def test_a_job_that_runs_beyond_the_recording_does_not_end_in_its_replay(tmp_path):
    template = a_template("j", restartPolicy="Never")
    template["metadata"]["annotations"] = {"simulate.restow.dev/run-for": "10h"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    scene = Staged(start=[job], seed=1, nodes=1)
    scene.run(_QUIET)
    span = recorded(scene, 600, tmp_path)
    for document in span.start:
        template = document.get("spec", {}).get("template", document)
        template["metadata"].get("annotations", {}).pop("simulate.restow.dev/run-for", None)
    (placed,) = (each.placed for each in finished(replay_of(span)).record.workloads.values())
    assert placed == {"n1": 1}


def test_jobs_run_as_long_as_recorded_and_fail_as_recorded(tmp_path):
    template = a_template("j", restartPolicy="Never")
    template["metadata"]["annotations"] = {"simulate.restow.dev/run-for": "40s", "simulate.restow.dev/exit-code": "1"}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "often", "namespace": "default"},
        "spec": {"schedule": "*/2 * * * *", "jobTemplate": {"spec": {"template": template, "backoffLimit": 1}}},
    }
    scene = Staged(start=[cron], seed=1, nodes=1)
    scene.run(_QUIET)
    past, again = both(scene, 1200, tmp_path)
    assert counts(past) == counts(again)
    assert past.workloads


def test_what_pods_use_is_replayed(tmp_path):
    """Pods use what those of their workload used, and a node what its pods do, and its own."""
    timed = [
        {"at": "70s", "setUsage": "deployment/web", "to": {"cpu": "80m", "memory": "10Mi"}},
        {"at": "70s", "setUsage": "node/n1", "to": {"cpu": "500m", "memory": "100Mi"}},
        {"at": "300s", "setUsage": "deployment/web", "to": {"cpu": "20m", "memory": "10Mi"}},
    ]
    scene = Staged(start=_START[:1], events=timed, seed=1, nodes=1)
    scene.run(_QUIET)
    span = recorded(scene, 600, tmp_path)
    readings = [each for each in replay_of(span).events if each.word == "setUsage"]
    used = [{str(name): amounts["cpu"] // 10**6 for name, amounts in each.action.usage.items()} for each in readings]
    assert used[-2:] == [{"deployment/default/web": 80, "node/n1": 500}, {"deployment/default/web": 20}]


def test_an_object_that_cannot_be_read_is_left_out_and_named(tmp_path):
    """A quantity beyond what the scheduler counts, as the API server takes it."""
    scene = Staged(start=_START[:1], seed=1, nodes=1)
    scene.run(_QUIET)
    span = recorded(scene, 60, tmp_path)
    odd = next(each for each in span.start if each["kind"] == "Pod")
    odd["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9E"}}
    replay = replay_of(span)
    (sentence,) = replay.left_out
    assert odd["metadata"]["name"] in sentence
    assert finished(replay).record.size.pods == 3


def test_a_node_that_comes_takes_pods(tmp_path):
    timed = [
        {"at": "70s", "apply": a_node("n9", cpu="4", memory="8Gi")},
        {"at": "130s", "cordon": "n1"},
        {"at": "150s", "scale": "deployment/web", "to": 5},
    ]
    scene = Staged(start=_START[:1], events=timed, seed=1, nodes=1)
    scene.run(_QUIET)
    past, again = both(scene, 300, tmp_path)
    assert counts(past) == counts(again)
    assert {node for each in past.workloads.values() for node in each.placed} == {"n1", "n9"}
