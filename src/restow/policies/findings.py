"""What is wrong, or odd, in a policy file: where, how bad, and what to do.

While a policy is read, an ``Issue`` points into the document that is being read. A ``Finding`` is what people get: it
points into their file. The two differ for descheduler/v1alpha1, which is converted before it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from restow.errors import InputError
from restow.kube.excerpts import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from restow.policies.documents import Document

#: Keys and indexes from the top of a document.
Path = tuple[str | int, ...]

#: error: upstream refuses the policy; warning: it does not do what it says; note: probably not what was meant.
Severity = Literal["error", "warning", "note"]


@dataclass(slots=True, frozen=True)
class Issue:
    """One thing to say about one place of a document."""

    path: Path
    message: str
    severity: Severity = "error"


class Finding(Struct, frozen=True):
    """One thing to say about one line of a file; ``path`` is ``profiles[0].plugins``, empty for the whole file."""

    file: str
    line: int
    severity: Severity
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


def path_text(path: Path) -> str:
    """Return the path as people write it: ``profiles[0].pluginConfig[1].args``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{excerpt(step)}" if text else excerpt(step)
    return text


def to_findings(document: Document, issues: Iterable[Issue]) -> list[Finding]:
    """Return the issues with the file's name, lines and fields."""
    return [
        Finding(document.filename, document.line(issue.path), issue.severity, document.place(issue.path), issue.message)
        for issue in issues
    ]


def refusal(document: Document, errors: Iterable[Issue]) -> InputError:
    """Return the exception that names every error, one a line."""
    return InputError(*map(str, to_findings(document, errors)))
