"""The reports of ``restow run --shadow``: a page and its JSON for each day, in a directory.

The name of a file is the time from when the day was watched: a process that starts again in the same day writes other files.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from restow.application.files import prepare_directory, replace_file
from restow.descheduler.settings import WriteReport
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.shadowing.day import ShadowDay


def report_writer(directory: str, policy: str) -> WriteReport:
    """Return what writes reports into a directory; InputError where it cannot be used. ``policy`` is restow's file."""
    place = prepare_directory(directory, "--shadow-reports")
    return lambda day, cluster: _write(place, day, cluster, policy)


def _write(place: Path, day: ShadowDay, cluster: str, policy: str) -> None:
    from restow.reporting.html.shadow import render_shadow
    from restow.reporting.shadow_result import shadow_report

    report = shadow_report(day, cluster, policy)
    # Colons are not for names of files everywhere.
    name = format_time(int(day.since * SECOND)).replace(":", "-")
    replace_file(place / f"{name}.json", msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    replace_file(place / f"{name}.html", render_shadow(report).encode())
