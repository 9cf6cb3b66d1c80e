"""``restow-descheduler``: ``restow run`` under the name of the Descheduler's program.

The image has it as ``/bin/descheduler``, so that a Job, CronJob or Deployment made for the Descheduler runs restow when
nothing but its image is changed. Source: Descheduler 0.36, cmd/descheduler.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from restow.cli import main as restow


def main() -> None:
    """Run this process as if ``restow`` had been called, and exit."""
    sys.argv[1:] = as_restow(sys.argv[1:])
    restow.main()


def as_restow(arguments: Sequence[str]) -> list[str]:
    """Return restow's arguments for those of the Descheduler: its flags are those of ``run``, its words are two."""
    match list(arguments):
        case ["version", *_]:
            return ["--version"]
        case ["help", *_]:
            return ["run", "--help"]
        case flags:
            return ["run", *flags]
