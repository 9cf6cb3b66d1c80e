"""Runs one command to its end, or to its time limit, and reads what the operating system says it cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

_LAUNCHER = Path(__file__).with_name("launcher.py")


class CommandError(Exception):
    """A command ended with an error."""


class _Report(msgspec.Struct, frozen=True):
    """What the launcher writes."""

    finished: bool
    status: int
    wall: float
    cpu: float
    peak: int


@dataclass(slots=True, frozen=True)
class Finished:
    """A whole process."""

    #: Seconds from start to end.
    wall: float
    #: Seconds of processor time, user and system.
    cpu: float
    #: Largest resident memory in bytes.
    peak: int
    #: What it wrote to stdout; None where it was ended because of its time limit.
    output: bytes | None


def run(command: Sequence[str], environment: Mapping[str, str], limit: float) -> Finished:
    """The finished process; CommandError tells what it wrote to stderr where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors, report = (Path(folder) / name for name in ("output", "errors", "report"))
        with output.open("wb") as stdout, errors.open("wb") as stderr:
            launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(report), str(limit)]
            subprocess.run(
                [*launcher, *command], env={**os.environ, **environment}, stdout=stdout, stderr=stderr, check=True
            )
        told = msgspec.json.decode(report.read_bytes(), type=_Report)
        if told.finished and told.status:
            raise CommandError(f"{' '.join(command)}: {errors.read_text(errors='replace').strip()}")
        return Finished(told.wall, told.cpu, told.peak, output.read_bytes() if told.finished else None)
