"""The parts of a decision, reported one after the other to a timer; deciding itself has no clock."""

from __future__ import annotations

from typing import Protocol


class Laps(Protocol):
    """Called when a part of a decision ends; the part began where the one before it ended."""

    def __call__(self, point: str, plugin: str = "", status: str = "Success") -> None:
        """Note an extension point, in kube-scheduler's words; ``plugin`` is empty where it was not one plugin alone."""


def untimed(point: str, plugin: str = "", status: str = "Success") -> None:
    """A timer that records nothing."""
