"""The chapters of the course come to the same on the real control plane as in the simulation.

The manifests are applied and the events done one after the other, each as soon as the real cluster is where the simulated
one was right before it: that takes seconds where a scenario takes half an hour. Compared are numbers of pods, statuses,
conditions, and who is on which node wherever the rules leave no choice.

A node that fails says that it is not ready. Of the CronJobs only the first Jobs are compared, which are due at once
because the CronJobs are told that they have missed them. The race of two schedulers is left out: kwok takes pods for
which its node has no room.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from builders import Object
from e2e.components import Settings
from e2e.control_plane import ControlPlane
from e2e.rest import name_of
from e2e.scenario_on_plane import OnPlane, clear
from e2e.schedulers import Scheduler
from e2e.simulated import picture
from e2e.waiting import wait_until
from restow.kube.duration import parse_duration
from restow.kube.manifests import document_of
from restow.kube.timestamps import SECOND, format_time, parse_time
from restow.policies.policy import Policy
from restow.simulating.scenarios.events import TimedEvent
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import begin, config_of
from restow.simulating.scenarios.scenario import Scenario

pytestmark = pytest.mark.e2e

_COURSE = Path(__file__).parents[2] / "examples" / "course"
_KINDS = ("Deployment", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "Pod")
_NAMESPACES = ("default", "front")
_PATIENCE = 60.0
#: How many times shorter things are than they are written.
_FASTER = 60
_TOLERATED = 300 // _FASTER
_SETTINGS = Settings(
    apiserver=(
        f"--default-not-ready-toleration-seconds={_TOLERATED}",
        f"--default-unreachable-toleration-seconds={_TOLERATED}",
    ),
    scheduler={"profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "batch-scheduler"}]},
)


@dataclass(slots=True, frozen=True)
class Chapter:
    """A scenario, and what is particular about it."""

    name: str
    #: The apps for whose pods the rules leave a choice of nodes; empty are pods without an app.
    anywhere: tuple[str, ...] = ()
    faster: int = _FASTER
    #: Where the comparison ends; None: where the scenario does.
    until: str | None = None
    #: The configuration of a scheduler beside kube-scheduler.
    scheduler: str = ""


CHAPTERS = [
    Chapter("deployment/scenario", anywhere=("web",)),
    Chapter("replicasets/scenario", anywhere=("web", "shop")),
    Chapter("node-selector/scenario"),
    Chapter("node-affinity/scenario"),
    Chapter("pod-affinity/scenario", anywhere=("group", "batch")),
    Chapter("priority/scenario"),
    Chapter("priority/one-scheduler"),
    Chapter("daemonsets/scenario"),
    Chapter("jobs/scenario", anywhere=("",)),
    Chapter("cronjobs/scenario", faster=10, until="4m30s"),
    Chapter("custom-scheduler/scenario", until="12m", scheduler="packing.yaml"),
    # The last one, because it leaves a node that is not ready: the node lifecycle controller looks at nodes every five
    # seconds, and until then would mark pods on another node of that name.
    Chapter("taints/scenario"),
]


@pytest.fixture(scope="module")
def course(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane for all chapters."""
    with ControlPlane(tmp_path_factory.mktemp("course"), _SETTINGS) as plane:
        yield plane


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda each: each.name)
def test_the_real_cluster_comes_to_what_the_simulation_does(
    course: ControlPlane, tmp_path: Path, chapter: Chapter
) -> None:
    path = _COURSE / f"{chapter.name}.yaml"
    scenario = read_scenario(path.read_bytes(), path.name, Folder(path.parent))
    written, expected = scenario.document.data, simulated(chapter)
    on_plane = OnPlane(course, path.parent, chapter.faster)
    config = f"--config={path.parent / chapter.scheduler}"
    beside = Scheduler(tmp_path, course.kubeconfig, config, "--leader-elect=false") if chapter.scheduler else None
    try:
        with beside or nullcontext():
            on_plane.start(written["start"])
            _miss_schedules(course)
            for events, before in zip(_at_once(scenario), expected, strict=True):
                _compare(course, chapter, before)
                for event in events:
                    on_plane.happen(written["events"][event.place[-1]])
    finally:
        clear(course, _NAMESPACES)


