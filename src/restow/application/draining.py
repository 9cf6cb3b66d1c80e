"""What draining a node would come to: the drain is simulated, with the controllers and the scheduler of the cluster.

The node is cordoned and its pods are evicted as ``kubectl drain`` does it (1.36, with ``--ignore-daemonsets``,
``--force`` and ``--delete-emptydir-data``): all at once, and every five seconds again those whose budgets refuse. So a
budget is waited for as long as its pods become ready elsewhere, and what never can go is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from restow.application.clusters import ClusterSource, check_inputs, instant, scheduler_minor
from restow.application.feedback import Feedback
from restow.application.policies import read_policy_file, read_scheduler_config
from restow.application.simulating import dumped_objects
from restow.application.snapshots import SnapshotRequest, read_snapshot
from restow.errors import InputError
from restow.kube.excerpts import did_you_mean
from restow.kube.manifests import Manifest, Pod, kind_of
from restow.kube.timestamps import SECOND
from restow.policies.fallbacks import Fallbacks
from restow.reporting.drain_result import DrainedPod, DrainOutcome, NodeDrain, StayingPod, WorkloadCost
from restow.reporting.simulation_document import MadeEviction, SimulationInputs
from restow.reporting.simulation_result import RunNames, simulation_result
from restow.simulating.api_server.eviction import evict
from restow.simulating.api_server.indexes import key_of
from restow.simulating.controllers.cluster_autoscaler import stays_with_node
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import API_VERSION, KIND, read_scenario
from restow.simulating.scenarios.running import RunEnding, ScenarioConfig, ScenarioRun, begin, run_out
from restow.simulating.scenarios.scenario import Scenario

#: When the drain begins: controllers have seen everything by then.
_AT: Final = 30
#: What still waits for its budget after so long, in seconds, waits for ever as far as is told.
_PATIENCE: Final = 30 * 60
_SEED: Final = 1


@dataclass(slots=True, frozen=True)
class DrainRequest:
    """Which node to drain in which cluster; as a user writes it."""

    where: ClusterSource
    node: str
    #: The path of the schedulers' configuration.
    configuration: str | None = None
    now: str | None = None


def drained(request: DrainRequest, feedback: Feedback) -> NodeDrain:
    """Simulate the drain; InputError for anything that cannot be used, ClientError as ``read_cluster``."""
    check_inputs(request.where, None, request.configuration)
    configuration = read_scheduler_config(request.configuration)
    start = tuple(_start(request.where, feedback))
    _check_node(request, start)
    version = request.where.scheduler_version
    scenario = replace(
        _scenario(request.node), start=start, scheduler_minor=None if version is None else scheduler_minor(version)
    )
    config = ScenarioConfig((configuration.profiles,), read_policy_file(None, Fallbacks()).loaded.policy)
    with feedback.timings.phase("simulate"), feedback.simulating(_PATIENCE * SECOND) as tick:
        run = begin(scenario, config, instant(request.now) // SECOND * SECOND)
        finished = run_out(scenario, run, RunEnding(_PATIENCE * SECOND, when_stable=True), tick)
    staying = tuple(_staying(run, request.node))
    result = simulation_result(scenario, finished, RunNames(request.node, "", SimulationInputs()))
    return NodeDrain(
        node=request.node,
        seconds=result.metadata.seconds,
        pods=tuple(_drained(run, each) for each in result.evictions),
        staying=staying,
        workloads=tuple(
            WorkloadCost(each.workload, each.evicted, each.below_seconds, each.longest_below_seconds)
            for each in result.workloads
            if each.evicted
        ),
    )


def _start(where: ClusterSource, feedback: Feedback) -> Iterator[Manifest]:
    """The objects of the cluster; a live one is saved first, as ``restow snapshot`` does it."""
    if not where.is_live:
        yield from dumped_objects(where.inputs)
        return
    with TemporaryDirectory() as directory:
        file = str(Path(directory) / "cluster.json")
        read_snapshot(SnapshotRequest(where), feedback).save(file)
        yield from dumped_objects((file,))


def _check_node(request: DrainRequest, start: tuple[Manifest, ...]) -> None:
    names = [each.metadata.name for each in start if kind_of(each) == "Node"]
    if request.node not in names:
        hint = did_you_mean(request.node, names)
        raise InputError(f"the input holds no node {request.node}{f'; {hint}' if hint else ''}")


def _scenario(node: str) -> Scenario:
    written = {"apiVersion": API_VERSION, "kind": KIND, "events": [{"at": f"{_AT}s", "drain": node}]}
    return replace(read_scenario(json.dumps(written).encode(), node, Folder(Path())), seed=_SEED)


def _drained(run: ScenarioRun, eviction: MadeEviction) -> DrainedPod:
    waits = eviction.result == "waiting"
    outcome: DrainOutcome = "waiting" if waits else "unreplaced" if eviction.result == "unreplaced" else "moved"
    return DrainedPod(
        at=round(eviction.at - _AT, 3),
        pod=eviction.pod,
        workload=eviction.workload,
        outcome=outcome,
        replacement=eviction.replacement,
        to=eviction.replacement_node,
        message=_why_it_waits(run, eviction) if waits else "",
    )


def _why_it_waits(run: ScenarioRun, eviction: MadeEviction) -> str:
    """What the schedulers say about a replacement without a node."""
    key = eviction.pod.partition("/")[0], eviction.replacement
    return next((each.messages[key] for each in run.actors.schedulers if key in each.messages), "")


def _staying(run: ScenarioRun, node: str) -> Iterator[StayingPod]:
    """The pods that are still on the node, and why; those last that the drain leaves there."""
    store = run.simulation.store
    pods = sorted(store.on_node(node), key=lambda each: (stays_with_node(each), key_of(each)))
    for pod in pods:
        name = "/".join(key_of(pod))
        if stays_with_node(pod):
            yield StayingPod(name, "belongs", _belonging(pod))
        elif not pod.metadata.is_terminating:
            yield StayingPod(name, "refused", evict(store, *key_of(pod)).message)


def _belonging(pod: Pod) -> str:
    return "a static pod of the node" if pod.is_mirror else "a pod of a DaemonSet"
