"""``restow schedule -o json`` against the real kube-scheduler 1.36: every field of every pod, each after those before it.

``RESTOW_SCHEDULE_SEEDS=1000:4000`` compares other cases, or more.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders import Object, a_list
from oracle.random_contests import Contest
from oracle.scheduler_process import Outcome, Rejection, SchedulerProcess, scheduler_binary
from oracle.scheduling_cases import DEVICES, NAMES, a_scheduling_case
from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.scheduling import ScheduleRequest, prepare
from restow.reporting.schedule_result import Outcomes, ScheduleMetadata, ScoresFor, render_pod, render_result

pytestmark = pytest.mark.oracle

SEEDS = range(*map(int, os.environ.get("RESTOW_SCHEDULE_SEEDS", "0:300").split(":")))
CHUNK = 50
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]

PodReport = dict[str, Any]

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        disabled: [{name: ImageLocality}, {name: PodTopologySpread}]
        enabled: [{name: PodTopologySpread, weight: 7}]
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}}
  - schedulerName: other
"""


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


@pytest.fixture
def restow(tmp_path: Path) -> Any:
    """The document that the command writes about a cluster, by the functions behind it."""

    def document(cluster: list[Object], scores_for: ScoresFor, configuration: str = "", pod: str | None = None) -> Any:
        dump, written = tmp_path / "cluster.json", tmp_path / "scheduler.yaml"
        dump.write_bytes(msgspec.json.encode(a_list(*cluster)))
        written.write_text(configuration)
        named = str(written) if configuration else None
        feedback = Collected()
        scheduling = prepare(ScheduleRequest(ClusterSource((str(dump),)), pod, named), feedback)
        outcomes = Outcomes(scheduling.found.cluster, scores_for)
        lines = [render_pod(outcomes.of(decision)) for decision in scheduling.decisions(feedback)]
        lines += [render_pod(outcomes.gated(*each)) for each in sorted(scheduling.queue.gated.items())]
        return msgspec.json.decode(b"".join(render_result(ScheduleMetadata("", ""), lines)))

    return document


#: Without devices: of a cycle that breaks off the document has no nodes, and a pod that is taken off its node claims
#: devices afresh. The scheduler itself is asked about them in ``test_scheduler_differential``.
SUBJECTS = [name for name in NAMES if name != DEVICES]


def a_cluster_of(seed: int) -> list[Object]:
    """A contest for room, or a case of one of the scheduler's subjects in turn."""
    return Contest(seed).cluster() if seed % 4 == 0 else a_scheduling_case(SUBJECTS[seed % len(SUBJECTS)], seed)


def scores_for(seed: int) -> ScoresFor:
    return "all" if seed % 2 else "needed"


def configuration(seed: int) -> str:
    """A configuration with other weights and another strategy, and with a second profile; mostly none."""
    return CONFIGURATION if seed % 5 == 3 else ""


def theirs(outcome: Outcome, uids: dict[str, str]) -> PodReport:
    """What the real scheduler says of a pod, in the words of the document."""
    before = outcome.pre_filter
    victims = outcome.candidates[outcome.nominated_node].victims if outcome.nominated_node else ()
    return {
        "pod": reference(outcome.pod, uids),
        "node": outcome.node or None,
        "currentNode": None,
        "nominatedNode": outcome.nominated_node or None,
        "victims": [reference(name, uids) for name in victims],
        "gated": outcome.gated or None,
        "unknown": None,
        "message": outcome.message,
        "feasible": list(outcome.feasible),
        "best": list(outcome.best),
        "scores": nonzero(outcome.scores),
        "rejected": {node: rejection(each) for node, each in outcome.rejected.items()},
        "preFilter": rejection(before) if before and before.code != "Error" else None,
    }


def rejection(each: Rejection) -> PodReport:
    return {"plugin": each.plugin, "reasons": sorted(each.reasons), "unresolvable": each.code == "UAU"}


def reference(name: str, uids: dict[str, str]) -> PodReport:
    namespace, _, short = name.partition("/")
    return {"namespace": namespace, "name": short, "uid": uids[name]}


