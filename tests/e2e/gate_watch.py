"""Somebody who sees how long each pod waits behind the gate of steering."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException

from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError

#: Seconds between two looks, and the most that one counts for: where more have passed, the whole machine stood still.
_LOOK, _MOST = 0.05, 0.25


@dataclass(slots=True)
class GateWatch:
    """The seconds for which each pod has waited while somebody could have let it go."""

    plane: ControlPlane
    #: Whether nobody can, at this moment.
    is_excused: Callable[[], bool]
    #: By uid.
    waited: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def longest(self) -> float:
        """Of all pods that there were."""
        return max(self.waited.values(), default=0.0)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look as long as the block lasts."""
        with beside(self._watch):
            yield

    def _watch(self, over: threading.Event) -> None:
        before: set[str] = set()
        last = time.monotonic()
        while not over.wait(_LOOK):
            now = time.monotonic()
            waiting = self._waiting()
            if waiting is None or self.is_excused():
                before = set()
            else:
                for uid in before & waiting:
                    self.waited[uid] += min(now - last, _MOST)
                before = waiting
            last = now

    def _waiting(self) -> set[str] | None:
        """Who waits now; None while the API server does not answer."""
        try:
            pods = self.plane.admin.items("Pod", "default")
        except (OSError, HTTPException, RefusedError):
            return None
        return {each["metadata"]["uid"] for each in pods if each["spec"].get("schedulingGates")}
