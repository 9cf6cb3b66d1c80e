"""``restow diff`` for people: on a terminal, and in markdown for a pull request. Both say the same in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from restow.plain_text import printable
from restow.reporting import markdown
from restow.reporting.sureness import landing
from restow.reporting.terminal import joined, labelled, more_lines, narrowed, print_sections, widths
from restow.reporting.wording import counted, resource_order, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.descheduling.plan import Move
    from restow.reporting.difference_result import MovedElsewhere, PlanDifference, PlanSide

#: Rows of one table on a terminal.
_LISTED: Final = 20
_NOT_PREDICTED: Final = "-"


class _Section(NamedTuple):
    """One kind of difference."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    what: str


def print_difference(found: PlanDifference, console: Console) -> None:
    """Print the difference, cut to the console's width."""
    width = console.width
    sides = [*labelled("old", _about(found.old), width), *labelled("new", _about(found.new), width)]
    sections = (_lines(each, width) for each in _sections(found))
    print_sections((sides, [Text(headline(found), style="bold")], *sections), console)


def markdown_form(found: PlanDifference) -> Iterator[bytes]:
    """Yield the same in markdown, in UTF-8."""
    blocks = [f"**{markdown.text(headline(found))}**"]
    sides = [(name, "; ".join(_about(side))) for name, side in (("old", found.old), ("new", found.new))]
    blocks.append(markdown.table(("", ""), sides))
    for each in _sections(found):
        blocks.append(f"**{markdown.text(each.title)}**")
        blocks += markdown.folded(each.heads, each.rows, each.what)
    yield from (f"{block}\n\n".encode() for block in blocks)


def headline(found: PlanDifference) -> str:
    """Say how many moves are the same, and what is not: ``24 moves are the same; 4 only with new, 1 only with old``."""
    same = f"{counted(found.same, 'move')} {'is' if found.same == 1 else 'are'} the same"
    if found.is_empty:
        return f"No difference: {same}"
    counts = {
        "only with old": len(found.only_old),
        "only with new": len(found.only_new),
        "elsewhere": len(found.elsewhere),
    }
    rest = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{same}; {rest or 'pods stay for other reasons'}"


def _about(side: PlanSide) -> list[str]:
    name = printable(side.name)
    return [name, f"{counted(side.moves, 'move')}, {counted(side.refusals, 'refusal')}", f"placement: {side.placement}"]


def _sections(found: PlanDifference) -> Iterator[_Section]:
    """Yield the kinds of differences that there are."""
    moves = ("POD", "FROM", "TO", "STRATEGY")
    if found.only_new:
        yield _Section("Only with new", moves, [_move(each) for each in found.only_new], "move")
    if found.only_old:
        yield _Section("Only with old", moves, [_move(each) for each in found.only_old], "move")
    if found.elsewhere:
        yield _Section(
            "Elsewhere", ("POD", "FROM", "OLD TO", "NEW TO"), [_ways(each) for each in found.elsewhere], "move"
        )
    if found.refusals:
        counts = [(each.stage, each.code, f"{each.old:,}", f"{each.new:,}") for each in found.refusals]
        yield _Section("Stays", ("STAGE", "CODE", "OLD", "NEW"), counts, "reason")
    if any(each.old != each.new for each in found.spread):
        yield _Section("Standard deviation after", ("RESOURCE", "OLD", "NEW"), _spreads(found), "resource")


def _move(move: Move) -> Sequence[str]:
    return str(move.pod), move.source, landing(move), move.plugin


def _ways(moved: MovedElsewhere) -> Sequence[str]:
    source = moved.old_from if moved.old_from == moved.new_from else f"{moved.old_from}, {moved.new_from}"
    return str(moved.pod), source, moved.old_to or _NOT_PREDICTED, moved.new_to or _NOT_PREDICTED


def _spreads(found: PlanDifference) -> list[Sequence[str]]:
    ordered = sorted(found.spread, key=lambda each: resource_order(each.resource))
    return [(resource_title(each.resource), _figure(each.old), _figure(each.new)) for each in ordered]


def _figure(value: float | None) -> str:
    return _NOT_PREDICTED if value is None else f"{value:.2f}"


def _lines(section: _Section, width: int) -> Iterator[Text]:
    rows = [section.heads, *(list(map(printable, row)) for row in section.rows[:_LISTED])]
    columns = narrowed(widths(rows), width - 1)
    yield Text(section.title, style="bold")
    yield Text(f" {joined(rows[0], columns)}", style="dim")
    yield from (Text(f" {joined(row, columns)}") for row in rows[1:])
    yield from more_lines(len(section.rows), _LISTED)
