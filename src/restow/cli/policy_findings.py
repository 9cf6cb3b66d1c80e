"""What ``restow policy validate`` and ``lint`` found, for people and as a stable document."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from rich.text import Text

from restow.cli.named_files import file_bytes, file_name
from restow.cli.options import STDIN
from restow.cli.output import write_bytes
from restow.descheduling.plan import API_VERSION
from restow.descheduling.registry import plugins
from restow.documents.findings import DocumentError, Finding, Severity
from restow.errors import InputError, first_problems
from restow.plain_text import printable
from restow.policies.schema import Plugins
from restow.reporting.json import indented_json
from restow.reporting.terminal import console
from restow.reporting.wording import counted

UNUSABLE: Final = 2
_COLOURS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "note": "dim"}
_NARROWEST: Final = 30

Check = Callable[[bytes, str, Plugins], list[Finding]]


class Summary(Struct, frozen=True):
    """How many files were read, and how much was found in them."""

    files: int
    errors: int
    warnings: int
    notes: int


class PolicyFindings(Struct, frozen=True, rename="camel"):
    """The document of ``-o json``: findings by file, as the files were named, then by line."""

    api_version: str
    kind: str
    findings: tuple[Finding, ...]
    summary: Summary


class Found(Struct, frozen=True):
    """The findings of some files."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def status(self) -> int:
        """The exit status: 2 if there is an error."""
        return UNUSABLE if any(each.severity == "error" for each in self.findings) else 0

    def of(self, file: str) -> list[Finding]:
        """Return what was found in one file."""
        return [each for each in self.findings if each.file == file]


def examine(paths: Sequence[str], check: Check) -> Found:
    """Check every file; one that cannot be read is a finding too. InputError without files."""
    if not paths:
        raise InputError("say which policy: a file, several, or - for standard input")
    if paths.count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    unique = tuple(dict.fromkeys(paths))
    findings = [finding for path in unique for finding in _examine(path, check)]
    return Found(tuple(map(file_name, unique)), tuple(findings))


def _examine(path: str, check: Check) -> list[Finding]:
    try:
        return check(file_bytes(path), file_name(path), plugins())
    except DocumentError as error:
        return list(error.findings)
    except InputError as error:
        message = str(error).removeprefix(f"{file_name(path)}: ")
        return [Finding(file_name(path), 1, "error", "", message)]


def write(found: Found, output: str, lines: Callable[[Found, int], Iterator[Text]]) -> None:
    """Write the findings to stdout as JSON, or else the lines made of them for this width."""
    if output == "json":
        write_bytes(indented_json(_document(found)) + b"\n")
        return
    page = console()
    page.print(*lines(found, page.width), sep="\n", soft_wrap=True, highlight=False)


def _document(found: Found) -> PolicyFindings:
    counts = Counter(each.severity for each in found.findings)
    summary = Summary(len(found.files), counts["error"], counts["warning"], counts["note"])
    return PolicyFindings(API_VERSION, "PolicyFindings", found.findings, summary)


def validity(found: Found, _width: int) -> Iterator[Text]:
    """Yield every error on a line of its own, in the form that editors jump to, or that a file is valid."""
    for file in found.files:
        problems, more = first_problems(found.of(file))
        yield from (Text(printable(str(each))) for each in problems)
        yield from map(Text, more)
        if not problems:
            yield Text(f"{printable(file)}: valid")


def advice(found: Found, width: int) -> Iterator[Text]:
    """Yield the findings below the name of their file, then how many there are."""
    for file in found.files:
        yield Text(printable(file), style="bold")
        findings, more = first_problems(found.of(file))
        yield from (line for each in findings for line in _finding_lines(each, width))
        yield from map(Text, more)
    counts = Counter(each.severity for each in found.findings)
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
