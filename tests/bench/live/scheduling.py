"""Many pods onto many nodes: restow and kube-scheduler one after the other, on copies of one store.

Both read the same KubeSchedulerConfiguration, once with kube-scheduler's own client limits and once with none. The pods
are created as fast as the API server takes them while the scheduler runs. Somebody who watches all pods sees when each is
bound. Where the API server is the limit, the processor time of the scheduler tells more than its throughput.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from bench.live.clusters import CACHE, add_nodes, control_plane_for, reset
from bench.live.idleness import processor_time
from bench.live.tables import LiveTable, Row, mebibytes, seconds
from builders import Object
from e2e.beside import beside
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.ports import HOST, free_ports
from e2e.running import page
from e2e.schedulers import COMMAND
from e2e.waiting import wait_until
from e2e.workloads import a_template

_NAME = "my-scheduler"
_NAMESPACE = "crowd"
#: Pods of one workload.
_REPLICAS = 10
#: Requests a second and at once: kube-scheduler's defaults, and none.
_LIMITS: Mapping[str, tuple[float, int]] = {"50 a second": (50.0, 100), "none": (-1.0, 0)}
#: Seconds of one watch, and until the last pod is bound.
_ONE, _PATIENCE = 5, 1200.0


@dataclass(slots=True, frozen=True)
class Nodes:
    """Empty nodes."""

    count: int

    @property
    def checkpoint(self) -> Path:
        """Where they are kept."""
        return CACHE / f"empty-{self.count}"

    def make(self, plane: ControlPlane) -> None:
        """Create them on a new control plane."""
        add_nodes(plane, self.count)
        plane.namespace(_NAMESPACE)


@dataclass(slots=True)
class Bindings:
    """When pods were created and seen to be bound, by name, in seconds of the monotonic clock."""

    plane: ControlPlane
    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)

    def create(self, pod: Object) -> None:
        """Create a pod, and remember when that was asked for."""
        self.created[pod["metadata"]["name"]] = time.monotonic()
        self.plane.admin.create(pod)

    def watch(self, version: str, over: threading.Event) -> None:
        """See pods get their nodes."""
        while not over.is_set():
            for event in self.plane.admin.watch("Pod", _NAMESPACE, version=version, seconds=_ONE):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK" and event["object"]["spec"].get("nodeName"):
                    self.bound.setdefault(event["object"]["metadata"]["name"], time.monotonic())

    @property
    def waits(self) -> list[float]:
        """From the request that created a pod until it was bound."""
        return [self.bound[name] - created for name, created in self.created.items()]

    @property
    def duration(self) -> float:
        """From the first request until the last pod was bound."""
        return max(self.bound.values()) - min(self.created.values())


def table(pods: int) -> LiveTable:
    """The table, with five pods for each node."""
    return LiveTable("scheduling", _HEADINGS, partial(_measure, Nodes(pods // 5), pods))


_HEADINGS = (
    "client limit",
    "scheduler",
    "pods bound",
    "time",
    "pods a second",
    "created to bound, median",
    "99 of 100",
    "processor time",
    "per pod",
    "memory at most",
)


def _measure(nodes: Nodes, pods: int, directory: Path) -> Iterator[Row]:
    with control_plane_for(nodes) as plane:
        for limit, (qps, burst) in _LIMITS.items():
            for program in ("kube-scheduler", "restow"):
                reset(plane, nodes)
                # Nobody names it, and it would look at every pod.
                plane.kill("kube-scheduler")
                config = _config(plane, directory / f"{qps}.json", qps, burst)
                yield limit, program, *_run(plane, program, config, directory, pods)


def _run(plane: ControlPlane, program: str, config: Path, directory: Path, pods: int) -> Row:
    bindings, port = Bindings(plane), free_ports(1)[0]
    command = _command(plane, program, config, port)
    scheduler = Child(command, directory / f"{program}-{config.stem}.log")
    version = plane.admin.call("GET", collection("Pod", _NAMESPACE))["metadata"]["resourceVersion"]
    with ExitStack() as stack:
        stack.callback(scheduler.kill)
        scheduler.start()
        wait_until(f"{program} is ready", partial(_is_ready, scheduler, port), _PATIENCE)
        stack.enter_context(beside(partial(bindings.watch, version)))
        before = processor_time(scheduler.pid)
        plane.admin.together(bindings.create, [(_a_pod(number),) for number in range(pods)])
        wait_until("all pods are bound", lambda: len(bindings.bound) >= pods, _PATIENCE)
        used, memory = processor_time(scheduler.pid) - before, _peak(scheduler.pid)
    return _row(bindings, used, memory)


def _row(bindings: Bindings, used: float, memory: int) -> Row:
    pods, waits = len(bindings.bound), np.array(bindings.waits)
    median, late = np.percentile(waits, (50, 99)).tolist()
    return (
        f"{pods:,}",
        seconds(bindings.duration),
        f"{pods / bindings.duration:,.0f}",
        f"{median:,.2f} s",
        f"{late:,.2f} s",
        seconds(used),
        f"{1000 * used / pods:.2f} ms",
        mebibytes(memory),
    )


def _command(plane: ControlPlane, program: str, config: Path, port: int) -> Sequence[str]:
    start = COMMAND if program == "restow" else (str(plane.layout.binaries / "kube-scheduler"),)
    open_paths = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"
    return [*start, f"--config={config}", f"--bind-address={HOST}", f"--secure-port={port}", open_paths]


def _config(plane: ControlPlane, file: Path, qps: float, burst: int) -> Path:
    connection = {"kubeconfig": str(plane.kubeconfig), "qps": qps, "burst": burst}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": _NAME}],
    }
    file.write_text(json.dumps(document))
    return file


def _a_pod(number: int) -> Object:
    template = a_template(f"app-{number // _REPLICAS}", spec={"schedulerName": _NAME})
    metadata = template["metadata"] | {"name": f"pod-{number:05}", "namespace": _NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod"} | template | {"metadata": metadata}


def _is_ready(scheduler: Child, port: int) -> bool:
    scheduler.check()
    try:
        return page(port, "/readyz")[0] == 200
    except OSError:
        return False


def _peak(pid: int) -> int:
    """The most memory that a process has had, in bytes (Linux)."""
    (line,) = (each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) << 10
