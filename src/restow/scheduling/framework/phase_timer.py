"""Timing the phases of a decision: the caller brings the clock, so that deciding itself has none."""

from __future__ import annotations

from typing import Protocol


class PhaseTimer(Protocol):
    """Called at the end of each phase of a decision; a phase begins where the one before it ended."""

    def __call__(self, point: str, plugin: str = "", status: str = "Success") -> None:
        """Note an extension point, in kube-scheduler's words; ``plugin`` is empty unless one plugin alone was timed."""


def untimed(point: str, plugin: str = "", status: str = "Success") -> None:
    """A timer that records nothing."""
