"""Times in which a workload has no ready pod, as somebody sees them who looks often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Self

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.workloads import is_ready, pods_of

#: Seconds between two looks.
_LOOK = 0.05


class Outages:
    """Of the pods labelled ``app``, while the ``with`` block lasts."""

    def __init__(self, plane: ControlPlane, app: str) -> None:
        self._pods: Callable[[], list[Object]] = partial(pods_of, plane.admin, app)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        #: Seconds of the longest one, which may last still.
        self.longest = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        since: float | None = None
        while not self._over.wait(_LOOK):
            now = time.monotonic()
            since = None if any(map(is_ready, self._pods())) else since or now
            self.longest = max(self.longest, 0.0 if since is None else now - since)
