"""``kubectl_complete-restow``: what kubectl asks when somebody presses Tab after ``kubectl restow``.

kubectl (1.26 and later) calls the program of this name with the words after the plugin's name, the last one half typed.
It reads one proposal a line, and a last line with a directive.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cyclopts import App

#: Directives of the completion protocol: the shell completes names of files, or it does not.
_FILES: Final = ":0"
_NO_FILES: Final = ":4"


def main() -> None:
    """Answer kubectl."""
    sys.stdout.write("".join(f"{line}\n" for line in answer(sys.argv[1:])))


def answer(words: Sequence[str]) -> list[str]:
    """Return the proposals for the last word, and the directive."""
    from restow.cli.app import app

    *before, typed = words or [""]
    names = _options(_called(app, before)) if typed.startswith("-") else _commands(_called(app, before))
    found = sorted(each for each in set(names) if each.startswith(typed))
    return [*found, _NO_FILES if found else _FILES]


def _called(app: App, words: Sequence[str]) -> App:
    """The command that the words before name."""
    for word in words:
        if not word.startswith("-") and word in set(_commands(app)):
            app = app[word]
    return app


def _commands(app: App) -> Iterator[str]:
    return (name for name in app if not name.startswith("-"))


def _options(app: App) -> Iterator[str]:
    yield "--help"
    if app.default_command is not None:
        yield from (name for each in app.assemble_argument_collection() for name in each.names if name[:2] == "--")
