"""A run of restow that something goes wrong with, and what must hold of it whatever that is.

The cluster is a crowd that RemoveDuplicates spreads, a few pods a cycle, in cycles that follow each other quickly.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman
from e2e.deschedulers import UNLIMITED, evicted
from e2e.running import Descheduler
from e2e.waiting import wait_until
from e2e.workloads import is_ready

#: Of the crowd, and of each of its deployments; four of six pods stay where they are.
APPS, REPLICAS = 3, 6
#: Evictions of a cycle.
LIMIT = 2
#: Seconds for the crowd to be spread, with pauses after faults, on busy cores.
PATIENCE = 120.0
#: Characters of a line of the log that an error message holds.
_SHOWN = 600


def a_policy(**restow: object) -> Policy:
    """RemoveDuplicates with a limit; ``restow`` are settings of its own."""
    section = {"restow": restow} if restow else {}
    return strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=LIMIT, **section)


def a_restow(
    directory: Path,
    kubeconfig: Path,
    *,
    policy: Policy | None = None,
    flags: Sequence[str] = (),
    name: str = "restow",
    **started: Any,
) -> Descheduler:
    """restow in cycles half a second apart, not yet started; ``started`` is how, as for ``Descheduler``."""
    given = ["--descheduling-interval=500ms", "--v=3", "--logging-format=json", *UNLIMITED, *flags]
    return Descheduler(directory, policy=policy or a_policy(), kubeconfig=kubeconfig, flags=given, name=name, **started)


def wait_until_spread(
    plane: ControlPlane, apps: Sequence[str], namespace: str, *runs: Descheduler, timeout: float = PATIENCE
) -> None:
    """Until all pods are ready and no strategy could want to move one; RuntimeError if a run ends before."""
    nodes = len(plane.admin.items("Node"))

    def spread() -> bool:
        for run in runs:
            run.check()
        pods = [pod for pod in plane.admin.items("Pod", namespace) if pod["metadata"]["labels"]["app"] in apps]
        crowds = Counter((pod["metadata"]["labels"]["app"], pod["spec"].get("nodeName", "")) for pod in pods)
        complete = Counter(app for app, _ in crowds.elements()) == Counter(dict.fromkeys(apps, REPLICAS))
        return complete and all(map(is_ready, pods)) and max(crowds.values()) <= -(-REPLICAS // nodes)

    try:
        wait_until(f"{', '.join(apps)} are spread", spread, timeout, every=0.4)
    except TimeoutError as error:
        told = [line[:_SHOWN] for run in runs for line in run.lines()[-10:]]
        raise TimeoutError("\n".join([str(error), *_seen(plane, namespace), *told])) from None


def _seen(plane: ControlPlane, namespace: str) -> list[str]:
    """What there is: the ReplicaSets and the pods, a line each."""
    wanted = [
        f"{each['metadata']['name']}: {each['spec']['replicas']} replicas, {each['status']}"
        for each in plane.admin.items("ReplicaSet", namespace)
    ]
    there = [
        f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}, created {pod['metadata']['creationTimestamp']}, "
        f"deleted {pod['metadata'].get('deletionTimestamp')}, ready: {is_ready(pod)}"
        for pod in plane.admin.items("Pod", namespace)
    ]
    return wanted + there


def stop(run: Descheduler) -> None:
    """SIGTERM, after which it ends as documented."""
    run.send(signal.SIGTERM)
    assert run.wait() == 0


def check(plane: ControlPlane, watchman: Watchman, *runs: Descheduler) -> None:
    """Nothing is evicted twice, no workload is short of more than one pod, no limit is exceeded, nothing breaks."""
    granted = Counter(evicted(plane))
    assert granted
    assert set(granted.values()) == {1}, granted
    assert all(fewest >= REPLICAS - 1 for fewest in watchman.fewest.values()), watchman.fewest
    for run in runs:
        assert max(evictions_by_cycle(run), default=0) <= LIMIT
        assert not run.lines("Traceback")
        assert not run.lines("Descheduling cycle failed")


def evictions_by_cycle(run: Descheduler) -> Iterator[int]:
    """How many evictions each cycle tells of."""
    count = 0
    for entry in run.entries():
        if entry.get("msg") == "Resetting pod evictor counters":
            yield count
            count = 0
        count += entry.get("msg") == "Evicted pod"
    yield count
