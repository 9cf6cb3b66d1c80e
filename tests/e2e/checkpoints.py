"""The state of a control plane, to go back to: the same pods with the same names on the same nodes, as often as wanted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.control_plane import ControlPlane


def save(plane: ControlPlane, checkpoint: Path) -> None:
    """Copies all that the API server stores to a new directory; all programs end and start again."""
    with _standing_still(plane) as stored:
        shutil.copytree(stored, checkpoint)


def restore(plane: ControlPlane, checkpoint: Path) -> None:
    """Everything is as it was saved, by this control plane or another one, and the audit log begins anew."""
    with _standing_still(plane) as stored:
        shutil.rmtree(stored)
        shutil.copytree(checkpoint, stored)
    plane.audit.restart()


@contextmanager
def _standing_still(plane: ControlPlane) -> Iterator[Path]:
    for name in reversed(plane.programs):
        plane.kill(name)
    yield plane.layout.directory / "etcd"
    plane.start()
