"""Help pages without boxes: names on the left, what they mean on the right, 80 columns.

Cyclopts collects what there is to say; how a page looks is decided here.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_WIDEST: Final = 100
_INDENT: Final = "  "
#: Where meanings begin; a longer name has a line of its own.
_COLUMN: Final = 28
_UNLIMITED: Final = 10_000
#: Cyclopts' word for what everyone else calls options.
_TITLES: Final = {"Parameters": "Options"}


@dataclass(slots=True, frozen=True)
class PlainPages:
    """The formatter of every page; what an option means beyond its help is asked for only when its page is shown."""

    more: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:  # noqa: ARG002 - the protocol's
        """Print one group of a page: the commands, arguments or options."""
        if panel.entries:
            title = _TITLES.get(str(panel.title), str(panel.title))
            lines = [
                line for entry in panel.entries for line in _entry_lines(entry, self._meaning(entry), _width(console))
            ]
            _print(console, ["", f"{title}:", *lines])

    def _meaning(self, entry: HelpEntry) -> str:
        more = (self.more[name]() for name in entry.positive_names if name in self.more)
        default = f"Default: {entry.default}." if entry.default else ""
        return " ".join(filter(None, (_plain(entry.description), *more, default)))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: object) -> None:  # noqa: ARG002 - the protocol's
        """Print how the command is called."""
        _print(console, [f"Usage: {_plain(usage)}"])

    def render_description(self, console: Console, options: ConsoleOptions, description: object) -> None:  # noqa: ARG002 - the protocol's
        """Print what the command does: paragraphs are filled, indented lines stay as they are."""
        for paragraph in _plain(description).split("\n\n"):
            example = paragraph.startswith(" ")
            _print(console, ["", *(paragraph.split("\n") if example else textwrap.wrap(paragraph, _width(console)))])


def _print(console: Console, lines: list[str]) -> None:
    console.print(*lines, sep="\n", highlight=False, markup=False, soft_wrap=True)


def _width(console: Console) -> int:
    return min(console.width, _WIDEST)


def _entry_lines(entry: HelpEntry, told: str, width: int) -> list[str]:
    name = f"{_INDENT}{_name(entry)}"
    indent = " " * _COLUMN
    meaning = textwrap.wrap(told, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    if len(name) + len(_INDENT) > _COLUMN or not meaning:
        return [name, *meaning]
    return [name.ljust(_COLUMN) + meaning[0].lstrip(), *meaning[1:]]


def _name(entry: HelpEntry) -> str:
    if entry.positional_label:
        return entry.positional_label
    names = ", ".join((*entry.positive_shorts, *entry.positive_names))
    return f"{names} {entry.metavar}" if entry.metavar else names


def _plain(shown: object) -> str:
    """Return what rich would print, without its styles and line breaks."""
    from rich.console import Console

    page = Console(file=io.StringIO(), width=_UNLIMITED, color_system=None)
    with page.capture() as captured:
        page.print(shown, highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
