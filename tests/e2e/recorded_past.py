"""What happens in a cluster while it is recorded: people, pipelines and machines at work, chosen by a seed.

Half of the workloads can be on one node only, so that where their pods land follows from what happens; the others may be
anywhere, and a scheduler chooses among equal nodes as it likes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from builders import HOSTNAME, Object
from e2e.control_plane import ControlPlane
from e2e.rest import name_of
from e2e.waiting import wait_until
from e2e.workloads import budget, daemon_set, deployment, is_ready, job, pods_of, stateful_set

NODES: Final = 6
#: Pods take their time, as those of kwok do not.
_SLOW: Final = {"test/ready-delay": "1s", "test/delete-delay": "1s"}
#: Seconds from one step to the next: what a step sets off is over by then.
_PAUSE: Final = 4.0


@dataclass(slots=True)
class Stage:
    """A cluster in which things happen, and a count of what did."""

    plane: ControlPlane
    chance: random.Random
    done: dict[str, int] = field(default_factory=dict)
    _images: int = 1
    _jobs: int = 0

    def begin(self) -> None:
        """Create the nodes and the workloads, and wait until all pods are ready."""
        names = self.plane.add_nodes(NODES)
        made = [self._deployment(f"pinned-{number}", 2, node=names[number]) for number in range(4)]
        made += [self._deployment(f"free-{number}", 3) for number in range(3)]
        made += [stateful_set("state", 2, annotations=_SLOW), daemon_set("agent", annotations=_SLOW)]
        made += [budget("careful", "free-0", max_unavailable=1)]
        self.plane.admin.create_all(made)
        wait_until("all pods are ready", lambda: self._ready() == 8 + 9 + 2 + NODES, 60)

    def play(self, seconds: float) -> None:
        """Do one step after the other, each kind at least once where there is time for it."""
        steps: list[Callable[[], None]] = [
            self.scale,
            self.roll_out,
            self.evict,
            self.drain,
            self.delete_pod,
            self.run_job,
            self.change_environment,
            self.restart_node,
            self.add_node,
            self.recreate,
            self.scale_state,
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number = sum(self.done.values())
            step = steps[number] if number < len(steps) else self.chance.choice(steps)
            step()
            self.done[step.__name__] = self.done.get(step.__name__, 0) + 1
            time.sleep(_PAUSE)

    def scale(self) -> None:
        """Somebody scales a Deployment."""
        self._patch("Deployment", self._app(), {"spec": {"replicas": self.chance.randint(1, 5)}})

    def scale_state(self) -> None:
        """Somebody scales a StatefulSet."""
        self._patch("StatefulSet", "state", {"spec": {"replicas": self.chance.randint(1, 3)}})

    def roll_out(self) -> None:
        """A pipeline rolls out another image."""
        self._images += 1
        containers = [{"name": "c0", "image": f"example/app:{self._images}"}]
        self._change_pods(self._app(), {"containers": self._merged(containers)})

    def change_environment(self) -> None:
        """A pipeline changes nothing but an environment variable, which is not recorded."""
        self._images += 1
        value = [{"name": "SECRET", "value": f"hidden-{self._images}"}]
        self._change_pods(self._app(), {"containers": self._merged([{"name": "c0", "env": value}])})

    def evict(self) -> None:
        """Somebody evicts a pod."""
        (pod, *_) = pods_of(self.plane.admin, self._app("free-1", "free-2"))
        self.plane.admin.evict(name_of(pod))

    def delete_pod(self) -> None:
        """Somebody deletes a pod."""
        (pod, *_) = pods_of(self.plane.admin, self._app())
        self.plane.admin.delete("Pod", name_of(pod))

    def drain(self) -> None:
        """Somebody drains a node for some seconds, and puts it back."""
        node = f"node-{self.chance.randint(1, NODES)}"
        self.plane.admin.patch("Node", node, {"spec": {"unschedulable": True}})
        time.sleep(1.5)
        wait_until(f"{node} is drained", lambda: self._drained(node), 60, every=1.0)
        time.sleep(_PAUSE)
        self.plane.admin.patch("Node", node, {"spec": {"unschedulable": None}})

    def restart_node(self) -> None:
        """A node is not ready for some seconds."""
        node = f"node-{self.chance.randint(1, NODES)}"
        for label in ("yes", None):
            self.plane.admin.patch("Node", node, {"metadata": {"labels": {"test/not-ready": label}}})
            time.sleep(_PAUSE)

    def add_node(self) -> None:
        """A machine comes."""
        self.plane.add_nodes(1)

    def run_job(self) -> None:
        """A Job runs for three seconds."""
        self._jobs += 1
        annotations = {**_SLOW, "test/complete-delay": "3s"}
        self.plane.admin.create(job(f"job-{self._jobs}", 2, annotations=annotations))

    def recreate(self) -> None:
        """Somebody deletes a workload, and creates it again."""
        self.plane.admin.delete("Deployment", "free-2")
        wait_until("its pods are gone", lambda: not self.plane.admin.items("Pod", "default", labels="app=free-2"), 30)
        self.plane.admin.create(self._deployment("free-2", 3))

    def _app(self, *among: str) -> str:
        return self.chance.choice(among or ("pinned-0", "pinned-1", "pinned-2", "free-0", "free-1"))

    def _deployment(self, name: str, replicas: int, node: str = "") -> Object:
        pod: dict[str, Any] = {"node_selector": {HOSTNAME: node}} if node else {}
        return deployment(name, replicas, annotations=_SLOW, **pod)

    def _patch(self, kind: str, name: str, change: Object) -> None:
        self.plane.admin.patch(kind, name, change)

    def _change_pods(self, name: str, spec: Object) -> None:
        self._patch("Deployment", name, {"spec": {"template": {"spec": spec}}})

    @staticmethod
    def _merged(containers: list[Object]) -> list[Object]:
        # A merge patch replaces lists as a whole.
        return [
            {"image": "example/app:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}} | each
            for each in containers
        ]

    def _ready(self) -> int:
        return sum(map(is_ready, self.plane.admin.items("Pod", "default")))

    def _drained(self, node: str) -> bool:
        """Evict what is left on a node; whether there is nothing more."""
        left = [each for each in self.plane.admin.items("Pod", "default") if _leaves(each, node)]
        for each in left:
            self.plane.admin.evict(name_of(each))
        return not left


def _leaves(pod: Object, node: str) -> bool:
    owners = {each["kind"] for each in pod["metadata"].get("ownerReferences", ())}
    return (
        pod["spec"].get("nodeName") == node and "DaemonSet" not in owners and "deletionTimestamp" not in pod["metadata"]
    )
