"""Loops and outages in virtual time: the scenarios of examples/scenarios/loops, and the scenes of ``make bench PART=live``.

The scenes begin as on the real cluster: the same pods on the same nodes, cycles every two or four seconds, and kubelets
that take no time, as kwok's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from msgspec import structs

from bench.documents import markdown, put
from bench.live.outages import SCENES as OUTAGES
from builders import HOSTNAME, ZONE, Object, a_node
from builders.policies import Policy
from e2e.loop_scenes import NODES, SCENES
from e2e.placed import Placed, pods_of
from e2e.workloads import replica_set
from restow.descheduling.pod_criteria import short_duration
from restow.kube.timestamps import SECOND, format_time
from restow.policies.codes import Placement
from restow.policies.policy import Policy as ReadPolicy
from restow.reporting.simulation_document import LoopResult, SimulationInputs, SimulationResult
from restow.reporting.simulation_result import RunNames, simulation_result
from restow.simulating.kubelets import READY_DELAY
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.observations import Observation, PodKey
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, begin, config_of, run_out
from restow.simulating.scenarios.scenario import Scenario

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/scenarios/loops"
EXPLANATION, PERFORMANCE = ROOT / "docs/explanation/loops.md", ROOT / "docs/performance.md"
_START = 1_767_225_600 * SECOND
_CYCLES = 8
_PLACEMENTS = (Placement.UPSTREAM, Placement.PROVE)
_HEADINGS = ("scenario", "evictions: `upstream`", "`prove`", "the loop in `upstream`", "in `prove`")


@dataclass(slots=True)
class Unready:
    """Follows a run: the longest time without a ready pod, in nanoseconds."""

    longest: int = 0
    _ready: set[PodKey] = field(default_factory=set)
    _since: int | None = None

    def observe(self, seen: Observation) -> None:
        """Take in what has changed at a moment."""
        if self._since is not None:
            self.longest = max(self.longest, seen.time - self._since)
        for key, pod in seen.pods.items():
            (self._ready.add if pod is not None and "ready" in pod.states else self._ready.discard)(key)
        if self._ready:
            self._since = None
        elif self._since is None:
            self._since = seen.time


def played(scenario: Scenario, folder: Folder, placement: Placement) -> tuple[SimulationResult, Unready]:
    """What comes of a scenario with the descheduler in a placement."""
    descheduling = scenario.descheduling and structs.replace(scenario.descheduling, placement=placement)
    scenario = replace(scenario, descheduling=descheduling)
    run, unready = begin(scenario, config_of(scenario, folder, ReadPolicy()), _START), Unready()
    run.observer.listeners.append(unready.observe)
    finished = run_out(scenario, run, RunEnding(scenario.duration or 0, when_stable=False), lambda _: None)
    return simulation_result(scenario, finished, RunNames("", "", SimulationInputs())), unready


def examples() -> list[Path]:
    """The scenarios of loops, by name."""
    return sorted(path for path in EXAMPLES.glob("*.yaml") if "kind: Scenario" in path.read_text())


def example(path: Path) -> dict[Placement, SimulationResult]:
    """What comes of a scenario in both placements."""
    folder = Folder(path.parent)
    scenario = read_scenario(path.read_bytes(), path.name, folder)
    return {placement: played(scenario, folder, placement)[0] for placement in Placement}


def example_row(path: Path) -> tuple[str, ...]:
    """What there is to tell of it in a table."""
    results = example(path)
    upstream, prove = results[Placement.UPSTREAM], results[Placement.PROVE]
    link = f"[{upstream.metadata.description}](../../{path.relative_to(ROOT)})"
    evictions = (f"{each.summary.evictions:,}" for each in (upstream, prove))
    return (link, *evictions, _told(upstream), _told(prove))


def _told(result: SimulationResult) -> str:
    """The loops of a run in a cell."""
    return "; ".join(_loop(each) for each in result.loops) or "none"


def _loop(loop: LoopResult) -> str:
    names = " and ".join(each.workload.rpartition("/")[2] for each in loop.workloads)
    return f"{names} by {' and '.join(loop.driven_by)}, every {short_duration(round(loop.period_seconds))}, {loop.rounds} times"


@dataclass(slots=True, frozen=True)
class Scene:
    """A scene of the live benchmark; ``taints`` are of its first node."""

    workloads: Sequence[Placed]
    policy: Policy
    every: str
    seconds: int
    taints: Sequence[str] = ()

    def play(self, placement: Placement) -> tuple[SimulationResult, Unready]:
        """What comes of it in a placement."""
        with TemporaryDirectory() as directory:
            folder = Folder(Path(directory))
            (folder.path / "policy.yaml").write_text(yaml.safe_dump(self.policy))
            scenario = read_scenario(yaml.safe_dump(self._document()).encode(), "scene.yaml", folder)
            return played(scenario, folder, placement)

    def _document(self) -> Object:
        return {
            "apiVersion": "restow.dev/v1alpha1",
            "kind": "Scenario",
            "for": f"{self.seconds}s",
            "start": [*_nodes(self.taints), *(each for placed in self.workloads for each in _objects(placed))],
            "descheduler": {"policy": "policy.yaml", "every": self.every},
            "kubelets": dict.fromkeys(("start", "ready", "run", "delete"), "0s"),
        }


def scene_rows() -> Iterator[tuple[str, ...]]:
    """The scenes of ``make bench PART=live TABLE=loops``: evictions in as many cycles."""
    for each in SCENES:
        scene = Scene(each.workloads(), each.policy(), "2s", 2 * _CYCLES - 1)
        evictions = (scene.play(placement)[0].summary.evictions for placement in _PLACEMENTS)
        yield (each.name, *(f"{count:,}" for count in evictions))


def outage_rows() -> Iterator[tuple[str, ...]]:
    """The scenes of ``make bench PART=live TABLE=outages``: evictions, and the longest time without a ready pod."""
    for each in OUTAGES:
        web = [Placed(replica_set("web", 2, annotations={READY_DELAY: "10s"}), ["node-1"] * 2)]
        taints = ["example.com/leave:NoSchedule"] if "tainted" in each.name else []
        told = [Scene(web, each.policy, "4s", 45, taints).play(placement) for placement in _PLACEMENTS]
        evictions = (f"{result.summary.evictions:,}" for result, _ in told)
        yield (each.name, *evictions, *(f"{unready.longest / SECOND:.1f} s" for _, unready in told))


def _nodes(taints: Sequence[str]) -> Iterator[Object]:
    for name, zone in zip(NODES, "abcab", strict=True):
        labels = {HOSTNAME: name, ZONE: zone}
        yield a_node(name, cpu="4", memory="32Gi", labels=labels, taints=list(taints) if name == NODES[0] else None)


def _objects(placed: Placed) -> Iterator[Object]:
    """A ReplicaSet and its pods, which have been running and ready for 16 seconds."""
    begun = format_time(_START - 16 * SECOND)
    yield placed.replica_set
    for pod in pods_of(placed.replica_set, placed.nodes):
        stamps = {"uid": f"uid-{pod['metadata']['name']}", "creationTimestamp": begun}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": begun}
        status = {"phase": "Running", "startTime": begun, "conditions": [ready], "containerStatuses": [{"name": "c0"}]}
        yield pod | {"metadata": pod["metadata"] | stamps, "status": status}


def tables() -> Iterator[tuple[Path, str, str]]:
    """Yield each page with a table, the name of the table there, and what it is."""
    yield EXPLANATION, "loops", markdown(_HEADINGS, [example_row(each) for each in examples()])
    headings = (f"in {_CYCLES} cycles, simulated", "`upstream` placement", "`prove`")
    yield PERFORMANCE, "simulated loops", markdown(headings, list(scene_rows()))
    longest = ("longest time without a ready pod: `upstream`", "`prove`")
    headings = ("in 45 s, simulated", "evictions: `upstream`", "`prove`", *longest)
    yield PERFORMANCE, "simulated outages", markdown(headings, list(outage_rows()))


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and put them into their pages; exit status 0."""
    argparse.ArgumentParser(prog="python -m tests.bench loops", description=__doc__).parse_args(arguments)
    for page, name, table in tables():
        print(f"{name}\n\n{table}\n")
        put(page, name, table)
    return 0
