"""Moves the fragments of ``changelog.d`` into a section of CHANGELOG.md: ``make changelog VERSION=0.2.0``.

A fragment is a file ``NAME.KIND.md`` with one line. The section has today's date and the lines of each kind in the order of
their file names, and stands above the section of the version before it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
#: The kinds of changes, as file names and as headings, in the order of the headings.
KINDS: Final = {"breaking": "Breaking", "added": "Added", "changed": "Changed", "fixed": "Fixed"}
#: Characters of a line in CHANGELOG.md, with its ``* ``.
LONGEST: Final = 160
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


class ChangelogError(Exception):
    """A fragment or version that cannot be used, in a sentence."""


@dataclass(slots=True, frozen=True)
class Fragment:
    """One change: its file, its kind, and the line for CHANGELOG.md."""

    path: Path
    kind: str
    line: str


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Exit status: 0, or 2 where CHANGELOG.md stays as it is for the reason on stderr."""
    parser = argparse.ArgumentParser(description="Move the fragments of changelog.d into CHANGELOG.md.")
    parser.add_argument("version", metavar="VERSION", help="of the new section, such as 0.2.0")
    version = parser.parse_args(arguments).version
    try:
        release(version, datetime.now(UTC).date(), root)
    except ChangelogError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def release(version: str, day: date, root: Path) -> None:
    """Add the section of a version and delete the fragments. Raises ChangelogError before anything is written."""
    fragments, changelog = read_fragments(root / "changelog.d"), root / "CHANGELOG.md"
    if not fragments:
        raise ChangelogError("changelog.d has no fragments, so there is nothing to release")
    changelog.write_text(with_section(changelog.read_text(), version, section(version, day, fragments)))
    for fragment in fragments:
        fragment.path.unlink()


def read_fragments(folder: Path) -> list[Fragment]:
    """All fragments, by file name. Raises ChangelogError for the first that cannot be used."""
    return [_read(path) for path in sorted(folder.iterdir()) if path.name != "README.md"]


def _read(path: Path) -> Fragment:
    name = re.fullmatch(rf".+\.({'|'.join(KINDS)})\.md", path.name)
    if name is None:
        raise ChangelogError(f"{path.name}: a fragment is called NAME.KIND.md, where KIND is one of {', '.join(KINDS)}")
    text = path.read_text().strip()
    if not text or "\n" in text or text.startswith(("*", "-")):
        raise ChangelogError(f"{path.name}: a fragment is one line of text, without a bullet")
    line = f"* {text}"
    if len(line) > LONGEST:
        raise ChangelogError(f"{path.name}: the line has {len(text)} characters, and {LONGEST - 2} is the limit")
    return Fragment(path, name[1], line)


def section(version: str, day: date, fragments: Sequence[Fragment]) -> str:
    """The section of a version, which ends with an empty line. Raises ChangelogError for an unusable version."""
    if not _VERSION.fullmatch(version):
        raise ChangelogError(f"{version} is no version: write three numbers, such as 0.2.0")
    parts = [f"## [{version}] - {day.isoformat()}\n"]
    for kind, heading in KINDS.items():
        lines = [fragment.line for fragment in fragments if fragment.kind == kind]
        if lines:
            parts.append("\n".join([f"### {heading}\n", *lines, ""]))
    return "\n".join([*parts, ""])


def with_section(changelog: str, version: str, added: str) -> str:
    """The changelog with a section more, above the others. Raises ChangelogError if it has that version."""
    if f"## [{version}]" in changelog:
        raise ChangelogError(f"CHANGELOG.md has a section of {version}: choose another version")
    before, heading, after = changelog.partition("## [")
    return f"{before}{added}{heading}{after}"


if __name__ == "__main__":
    sys.exit(main())
