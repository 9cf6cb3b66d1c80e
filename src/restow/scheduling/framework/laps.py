"""The parts of a decision, told one after the other to whoever times them; deciding itself knows no clock."""

from __future__ import annotations

from typing import Protocol


class Laps(Protocol):
    """Is told that a part of a decision has ended, which began where the one before it ended."""

    def __call__(self, point: str, plugin: str = "", status: str = "Success") -> None:
        """Note an extension point, in kube-scheduler's words; ``plugin`` is empty where it was not one plugin alone."""


def untimed(point: str, plugin: str = "", status: str = "Success") -> None:
    """Note nothing."""
