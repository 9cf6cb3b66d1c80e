"""What becomes of pods that are replaced, as somebody else sees it who watches all pods.

A watch misses nothing: neither the nomination, which the API server forgets when the pod is bound, nor how long a pod has waited.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from builders import Object
from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.workloads import is_ready

#: Seconds of one watch; the next one goes on where it has ended.
_ONE = 5


@dataclass(slots=True)
class New:
    """A pod that has come; times are by the monotonic clock, in seconds."""

    came: float
    node: str = ""
    #: The node that it was nominated for last.
    target: str = ""
    is_gated: bool = False
    #: For how many seconds it was behind a gate.
    waited: float = 0.0
    ready: float | None = None


@dataclass(slots=True)
class PodWatch:
    """Sees what happens to pods while ``watching``."""

    plane: ControlPlane
    #: Whose pods do not count.
    skips: Callable[[Object], bool] = lambda _: False
    #: Is told of each pod that is nominated behind its gate.
    nominated: Callable[[Object], None] = lambda _: None
    #: By uid: what has come, and when what was there before began to leave.
    new: dict[str, New] = field(default_factory=dict, init=False)
    left: dict[str, float] = field(default_factory=dict, init=False)
    _old: frozenset[str] = field(default=frozenset(), init=False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look as long as the block lasts."""
        told = self.plane.admin.call("GET", collection("Pod", None))
        self._old = frozenset(each["metadata"]["uid"] for each in told["items"])
        with beside(partial(self._watch, told["metadata"]["resourceVersion"])):
            yield

    @property
    def is_quiet(self) -> bool:
        """Whether as many are ready as have left."""
        return sum(each.ready is not None for each in list(self.new.values())) >= len(self.left)

    @property
    def seconds(self) -> float:
        """From the first that left until all that came are ready."""
        return max((each.ready or 0.0 for each in self.new.values()), default=0.0) - min(
            self.left.values(), default=0.0
        )

    def _watch(self, version: str, over: threading.Event) -> None:
        while not over.is_set():
            for event in self.plane.admin.watch("Pod", version=version, seconds=_ONE):
                version = event["object"]["metadata"]["resourceVersion"]
                self.take(event, time.monotonic())

    def take(self, event: Object, now: float) -> None:
        """An event of the watch, at a time."""
        pod = event["object"]
        if event["type"] == "BOOKMARK" or self.skips(pod):
            return
        uid = pod["metadata"]["uid"]
        if event["type"] == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            self.left.setdefault(uid, now)
        elif uid not in self._old:
            self._follow(self.new.setdefault(uid, New(now)), pod, now)

    def _follow(self, new: New, pod: Object, now: float) -> None:
        new.node = pod["spec"].get("nodeName", "")
        if target := pod["status"].get("nominatedNodeName"):
            new.target = target
        was_gated, new.is_gated = new.is_gated, bool(pod["spec"].get("schedulingGates"))
        if was_gated or new.is_gated:
            new.waited = now - new.came
        if new.is_gated and target:
            self.nominated(pod)
        if new.ready is None and is_ready(pod):
            new.ready = now
