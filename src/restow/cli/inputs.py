"""What every command that reads a cluster does with ``-f`` and ``--now``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from restow.cli.options import STDIN
from restow.errors import InputError
from restow.kube.timestamps import parse_time

if TYPE_CHECKING:
    from restow.sources.documents import LoadReport

_DUMP = "kubectl get nodes,pods -A -o json"


def check_inputs(inputs: Sequence[str], *others: str | None) -> None:
    """Raise InputError where there is no cluster, or where standard input is named twice; ``others`` are other files."""
    if not inputs:
        piped = "" if sys.stdin.isatty() else ", or pipe it in with -f -"
        raise InputError(f"say where the cluster is: {_DUMP} > cluster.json, then -f cluster.json{piped}")
    if [*inputs, *others].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once; put the other input into a file")


def instant(now: str | None) -> int:
    """The time of ``--now``, or the clock's: nanoseconds since the epoch. InputError where it is none."""
    if now is None:
        return time.time_ns()
    try:
        return parse_time(now)
    except ValueError as error:
        raise InputError(f"--now: {error}") from error


def origin_of(inputs: Sequence[str], found: LoadReport) -> str:
    """Where the cluster came from, in a word or two."""
    return inputs[0] if len(inputs) == 1 and inputs[0] != STDIN else found.origin()
