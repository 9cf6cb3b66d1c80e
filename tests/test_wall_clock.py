"""Whoever reads the wall clock, which anybody may set: for a point in time, never for a duration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import restow

SOURCES = Path(restow.__file__).parent

#: Files that read it, and the point in time that they need.
READERS = {
    "application/clusters.py": "ages in a dump are judged now, where --now is not given",
    "client/events.py": "when something happened, for people",
    "client/exec_plugin.py": "credentials say when they end",
    "client/leader_election.py": "written into the lease for people; nobody compares it",
    "client/oidc.py": "tokens say when they end",
    "client/server.py": "until the API server has said what time it is",
    "pressure/daemon.py": "from where a clock that nobody sets goes on",
    "daemon/connecting.py": "the name of a certificate",
    "daemon/logs.py": "when a line was written",
}
WALL = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today")}


def readings(file: Path) -> Iterator[str]:
    """What a file reads it by, or imports so that it could not be seen here."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in WALL:
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (each.name for each in node.names if ("time", each.name) in WALL)


def test_the_wall_clock_is_read_for_points_in_time_only() -> None:
    found = {str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*.py") if any(readings(file))}
    assert found == READERS.keys()
