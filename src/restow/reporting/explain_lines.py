"""Lines that explanations of pods and of nodes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.columns import GAP, wrapped
from restow.reporting.wording import percent, resource_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.explaining.explanation import Load

_LABEL: Final = 9
_BEFORE_OUTCOME: Final = "     "


def labelled_line(label: str, text: str, width: int, *, indent: int = 2, style: str = "") -> Iterator[Text]:
    """Yield a label and a sentence, whose further lines are indented under its first."""
    start = f"{' ' * indent}{label:<{_LABEL}}{GAP}"
    for index, line in enumerate(wrapped(printable(text), max(width - len(start), 20)) or [""]):
        yield Text.assemble((start if index == 0 else " " * len(start), "dim"), (line, style))


def headline(parts: Sequence[str], outcome: str, width: int) -> Iterator[Text]:
    """Yield the object asked about, with as many parts on a line as fit, and the outcome in a word."""
    lines: list[str] = []
    for part in map(printable, parts):
        if lines and len(lines[-1]) + len(GAP) + len(part) <= width:
            lines[-1] += GAP + part
        else:
            lines.append(part)
    if len(lines[-1]) + len(_BEFORE_OUTCOME) + len(outcome) <= width:
        lines[-1] += _BEFORE_OUTCOME + outcome
    else:
        lines.append(outcome)
    yield from (Text(line, style="bold") for line in lines)


def load_text(load: Load) -> str:
    """Write ``cpu 92 % -> 61 %, memory 60 %``: CPU and memory, and what else is asked for."""
    names = sorted(load.before, key=resource_order)
    shown = [name for name in names if load.before[name] or load.after[name] or name in {"cpu", "memory"}]
    return ", ".join(f"{name} {_change(load.before[name], load.after[name])}" for name in shown)


def _change(before: float, after: float) -> str:
    same = percent(before) == percent(after)
    return percent(before) if same else f"{percent(before)} -> {percent(after)}"
