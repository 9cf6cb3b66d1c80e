"""Plans of restow carried out on a real control plane, move by move, to see where the replacements really land."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from builders import Object
from builders.policies import Policy, as_yaml
from e2e.control_plane import ControlPlane
from e2e.snapshots import write_snapshot
from e2e.waiting import wait_until
from e2e.workloads import is_ready

_RESTOW = "from restow.cli.main import main; main()"


@dataclass(slots=True, frozen=True)
class Landing:
    """A move of a plan, and the node that the real scheduler gave the replacement."""

    move: Object
    node: str

    @property
    def is_foretold(self) -> bool:
        """Whether it is one of the move's candidates."""
        return self.node in self.move["candidates"]

    @property
    def is_assumed(self) -> bool:
        """Whether it is the one with which the plan goes on."""
        return bool(self.node == self.move["to"])

    def __str__(self) -> str:
        told = f"{self.move['pod']['name']} from {self.move['from']} to one of {self.move['candidates']}"
        return f"{told} ({self.move['certainty']}, {self.move['plugin']}): {self.node}"


def plan_of(plane: ControlPlane, policy: Policy, directory: Path) -> Any:
    """What ``restow plan --placement prove`` says about the cluster as it is now, a minute older.

    Ages are whole seconds: a pod that is ready within its first would not be older than none.
    """
    soon = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    cluster = write_snapshot(plane.admin, directory / "cluster")
    told = directory / "policy.yaml"
    told.write_bytes(as_yaml(policy))
    arguments = ["plan", "-f", str(cluster), "--policy-config-file", str(told), "--placement", "prove", "-o", "json"]
    arguments += ["--now", soon]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _RESTOW, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def carry_out(plane: ControlPlane, policy: Policy, directory: Path, most: int) -> Iterator[Landing]:
    """Plans and evicts until there is nothing left to do, one pod after the other; ``most`` moves are allowed.

    Where a replacement lands on another candidate than the plan goes on with, the rest is planned again.
    """
    made = 0
    while moves := plan_of(plane, policy, directory)["moves"]:
        for move in moves:
            made += 1
            assert made <= most, f"more than {most} moves; the next would be {move}"
            landing = Landing(move, _landing(plane, move))
            yield landing
            if not landing.is_assumed:
                break


def _landing(plane: ControlPlane, move: Object) -> str:
    """Evicts a pod, waits until it is gone and the replacement ready, and returns the replacement's node."""
    namespace, name, uid = (move["pod"][part] for part in ("namespace", "name", "uid"))
    owner = _controller(plane.admin.get("Pod", name, namespace))
    known = {pod["metadata"]["uid"] for pod in plane.admin.items("Pod", namespace)}
    answer = plane.admin.evict(name, namespace, uid=uid)
    assert answer.status == 201, answer.body

    def replaced() -> list[Object]:
        pods = plane.admin.items("Pod", namespace)
        if any(pod["metadata"]["uid"] == uid for pod in pods):
            return []
        new = (pod for pod in pods if pod["metadata"]["uid"] not in known and _controller(pod) == owner)
        return [pod for pod in new if is_ready(pod)]

    (new,) = wait_until(f"{name} is replaced and gone", replaced)
    node: str = new["spec"]["nodeName"]
    return node


def _controller(pod: Object) -> str | None:
    owners = pod["metadata"].get("ownerReferences", ())
    return next((each["uid"] for each in owners if each.get("controller")), None)
