"""Jobs run their pods until enough have succeeded, or too many have failed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from restow.kube.manifests import manifest_of
from restow.simulating.api_server.eviction import evict
from restow.simulating.api_server.store import FOREGROUND
from restow.simulating.controllers.job_accounting import FAILURES, indexes_in, indexes_text
from restow.simulating.controllers.jobs import condition_of
from restow.simulating.kubelets import EXIT_CODE, RUN_FOR
from simulating.manifests import a_template
from simulating.scenes import Scene


def a_job(run="10s", code="0", restart="Never", **spec):
    """A Job whose pods run for a while and end with a code."""
    template = a_template("sum", restartPolicy=restart)
    template["metadata"]["annotations"] = {RUN_FOR: run, EXIT_CODE: code}
    metadata = {"name": "sum", "namespace": "default"}
    return manifest_of({"kind": "Job", "metadata": metadata, "spec": {"template": template} | spec})


def run(job, minutes=60):
    """The cluster after a Job has ended, and how many pods were active at most."""
    scene = Scene()
    most = []
    scene.store.subscribe("Pod", lambda _: most.append(sum(pod.is_active for pod in scene.pods("sum"))))
    scene.store.apply(job)
    scene.settle(minutes)
    return scene, max(most)


def status(scene):
    """Succeeded, failed and the type and reason of what ended it."""
    found = scene.get("Job", "sum")
    end = condition_of(found, "Complete", "Failed")
    return found.status.succeeded, found.status.failed, end and (end.type, end.reason)


@pytest.mark.parametrize(
    ("spec", "most", "expected"),
    [
        ({}, 1, 1),
        ({"completions": 5, "parallelism": 2}, 2, 5),
        ({"completions": 2, "parallelism": 5}, 2, 2),
        ({"parallelism": 3}, 3, 3),
    ],
)
def test_a_job_is_complete_when_enough_pods_have_succeeded(spec, most, expected):
    """Without ``completions``, when the first has and no other is left."""
    scene, active = run(a_job(**spec))
    assert active == most
    assert status(scene) == (expected, 0, ("Complete", "CompletionsReached"))
    assert all(not pod.metadata.finalizers for pod in scene.pods("sum"))
    assert scene.get("Job", "sum").status.completion_time


def test_indexed_pods_are_named_after_their_index():
    """Each index once."""
    scene, _ = run(a_job(completions=3, parallelism=2, completionMode="Indexed"))
    assert status(scene) == (3, 0, ("Complete", "CompletionsReached"))
    assert scene.get("Job", "sum").status.completed_indexes == "0-2"
    assert sorted(name[:5] for name in scene.names("sum")) == ["sum-0", "sum-1", "sum-2"]


def test_a_job_fails_after_one_failure_more_than_its_limit():
    """New pods come later each time: 10 s, 20 s, 40 s."""
    scene = Scene()
    created = []

    def look(event):
        if event.old is None:
            created.append(scene.clock.now / 1e9)

    scene.store.subscribe("Pod", look)
    scene.store.apply(a_job(run="0s", code="1", backoffLimit=3))
    scene.settle()
    assert status(scene) == (0, 4, ("Failed", "BackoffLimitExceeded"))
    assert [round(later - earlier - 2) for earlier, later in pairwise(created)] == [10, 20, 40]


def test_containers_that_are_restarted_in_place_do_not_make_new_pods():
    """The pod stays; only its restart count grows."""
    scene = Scene()
    scene.store.apply(a_job(run="1s", code="1", restart="OnFailure"))
    scene.run(120)
    (pod,) = scene.pods("sum")
    assert pod.status.phase == "Running"
    assert pod.status.container_statuses[0].restart_count >= 3


def test_an_index_that_fails_too_often_leaves_the_others_alone():
    """The Job has failed when every index has ended."""
    job = a_job(code="1", completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=1)
    scene, _ = run(job)
    assert status(scene) == (0, 6, ("Failed", "FailedIndexes"))
    assert scene.get("Job", "sum").status.failed_indexes == "0-2"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (None, (1, 1, ("Complete", "CompletionsReached"))),
        ([{"action": "Ignore"}], (1, 0, ("Complete", "CompletionsReached"))),
        ([{"action": "FailJob"}], (0, 1, ("Failed", "PodFailurePolicy"))),
    ],
    ids=["counts", "ignored", "fatal"],
)
def test_an_evicted_pod_counts_as_the_failure_policy_says(rules, expected):
    """Without one as a failure."""
    told = [each | {"onPodConditions": [{"type": "DisruptionTarget"}]} for each in rules or ()]
    scene = Scene()
    scene.store.apply(a_job(run="60s", **({"podFailurePolicy": {"rules": told}} if rules else {})))
    scene.run(20)
    assert evict(scene.store, "default", scene.names("sum")[0]).is_evicted
    scene.settle()
    assert status(scene) == expected


def test_a_suspended_job_has_no_pods_until_it_goes_on():
    """Its time begins anew."""
    scene = Scene()
    scene.store.apply(a_job(run="60s"))
    scene.run(20)
    scene.store.apply(a_job(run="60s", suspend=True))
    scene.run(60)
    assert [pod for pod in scene.pods("sum") if pod.is_active] == []
    assert condition_of(scene.get("Job", "sum"), "Suspended")
    assert scene.get("Job", "sum").status.start_time is None
    scene.store.apply(a_job(run="60s", suspend=False))
    scene.settle()
    assert status(scene)[2] == ("Complete", "CompletionsReached")


def test_a_job_that_runs_for_too_long_fails():
    """Its pods are deleted."""
    scene = Scene()
    scene.store.apply(a_job(run="20m", activeDeadlineSeconds=90))
    scene.settle()
    assert status(scene) == (0, 1, ("Failed", "DeadlineExceeded"))
    assert [pod for pod in scene.pods("sum") if pod.is_active] == []


def test_a_finished_job_is_deleted_after_its_time():
    """With its pods."""
    scene = Scene()
    scene.store.apply(a_job(ttlSecondsAfterFinished=100))
    scene.run(60)
    assert scene.get("Job", "sum") is not None
    scene.settle()
    assert (scene.get("Job", "sum"), scene.names("sum")) == (None, [])


def test_a_job_that_is_deleted_takes_its_pods_along():
    """Nobody waits for them to be counted."""
    scene = Scene()
    scene.store.apply(a_job(run="20m", parallelism=3, completions=3))
    scene.run(30)
    scene.delete("Job", "sum")
    scene.settle()
    assert scene.names("sum") == []


@pytest.mark.parametrize("text", [None, "0", "0,2", "1,3-5,7", "0,1,4,5"])
def test_indexes_are_written_as_the_api_server_has_them(text):
    """Two in a row with a comma, more with a dash."""
    assert indexes_text(indexes_in(text)) == text


def test_an_index_is_tried_again_after_a_wait_of_its_own():
    """10 s after its first failure, 20 s after the second; its pod says how often it has failed."""
    scene = Scene()
    created = []

    def look(event):
        if event.old is None:
            created.append((event.new.metadata.annotation(FAILURES), scene.clock.now / 1e9))

    scene.store.subscribe("Pod", look)
    scene.store.apply(a_job(run="0s", code="1", completions=1, completionMode="Indexed", backoffLimitPerIndex=2))
    scene.settle()
    assert status(scene) == (0, 3, ("Failed", "FailedIndexes"))
    assert [count for count, _ in created] == ["0", "1", "2"]
    assert [round(later - earlier - 2) for (_, earlier), (_, later) in pairwise(created)] == [10, 20]


@pytest.mark.parametrize(
    ("rule", "succeeded"),
    [
        ({"succeededCount": 1}, 2),
        ({"succeededIndexes": "2-3", "succeededCount": 1}, 4),
        ({"succeededIndexes": "0,1"}, 2),
    ],
    ids=["any", "one of some", "all of some"],
)
def test_a_success_policy_ends_a_job_early(rule, succeeded):
    """Two indexes run at a time; the rest do not run."""
    policy = {"rules": [rule]}
    scene, _ = run(a_job(completions=6, parallelism=2, completionMode="Indexed", successPolicy=policy))
    assert status(scene) == (succeeded, 0, ("Complete", "SuccessPolicy"))


def test_pods_that_a_suspended_job_takes_away_are_no_failures():
    """Nobody counts them."""
    scene = Scene()
    scene.store.apply(a_job(run="60s", completions=2, parallelism=2, backoffLimit=0))
    scene.run(20)
    scene.store.apply(a_job(run="60s", completions=2, parallelism=2, backoffLimit=0, suspend=True))
    scene.run(60)
    assert status(scene) == (0, 0, None)


def test_a_failed_job_counts_the_pods_that_it_takes_down():
    """One has failed, the other is deleted with it."""
    scene, _ = run(a_job(run="10m", completions=2, parallelism=2, activeDeadlineSeconds=30))
    assert status(scene) == (0, 2, ("Failed", "DeadlineExceeded"))


def test_fewer_indexes_take_the_last_pods_away():
    """Those whose index is not wanted any more."""
    scene = Scene()
    scene.store.apply(a_job(run="10m", completions=3, parallelism=3, completionMode="Indexed"))
    scene.run(20)
    scene.store.apply(a_job(run="10m", completions=1, parallelism=1, completionMode="Indexed"))
    scene.run(20)
    assert [name[:5] for name in scene.names("sum")] == ["sum-0"]


def test_restarts_in_place_count_against_the_limit():
    """As many as pods may fail."""
    scene, _ = run(a_job(run="1s", code="1", restart="OnFailure", backoffLimit=2))
    assert status(scene)[2] == ("Failed", "BackoffLimitExceeded")


def test_a_job_is_looked_at_a_second_after_its_pods_have_changed():
    """All that happens within the second is counted at once."""
    scene = Scene()
    scene.store.apply(a_job(run="10s"))
    scene.run(12.5)
    assert scene.pods("sum")[0].status.phase == "Succeeded"
    assert status(scene) == (0, 0, None)
    scene.run(1)
    assert status(scene) == (1, 0, ("Complete", "CompletionsReached"))


def test_a_job_that_goes_lets_its_pods_go_first():
    """Pods that are deleted with their Job are no failures of it."""
    scene = Scene()
    scene.store.apply(a_job(run="10m", completions=2, parallelism=2))
    scene.run(20)
    scene.delete("Job", "sum", propagation=FOREGROUND)
    scene.run(0.5)
    assert all(pod.metadata.is_terminating and not pod.metadata.finalizers for pod in scene.pods("sum"))
    assert status(scene) == (0, 0, None)
    scene.settle()
    assert (scene.get("Job", "sum"), scene.names("sum")) == (None, [])
