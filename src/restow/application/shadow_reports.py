"""The reports of ``restow run --shadow``: a page and its JSON for each day, in a directory.

A file is written beside its place and renamed, so nobody reads half a report. Its name is the time from when the day was
watched: a process that starts again in the same day writes other files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from restow.descheduler.settings import WriteReport
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.shadowing.day import ShadowDay

_SUFFIX: Final = ".part"


def report_writer(directory: str, policy: str) -> WriteReport:
    """Return what writes reports into a directory; InputError where it cannot be used. ``policy`` is restow's file."""
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
        probe = place / f"restow{_SUFFIX}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise InputError(f"--shadow-reports: {directory}: {error.strerror or error}") from error
    return lambda day, cluster: _write(place, day, cluster, policy)


def _write(place: Path, day: ShadowDay, cluster: str, policy: str) -> None:
    from restow.reporting.html.shadow import render_shadow
    from restow.reporting.shadow_result import shadow_report

    report = shadow_report(day, cluster, policy)
    # Colons are not for names of files everywhere.
    name = format_time(int(day.since * SECOND)).replace(":", "-")
    _replace(place / f"{name}.json", msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    _replace(place / f"{name}.html", render_shadow(report).encode())


def _replace(file: Path, content: bytes) -> None:
    part = file.with_name(file.name + _SUFFIX)
    part.write_bytes(content)
    part.replace(file)
