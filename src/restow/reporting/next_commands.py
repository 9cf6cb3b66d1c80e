"""The last lines of an answer: what could be asked next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GAP: Final = "   "


def next_commands(wanted: Mapping[str, str], width: int) -> Iterator[Text]:
    """Yield commands and what each tells, in two columns if they fit; what has no room beside its command is left out."""
    longest = max(map(len, wanted), default=0)
    if longest + len(_GAP) + max(map(len, wanted.values()), default=0) > width:
        longest = 0
    for command, meaning in wanted.items():
        told = f"{command:<{longest}}{_GAP}"
        yield Text.assemble(told, (meaning, "dim")) if len(told) + len(meaning) <= width else Text(command)
