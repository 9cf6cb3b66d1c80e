"""What was found in files that people write, policies and scenarios: for people, and as a stable document."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from rich.text import Text

from restow.application.policies import CheckedFiles
from restow.cli.terminal import UNUSABLE, write_json
from restow.descheduling.plan import API_VERSION
from restow.documents.findings import Finding, Severity
from restow.errors import first_problems
from restow.plain_text import printable
from restow.reporting.terminal import console
from restow.reporting.wording import counted

_COLOURS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "note": "dim"}
_NARROWEST: Final = 30


class Summary(Struct, frozen=True):
    """How many files were read, and how much was found in them."""

    files: int
    errors: int
    warnings: int
    notes: int


class FileFindings(Struct, frozen=True, rename="camel"):
    """The document of ``-o json``: findings by file, as the files were named, then by line."""

    api_version: str
    kind: str
    findings: tuple[Finding, ...]
    summary: Summary


def exit_status(checked: CheckedFiles) -> int:
    """Return 2 if there is an error."""
    return UNUSABLE if checked.has("error") else 0


def strict_exit_status(checked: CheckedFiles) -> int:
    """Return 2 if there is an error, 1 if there is a warning."""
    return exit_status(checked) or int(checked.has("warning"))


def write(checked: CheckedFiles, output: str, kind: str, lines: Callable[[CheckedFiles, int], Iterator[Text]]) -> None:
    """Write the findings to stdout as a document of this kind, or else the lines made of them for this width."""
    if output == "json":
        write_json(_document(checked, kind))
        return
    page = console()
    page.print(*lines(checked, page.width), sep="\n", soft_wrap=True, highlight=False)


def _document(checked: CheckedFiles, kind: str) -> FileFindings:
    counts = Counter(each.severity for each in checked.findings)
    summary = Summary(len(checked.files), counts["error"], counts["warning"], counts["note"])
    return FileFindings(API_VERSION, kind, checked.findings, summary)


def validity(checked: CheckedFiles, _width: int) -> Iterator[Text]:
    """Yield every error on a line of its own, in the form that editors jump to, or that a file is valid."""
    for file in checked.files:
        problems, more = first_problems(checked.of(file))
        yield from (Text(printable(str(each))) for each in problems)
        yield from map(Text, more)
        if not problems:
            yield Text(f"{printable(file)}: valid")


def advice(checked: CheckedFiles, width: int) -> Iterator[Text]:
    """Yield the findings below the name of their file, then how many there are."""
    for file in checked.files:
        yield Text(printable(file), style="bold")
        findings, more = first_problems(checked.of(file))
        yield from (line for each in findings for line in _finding_lines(each, width))
        yield from map(Text, more)
    counts = Counter(each.severity for each in checked.findings)
    told = [counted(counts[severity], severity) for severity in _COLOURS if counts[severity]]
    yield Text(", ".join(told) or "no findings")


def _finding_lines(finding: Finding, width: int) -> Iterator[Text]:
    start = f"{finding.line:>4}  {finding.severity:<7}  "
    place = f"{finding.path}: " if finding.path else ""
    room = max(width - len(start), _NARROWEST)
    lines = textwrap.wrap(printable(place + finding.advice), room, break_on_hyphens=False)
    for index, line in enumerate(lines):
        text = Text((" " * len(start) if index else start) + line)
        if index == 0:
            text.stylize(_COLOURS[finding.severity], len(start) - len(finding.severity.ljust(7)) - 2, len(start))
        yield text
