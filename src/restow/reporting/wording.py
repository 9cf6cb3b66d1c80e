"""Numbers, reasons and commands as Kubernetes people write them: 3 moves, 61 %."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RESOURCES_FIRST: Final = ("cpu", "memory")

_GAP: Final = "   "


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Write ``1 move``, ``3 moves``, ``40,000 moves``; ``plural`` where an s is not enough."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def percent(fraction: float) -> str:
    """Write a fraction in whole percent: ``61 %``."""
    return f"{round(fraction * 100):,} %"


def resource_title(resource: str) -> str:
    """Return a resource's name for prose and headings."""
    return "CPU" if resource == "cpu" else resource


def resource_order(resource: str) -> tuple[int, str]:
    """Return a sort key: CPU, memory, then the others by name."""
    known = resource in _RESOURCES_FIRST
    return (_RESOURCES_FIRST.index(resource) if known else len(_RESOURCES_FIRST), resource)


def why(plugin: str, reason: str) -> str:
    """Return the strategy and its reason in one line."""
    return printable(f"{plugin}: {reason}" if reason else plugin)


def next_commands(wanted: Mapping[str, str], width: int) -> Iterator[Text]:
    """Yield commands and what each tells, in two columns; a command that is too long for them stands by itself."""
    room = width - len(_GAP) - max(map(len, wanted.values()), default=0)
    longest = max((len(each) for each in wanted if len(each) <= room), default=0)
    for command, meaning in wanted.items():
        told = f"{command:<{longest}}{_GAP}"
        yield Text.assemble(told, (meaning, "dim")) if len(told) + len(meaning) <= width else Text(command)
