"""``restow simulate --compare`` on a terminal: the answer in sentences, then each number of each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.comparison_result import NUMBERS, ComparedNumber
from restow.reporting.simulation_wording import time_text
from restow.reporting.terminal import joined, labelled, narrowed, paragraph, print_sections, widths
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from restow.reporting.comparison_result import (
        ComparedPolicy,
        Comparison,
        ComparisonMetadata,
        Difference,
        Quartiles,
    )

_HEADS: Final = ("", "POLICY", "MEDIAN", "MIDDLE HALF", "FUTURES")
_STYLES: Final = {"better": "green", "worse": "red", "unclear": "dim", "equal": "dim"}
HOW: Final = (
    "Figures are medians; less is better in every line. A difference is clear if chance alone would make so many futures better, or worse, in "
    "less than 1 of 100 comparisons (two-sided sign test over the same seeds)."
)


def print_comparison(result: Comparison, console: Console) -> None:
    """Print the answer in as many columns as the console has."""
    width = console.width
    print_sections(
        (_header(result, width), _answer(result, width), _table(result, width), paragraph(HOW, width, "dim")), console
    )


def context_of(metadata: ComparisonMetadata) -> list[str]:
    """Say what was simulated: the scenario, how long, how often."""
    seeds = metadata.seeds
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    length = f"{'at most ' if metadata.until_stable else ''}{time_text(metadata.seconds)} each"
    parts = [metadata.scenario, metadata.description, f"{counted(len(seeds), 'future')} ({span})", length]
    return [printable(each) for each in parts if each]


def _header(result: Comparison, width: int) -> Iterator[Text]:
    yield from labelled("compare", context_of(result.metadata), width)


def _answer(result: Comparison, width: int) -> Iterator[Text]:
    for sentence in result.sentences:
        yield from paragraph(printable(sentence), width, "bold")


def _table(result: Comparison, width: int) -> Iterator[Text]:
    rows: list[tuple[list[str], str]] = []
    for number in NUMBERS:
        rows += [_row(number, policy, result) for policy in result.policies]
    cells = [list(_HEADS), *(row for row, _ in rows)]
    columns = narrowed(widths(cells), width - 1)
    styles = ["", *(style for _, style in rows)]
    yield from (Text(f" {joined(row, columns)}", style=style) for row, style in zip(cells, styles, strict=True))


def _row(number: ComparedNumber, policy: ComparedPolicy, result: Comparison) -> tuple[list[str], str]:
    quartiles = next(each for each in policy.numbers if each.number == number.name)
    found = difference_of(result, policy, number)
    half = half_of(quartiles, number)
    title = number.column.title.lower() if found is None else ""
    verdict = "" if found is None else verdict_of(found)
    return [title, printable(policy.policy), number.text(quartiles.median), half, verdict], _STYLES[
        found.verdict
    ] if found else ""


def half_of(quartiles: Quartiles, number: ComparedNumber) -> str:
    """Say between which numbers half of the futures are; nothing where these are one."""
    low, high = number.text(quartiles.lower_quartile), number.text(quartiles.upper_quartile)
    return f"{low} to {high}" if low != high else ""


def difference_of(result: Comparison, policy: ComparedPolicy, number: ComparedNumber) -> Difference | None:
    """Return how a policy compares with the first one in a number; None of the first one itself."""
    wanted = (policy.policy, number.name)
    return next((each for each in result.differences if (each.policy, each.number) == wanted), None)


def verdict_of(found: Difference) -> str:
    """Say in how many futures a policy is better, or worse: ``better in 20 of 20``."""
    futures = found.better + found.worse + found.equal
    match found.verdict:
        case "equal":
            return "the same"
        case "better":
            return f"better in {found.better} of {futures}"
        case "worse":
            return f"worse in {found.worse} of {futures}"
        case _:
            return f"not clear, {found.better}:{found.worse}"
