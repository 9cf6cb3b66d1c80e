"""Scenes of Jobs and CronJobs."""

from __future__ import annotations

from builders import Object
from e2e.scene_objects import failing, nightly, pods, work
from e2e.scene_steps import After, Apply, Delete, DeletePods, Patch, Scene
from restow.simulating.kubelets import DELETE_DELAY

_RUNS: Object = {"run": "3s", "delete": "3s"}
_EVER: Object = {"run": "1h", "delete": "3s"}

#: Ends 3 s after its deletion has begun, and has failed then if its Job still wants to know.
_STOPPED = pods(run="1h", annotations={"test/stop-delay": "3s", DELETE_DELAY: "3s"})


def _apply(*documents: Object) -> Apply:
    return Apply(documents)


def _job(**spec: object) -> Patch:
    return Patch("Job", "sum", {"spec": spec})


def _rules(*rules: Object) -> Object:
    return {"podFailurePolicy": {"rules": list(rules)}}


def _on_codes(action: str, *codes: int) -> Object:
    return {"action": action, "onExitCodes": {"operator": "In", "values": list(codes)}}


_DISRUPTED: Object = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}

_JOBS = {
    "a Job of one pod": Scene([_apply(work(pods(**_RUNS)))]),
    "a Job of five pods, two at a time": Scene([_apply(work(pods(**_RUNS), 5, 2))]),
    "a Job that is a queue of work": Scene([_apply(work(pods(**_RUNS), None, 3))]),
    "an indexed Job": Scene([_apply(work(pods(**_RUNS), 4, 2, completionMode="Indexed"))]),
    "a Job whose pods fail": Scene([_apply(work(failing(run="2s"), backoffLimit=1))]),
    "a Job whose first failure is the last": Scene([_apply(work(failing(run="2s"), 2, 2, backoffLimit=0))]),
    "a failure that ends a Job by policy": Scene(
        [_apply(work(failing(42, run="2s"), 3, 1, **_rules(_on_codes("FailJob", 42)), backoffLimit=6))]
    ),
    "an eviction that a policy ignores": Scene(
        [
            _apply(work(_STOPPED, 2, 2, **_rules({"action": "Ignore"} | _DISRUPTED), backoffLimit=0)),
            After(3.0, DeletePods("sum", by_eviction=True)),
        ],
        lasts=16,
    ),
    "evictions count as failures": Scene(
        [
            _apply(work(_STOPPED, 2, 2, backoffLimit=1)),
            After(3.0, DeletePods("sum", by_eviction=True)),
        ],
        lasts=16,
    ),
    "a Job that takes too long": Scene([_apply(work(pods(**_EVER), 2, 2, activeDeadlineSeconds=4))], lasts=10),
    "a Job that is deleted once it is over": Scene([_apply(work(pods(**_RUNS), ttlSecondsAfterFinished=3))]),
    "a Job that is suspended and resumed": Scene(
        [
            _apply(work(pods(run="4s", delete="1s"), 2, 2, suspend=True)),
            _job(suspend=False),
            After(2.5, _job(suspend=True)),
            _job(suspend=False),
        ]
    ),
    "a Job with more and fewer pods at a time": Scene(
        [
            _apply(work(pods(**_EVER), 4, 1)),
            After(3.0, _job(parallelism=3)),
            After(3.0, _job(parallelism=2)),
        ],
        lasts=6,
    ),
    "an elastic indexed Job": Scene(
        [
            _apply(work(pods(**_EVER), 2, 2, completionMode="Indexed")),
            After(3.0, _job(parallelism=3, completions=3)),
            After(3.0, _job(parallelism=1, completions=1)),
        ],
        lasts=6,
    ),
    "a Job with back-off for each index": Scene(
        [_apply(work(failing(run="2s"), 3, 3, completionMode="Indexed", backoffLimitPerIndex=0))]
    ),
    "a Job that gives up when too many indexes have failed": Scene(
        [_apply(work(failing(run="2s"), 4, 2, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1))]
    ),
    "an index that a policy gives up": Scene(
        [
            _apply(
                work(
                    failing(7, run="2s"),
                    2,
                    2,
                    completionMode="Indexed",
                    backoffLimitPerIndex=3,
                    **_rules(_on_codes("FailIndex", 7)),
                )
            )
        ]
    ),
    "indexes that are tried again": Scene(
        [_apply(work(failing(run="2s"), 2, 2, completionMode="Indexed", backoffLimitPerIndex=1))]
    ),
    "a Job that is a success by policy": Scene(
        [
            _apply(
                work(
                    pods(**_RUNS),
                    4,
                    2,
                    completionMode="Indexed",
                    successPolicy={"rules": [{"succeededIndexes": "0-2", "succeededCount": 1}]},
                )
            )
        ]
    ),
    "a Job that is deleted": Scene([_apply(work(pods(**_EVER), 2, 2)), After(3.0, Delete("Job", "sum"))]),
}

#: Two times at which a CronJob is due.
_MINUTES = {"lasts": 150.0, "long": True, "from_minute": True}

_CRON_JOBS = {
    "a CronJob that is suspended": Scene([_apply(nightly(pods(), suspend=True))], lasts=3),
    "a CronJob every few seconds": Scene(
        # Named after the minute that it is due, a second one would have the name of the first.
        [
            _apply(nightly(pods(run="2s"), "@every 3s")),
            After(4.5, Patch("CronJob", "tick", {"spec": {"suspend": True}})),
        ],
        lasts=6,
    ),
    "a CronJob every minute": Scene([_apply(nightly(pods(run="2s")))], **_MINUTES),
    "a CronJob that forbids two Jobs at a time": Scene(
        [_apply(nightly(pods(run="70s"), concurrencyPolicy="Forbid"))], **_MINUTES
    ),
    "a CronJob that replaces its Job": Scene(
        [_apply(nightly(pods(run="70s", delete="1s"), concurrencyPolicy="Replace"))], **_MINUTES
    ),
    "a CronJob with two Jobs at a time": Scene([_apply(nightly(pods(run="70s")))], **_MINUTES),
    "a CronJob with a short history": Scene(
        [_apply(nightly(pods(run="2s"), successfulJobsHistoryLimit=1))], **_MINUTES
    ),
    "a CronJob whose Jobs fail": Scene(
        [_apply(nightly(failing(run="2s"), job_spec={"backoffLimit": 0}, failedJobsHistoryLimit=1))],
        **_MINUTES,
    ),
}

BATCH = _JOBS | _CRON_JOBS
