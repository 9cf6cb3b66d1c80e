"""One cycle of moves on an uneven cluster, and what a watch of somebody else has seen of it.

Nothing is taken from restow's word but the share of predictions that came true where nothing is nominated.
"""

from __future__ import annotations

import signal
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench.live.pod_watch import New, PodWatch
from bench.live.uneven import FULL, THIN
from builders import Object, a_container, a_pod
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import CYCLE_ENDS, a_descheduler
from e2e.running import Descheduler, Samples
from e2e.shipped import kubeconfig_of_restow
from e2e.waiting import wait_until

#: Seconds for a cycle, and for the last replacements after it.
_LIMIT, _PATIENCE = 3600.0, 300.0
_FILLERS = "fillers"
#: Thousandths of a processor: leaves no room for another pod.
_FILLER = 15_000


@dataclass(slots=True, frozen=True)
class Moved:
    """What came of one cycle."""

    new: tuple[New, ...]
    evictions: int
    #: From the first eviction until all replacements were ready.
    seconds: float
    #: The pods on each node after it.
    on_node: Counter[str]
    samples: Samples

    @property
    def on_target(self) -> int:
        """How many landed on the node that they were nominated for."""
        return sum(each.node == each.target for each in self.new)

    @property
    def as_predicted(self) -> int:
        """How many landed where restow says that they would."""
        return round(self.samples.total("restow_predictions_total", result="hit"))

    @property
    def longest_wait(self) -> float:
        """Behind a gate (seconds)."""
        return max((each.waited for each in self.new), default=0.0)

    @property
    def milliseconds(self) -> float:
        """Of one move."""
        return 1000 * self.seconds / max(self.evictions, 1)


def leveling(steering: str) -> Policy:
    """LowNodeUtilization: full nodes lose pods to thin ones."""
    settings = {"thresholds": {"cpu": THIN}, "targetThresholds": {"cpu": FULL}}
    return strategy_policy("LowNodeUtilization", settings, restow={"placement": "prove", "steering": steering})


def packing(steering: str) -> Policy:
    """HighNodeUtilization: thin nodes are emptied."""
    settings = {"thresholds": {"cpu": THIN}}
    return strategy_policy("HighNodeUtilization", settings, restow={"placement": "prove", "steering": steering})


def restow(plane: ControlPlane, policy: Policy, directory: Path, interval: str = "1h") -> Descheduler:
    """restow under its own account, not yet started."""
    flags = [f"--descheduling-interval={interval}"]
    return a_descheduler(plane, "restow", policy, directory, flags, kubeconfig=kubeconfig_of_restow(plane))


def upstream(plane: ControlPlane, policy: Policy, directory: Path) -> Descheduler:
    """The Descheduler, not yet started."""
    return a_descheduler(plane, "Descheduler", policy, directory, ["--descheduling-interval=1h"])


def moved_by(plane: ControlPlane, descheduler: Descheduler, filler: Filler | None = None) -> Moved:
    """What comes of one cycle; with a filler beside it."""
    watch = PodWatch(plane, is_a_filler, filler.fill if filler else _ignored)
    with watch.watching(), descheduler:
        moved = first_cycle(plane, watch, descheduler)
        end(descheduler)
    return moved


def first_cycle(plane: ControlPlane, watch: PodWatch, descheduler: Descheduler) -> Moved:
    """The same of a descheduler that goes on, once all replacements are ready."""
    descheduler.wait_for_line(CYCLE_ENDS, timeout=_LIMIT)
    wait_until("all replacements are ready", lambda: watch.is_quiet, _PATIENCE, every=0.5)
    return Moved(tuple(watch.new.values()), len(watch.left), watch.seconds, on_nodes(plane), descheduler.samples())


def end(descheduler: Descheduler) -> None:
    """As a kubelet ends it."""
    descheduler.send(signal.SIGTERM)
    descheduler.ended()


def on_nodes(plane: ControlPlane) -> Counter[str]:
    """How many pods are on each node, without fillers."""
    pods = plane.admin.items("Pod")
    return Counter(each["spec"].get("nodeName", "") for each in pods if not is_a_filler(each))


def is_a_filler(pod: Object) -> bool:
    """Whether a pod is there to fill a node."""
    return bool(pod["metadata"]["namespace"] == _FILLERS)


@dataclass(slots=True)
class Filler:
    """Fills the target of one nomination of so many, as soon as it sees it."""

    plane: ControlPlane
    every: int
    filled: list[Future[Object]] = field(default_factory=list)
    _seen: int = 0
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    def fill(self, pod: Object) -> None:
        """Somebody has nominated a pod."""
        self._seen += 1
        if self._seen % self.every == 0:
            node, number = pod["status"]["nominatedNodeName"], len(self.filled)
            container = a_container("filler", image="example/filler:1", requests={"cpu": f"{_FILLER}m"})
            filler = a_pod(f"filler-{number}", namespace=_FILLERS, node=node, containers=[container])
            self.filled.append(self._pool.submit(self.plane.admin.create, filler))

    def check(self) -> int:
        """How many nodes it has filled; RefusedError where that failed."""
        return len([each.result() for each in self.filled])

    @staticmethod
    def of(plane: ControlPlane, every: int) -> Filler:
        """One that has a namespace for its pods."""
        if not plane.admin.find("Namespace", _FILLERS):
            plane.namespace(_FILLERS)
        return Filler(plane, every)


def _ignored(_: Object) -> None:
    """Nobody fills anything."""
