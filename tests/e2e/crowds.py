"""Workloads whose pods are crowded on the first two nodes, and somebody who sees how few of them are ready at a time."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError, name_of
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, is_ready, wait_for_ready

_CROWDED = 2
#: Seconds between two looks of a watchman.
_LOOK = 0.1


def crowd(
    plane: ControlPlane,
    apps: int,
    replicas: int,
    *,
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
    **budgets: int,
) -> list[str]:
    """Deployments ``app-0``, ``app-1``... of so many replicas; with ``budgets`` each has one: ``max_unavailable=1``.

    Returns their names. The other nodes are empty, and take pods again.
    """
    names = [f"app-{at}" for at in range(apps)]
    features = {"cpu": "40m", "memory": "16Mi", "annotations": dict(annotations or {})}
    with plane.cordoned(sorted(map(name_of, plane.admin.items("Node")))[_CROWDED:]):
        plane.admin.create_all([deployment(name, replicas, namespace=namespace, **features) for name in names])
        for name in names:
            wait_for_ready(plane.admin, name, replicas, namespace)
    if budgets:
        plane.admin.create_all([budget(name, name, namespace=namespace, **budgets) for name in names])
        wait_for_budgets(plane, [(name, namespace) for name in names])
    return names


def wait_for_budgets(plane: ControlPlane, budgets: Iterable[tuple[str, str]]) -> None:
    """Returns when the controller has counted the pods of budgets, by name and namespace."""
    names = list(budgets)
    wait_until("the budgets are worked out", lambda: all(_is_worked_out(plane, *each) for each in names))


def _is_worked_out(plane: ControlPlane, name: str, namespace: str) -> bool:
    status = plane.admin.get("PodDisruptionBudget", name, namespace).get("status", {})
    return bool(status.get("expectedPods", 0) and status.get("currentHealthy", 0) == status["expectedPods"])


@dataclass(slots=True)
class Watchman:
    """How few pods of each app of a namespace were ready at a time, as somebody else saw it."""

    fewest: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def watching(self, plane: ControlPlane, namespace: str = "default") -> Iterator[None]:
        """Looks as long as the block lasts, and not while the API server is away."""

        def watch(over: threading.Event) -> None:
            while not over.wait(_LOOK):
                try:
                    self._look(plane, namespace)
                except (OSError, http.client.HTTPException, RefusedError, AttributeError):
                    # AttributeError is http.client's when the control plane hangs up on all its callers.
                    continue

        with beside(watch):
            yield

    def _look(self, plane: ControlPlane, namespace: str) -> None:
        pods = plane.admin.items("Pod", namespace)
        apps = [pod["metadata"]["labels"]["app"] for pod in pods]
        available = (is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)
        ready = Counter(app for app, is_available in zip(apps, available, strict=True) if is_available)
        for app in set(apps):
            self.fewest[app] = min(self.fewest.get(app, ready[app]), ready[app])