def ours(pod: PodReport) -> PodReport:
    """A pod of the document; the reasons of a plugin are in no order there."""
    told = [*pod["rejected"].values(), *filter(None, [pod["preFilter"]])]
    for each in told:
        each["reasons"].sort()
    return pod | {"scores": nonzero(pod["scores"])}


def nonzero(scores: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The scores but those of 0, which are what a plugin without an opinion gives."""
    found = {node: {plugin: score for plugin, score in each.items() if score} for node, each in scores.items()}
    return {node: each for node, each in found.items() if each}


def uids_of(cluster: list[Object]) -> dict[str, str]:
    metadata = [each["metadata"] for each in cluster if each["kind"] == "Pod"]
    return {f"{each.get('namespace', 'default')}/{each['name']}": each.get("uid", "") for each in metadata}


def difference(seed: int, scheduler: SchedulerProcess, restow: Any) -> str:
    """What restow says differently in one case; empty where it agrees."""
    cluster = a_cluster_of(seed)
    answered = scheduler.ask(cluster, scores_for=scores_for(seed), config=configuration(seed))
    assert not answered.error, answered.error
    expected = [theirs(outcome, uids_of(cluster)) for outcome in answered.pods]
    found = [ours(pod) for pod in restow(cluster, scores_for(seed), configuration(seed))["pods"]]
    if [pod["pod"] for pod in found] != [pod["pod"] for pod in expected]:
        return f"seed {seed}: pods {[pod['pod'] for pod in expected]}, restow {[pod['pod'] for pod in found]}"
    told = (compared(*each) for each in zip(expected, found, strict=True))
    return next((f"seed {seed}: {text}" for text in told if text), "")


def compared(expected: PodReport, found: PodReport) -> str:
    """The first field of a pod that differs; empty where none does."""
    assert set(found) == set(expected)
    for field, value in expected.items():
        if found[field] != value:
            return f"{expected['pod']}: {field}\n  expected {value}\n  restow   {found[field]}"
    return ""


def difference_of_one(seed: int, scheduler: SchedulerProcess, restow: Any) -> str:
    """What restow says differently of one pod: one that waits, or one that is taken off its node."""
    cluster, chance = a_cluster_of(seed), random.Random(seed)
    pod = chance.choice([each for each in cluster if each["kind"] == "Pod" and is_schedulable(each)])
    name = f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
    told = ours(restow(cluster, scores_for(seed), configuration(seed), name)["pods"][0])
    current = pod["spec"].pop("nodeName", None)
    if current:
        pod["status"] = {"phase": "Pending"}
    answered = scheduler.ask(cluster, pod=name, scores_for=scores_for(seed), config=configuration(seed))
    assert not answered.error, answered.error
    on_it = current if any(each["metadata"]["name"] == current for each in cluster if each["kind"] == "Node") else None
    text = compared(theirs(answered.only(), uids_of(cluster)) | {"currentNode": on_it}, told)
    return text and f"seed {seed}: {text}"


def is_schedulable(pod: Object) -> bool:
    """Whether a pod may be asked about."""
    over = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    known = pod["spec"].get("schedulerName") in {None, "default-scheduler"}
    return known and not over and "deletionTimestamp" not in pod["metadata"]


@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_the_document_says_what_kube_scheduler_says(scheduler: SchedulerProcess, restow: Any, seeds: range) -> None:
    found = [text for seed in seeds if (text := difference(seed, scheduler, restow))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seeds", CHUNKS[::2], ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS[::2]])
def test_one_pod_is_told_what_kube_scheduler_says(scheduler: SchedulerProcess, restow: Any, seeds: range) -> None:
    found = [text for seed in seeds if (text := difference_of_one(seed, scheduler, restow))]
    assert not found, "\n".join(found)


def test_the_cases_have_something_to_say(restow: Any) -> None:
    """Agreement on little proves little: pods that choose, fit nowhere, preempt and wait at a gate all occur."""
    pods = [pod for seed in range(60) for pod in restow(a_cluster_of(seed), "needed")["pods"]]
    assert sum(len(pod["best"]) > 1 for pod in pods) > 5
    assert sum(bool(pod["scores"]) for pod in pods) > 30
    assert sum(bool(pod["victims"]) for pod in pods) > 10
    assert sum(bool(pod["gated"]) for pod in pods) > 3
    assert sum(bool(pod["preFilter"]) for pod in pods) > 3
