"""Waiting until a control plane has nothing left to do, so that its start does not count as somebody's cost (Linux)."""

from __future__ import annotations

import os
import time
from pathlib import Path

from e2e.components import COMPONENTS
from e2e.control_plane import ControlPlane

_TICK = os.sysconf("SC_CLK_TCK")
#: Processors that all programs together may keep busy for this long (seconds).
_BUSY, _LOOK = 0.25, 2.0
_PATIENCE = 120.0


def wait_until_idle(plane: ControlPlane) -> None:
    """Returns after two quiet seconds, or after two minutes."""
    deadline = time.monotonic() + _PATIENCE
    before = _seconds(plane)
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        now = _seconds(plane)
        if now - before < _BUSY * _LOOK:
            return
        before = now


def _seconds(plane: ControlPlane) -> float:
    """Processor time of all programs until now."""
    return sum(map(processor_time, map(plane.pid, COMPONENTS)))


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used, its own and the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = fields[11:13]
    return (int(user) + int(system)) / _TICK
