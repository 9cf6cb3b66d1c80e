"""The last lines of an answer: what could be asked next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GAP: Final = "   "


def next_commands(wanted: Mapping[str, str], width: int) -> Iterator[Text]:
    """Yield commands and what each tells, in two columns; a command that is too long for them stands by itself."""
    room = width - len(_GAP) - max(map(len, wanted.values()), default=0)
    longest = max((len(each) for each in wanted if len(each) <= room), default=0)
    for command, meaning in wanted.items():
        told = f"{command:<{longest}}{_GAP}"
        yield Text.assemble(told, (meaning, "dim")) if len(told) + len(meaning) <= width else Text(command)
