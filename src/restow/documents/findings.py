"""Errors and oddities in a file: where, how bad, and what to do.

While a file is read, an ``Issue`` points into the document that is being read. A ``Finding`` is reported to the user
and points into their file. The two differ where a document is converted before it is read, as descheduler/v1alpha1 is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import Struct

from restow.errors import InputError
from restow.kube.excerpts import excerpt

#: Keys and indexes from the top of a document.
Path = tuple[str | int, ...]

#: error: the file is refused; warning: it does not do what it says; note: probably not what was meant.
Severity = Literal["error", "warning", "note"]


@dataclass(slots=True, frozen=True)
class Issue:
    """One thing to say about one place of a document, and what to do about it, if that is known."""

    path: Path
    message: str
    severity: Severity = "error"
    hint: str = ""
    #: Whether the program that the file is for reads it and then leaves out a part of it. ``strict`` makes it an error.
    misleads: bool = False

    def strict(self) -> Issue:
        """The issue as it counts where nothing may be left out in silence."""
        return replace(self, severity="error") if self.misleads else self


class Finding(Struct, frozen=True):
    """One thing to say about one line of a file; ``path`` is ``profiles[0].plugins``, empty for the whole file."""

    file: str
    line: int
    severity: Severity
    path: str
    message: str
    #: What to do about it; may be empty.
    hint: str = ""

    @property
    def advice(self) -> str:
        """The message and the hint, for people."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}: {self.path}: {self.advice}" if self.path else f"{place}: {self.advice}"


class DocumentError(InputError):
    """Why a file cannot be used: findings, each with its place in the file."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(*map(str, findings))
        self.findings = findings


def path_text(path: Path) -> str:
    """Return the path as people write it: ``profiles[0].pluginConfig[1].args``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{excerpt(step)}" for step in path)
    return "".join(steps).removeprefix(".")


def errors_in(issues: Iterable[Issue]) -> list[Issue]:
    """Return the issues for which a file is refused."""
    return [issue for issue in issues if issue.severity == "error"]
