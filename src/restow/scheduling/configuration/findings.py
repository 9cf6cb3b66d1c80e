"""What is wrong, or odd, in a configuration, collected while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.errors import InputError
from restow.scheduling.configuration.document import Document, Path


@dataclass(slots=True)
class Findings:
    """Problems and warnings about one document, as sentences with file, line and field."""

    document: Document
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, path: Path, message: str) -> None:
        """Note why the configuration is refused."""
        self._note(self.problems, path, message)

    def warn(self, path: Path, message: str) -> None:
        """Note what does not do what it says."""
        self._note(self.warnings, path, message)

    def check(self) -> None:
        """Raise InputError with all the problems, one a line, if there are any."""
        if self.problems:
            raise InputError(*self.problems)

    def _note(self, notes: list[str], path: Path, message: str) -> None:
        sentence = self.document.sentence(path, message)
        if sentence not in notes:
            notes.append(sentence)
