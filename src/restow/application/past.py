"""What a descheduler did, from the file that ``restow run --history`` writes."""

from __future__ import annotations

from dataclasses import dataclass

from restow.application.clusters import instant
from restow.errors import InputError
from restow.history.file import read_cycles, read_moves
from restow.kube.duration import SECOND, parse_duration
from restow.kube.excerpts import excerpt
from restow.reporting.history_result import HistoryReport, history_report


@dataclass(slots=True, frozen=True)
class HistoryRequest:
    """Which part of which history; as a user writes it."""

    file: str
    #: How far back, such as 24h.
    since: str = "24h"
    namespace: str | None = None


def past(request: HistoryRequest) -> HistoryReport:
    """Return what was done; InputError where the file or the time cannot be used."""
    until = instant(None) / SECOND
    since = until - _seconds(request.since)
    cycles, moves = read_cycles(request.file, since), read_moves(request.file, since)
    if request.namespace is not None:
        moves = [each for each in moves if each.namespace == request.namespace]
    return history_report(request.file, since, until, cycles, moves)


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text) / SECOND
    except ValueError as error:
        raise InputError(f"--since {excerpt(text)}: {error}; write a duration such as 24h") from error
    if seconds <= 0:
        raise InputError(f"--since {excerpt(text)}: must be more than 0")
    return seconds
