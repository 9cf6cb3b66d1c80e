"""A wall clock that a test sets, for a program in Python: ``restow run`` with somebody who sets the machine's clock.

    clock = WallClock(tmp_path)
    with a_restow(tmp_path, kubeconfig, program=clock.program, environment=clock.environment) as restow:
        clock.set_by(-3600)

What ``time.time`` and ``time.time_ns`` say in that process is moved; the clocks that nobody can set are not.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_FILE = "RESTOW_E2E_CLOCK"


class WallClock:
    """The clock of one program."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "clock"
        self.set_by(0)

    @property
    def program(self) -> Sequence[str]:
        """``restow run`` with this clock."""
        return sys.executable, "-m", "e2e.clock", "run"

    @property
    def environment(self) -> Mapping[str, str]:
        """What the program has to find in its environment."""
        return {_FILE: str(self._file)}

    def set_by(self, seconds: float) -> None:
        """Set it that much ahead of the true time, or behind; at once."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._file)


def _main() -> None:
    file, true = Path(os.environ[_FILE]), time.time_ns

    def time_ns() -> int:
        return true() + int(float(file.read_text()) * 1e9)

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9
    # Whatever restow imports has to find the clock as it is set.
    from restow.cli.main import main

    main()


if __name__ == "__main__":
    _main()