def _at_once(scenario: Scenario) -> list[list[TimedEvent]]:
    """The events of each moment, and none in the end."""
    return [*(list(events) for _, events in groupby(scenario.events, lambda each: each.at)), []]


def simulated(chapter: Chapter) -> list[Object]:
    """What there is right before the events of each moment, and in the end."""
    path = _COURSE / f"{chapter.name}.yaml"
    folder = Folder(path.parent)
    scenario = read_scenario(path.read_bytes(), path.name, folder)
    begins, end = scenario.begins or 0, scenario.duration or 0
    run = begin(scenario, config_of(scenario, folder, Policy()), begins)
    until = parse_duration(chapter.until) if chapter.until else end
    found = []
    for at in [*(events[0].at - SECOND for events in _at_once(scenario) if events), until]:
        run.simulation.clock.run(begins + at)
        store = run.simulation.store
        objects = {kind: [document_of(each) for each in store.list(kind)] for kind in _KINDS}
        found.append(_picture(objects, chapter))
    return found


def _compare(plane: ControlPlane, chapter: Chapter, expected: Object) -> None:
    def real() -> Object:
        return _picture({kind: plane.admin.items(kind) for kind in _KINDS}, chapter)

    try:
        wait_until("the real cluster is as expected", lambda: real() == expected, _PATIENCE)
    except TimeoutError:
        found = real()
        different = [key for key in expected if found[key] != expected[key]]
        assert {key: found[key] for key in different} == {key: expected[key] for key in different}


def _picture(objects: dict[str, list[Object]], chapter: Chapter) -> Object:
    """What must be equal; pods that terminate are gone, one sooner and the other later."""
    pods = [each for each in objects["Pod"] if "deletionTimestamp" not in each["metadata"]]
    deployments = [_settled(each) for each in objects["Deployment"]]
    alike = {"Pod": [_alike(each) for each in pods], "Deployment": deployments}
    seen = picture(defaultdict(list, objects | alike))
    return seen | {"nodes": Counter(_place(each) for each in pods if _app(each) not in chapter.anywhere)}


def _alike(pod: Object) -> Object:
    """A pod without a name that was made up."""
    metadata = pod["metadata"]
    return pod | {"metadata": metadata | {"name": metadata.get("generateName", metadata["name"])}}


def _settled(deployment: Object) -> Object:
    """A Deployment on the way; whether it says so for a new ReplicaSet or for its pods is a race that it has with itself."""
    status = deployment.get("status", {})
    conditions = [
        each | {"reason": "ReplicaSetUpdated"} if each.get("reason") == "NewReplicaSetCreated" else each
        for each in status.get("conditions", [])
    ]
    return deployment | {"status": status | {"conditions": conditions}}


def _place(pod: Object) -> tuple[str, str, str]:
    return pod["metadata"]["namespace"], _app(pod), pod["spec"].get("nodeName", "")


def _app(pod: Object) -> str:
    app: str = pod["metadata"].get("labels", {}).get("app", "")
    return app


def _miss_schedules(plane: ControlPlane) -> None:
    """Have CronJobs be due at once, and not again soon.

    kube-controller-manager has been seen to pass over one of four: whichever has made no Job is told again.
    """
    if not plane.admin.items("CronJob"):
        return
    wait_until("five minutes begin", lambda: time.time() % 300 < 280, 30)
    missed = int(time.time() - 360) * SECOND
    for earlier in range(10):
        _last_scheduled(plane, missed - earlier * SECOND)
        with suppress(TimeoutError):
            wait_until("each CronJob has made a Job", lambda: not _overdue(plane, missed), 3)
            return
    raise AssertionError(f"CronJobs made no Job: {_overdue(plane, missed)}")


def _last_scheduled(plane: ControlPlane, at: int) -> None:
    """Have those that are overdue have made their last Job then."""
    for name in _overdue(plane, at + SECOND):
        plane.admin.patch("CronJob", name, {"status": {"lastScheduleTime": format_time(at)}}, part="status")


def _overdue(plane: ControlPlane, since: int) -> list[str]:
    """The CronJobs that have made no Job after a time."""
    found = plane.admin.items("CronJob")
    return [name_of(each) for each in found if _scheduled(each) <= since]


def _scheduled(cron_job: Object) -> int:
    written = cron_job.get("status", {}).get("lastScheduleTime")
    return parse_time(written) if written else 0
