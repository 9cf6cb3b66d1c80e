"""``restow tune`` on a terminal: the best policy in a sentence, its settings, and how it does in fresh futures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.simulation_wording import time_text
from restow.reporting.terminal import labelled, paragraph, print_sections, table
from restow.reporting.tuning_result import BASE, NEVER
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from restow.reporting.tuning_result import CheckedPolicy, TuningResult
    from restow.tuning.judging import Improvement

_SETTINGS: Final = ("SETTING", "POLICY", "BEST", "WORTH")
HOW: Final = (
    "Objectives are means, less is better. How much less one is than with the policy as it is, is the median over the fresh "
    "futures, with an interval that supposes nothing about how they are spread (sign test). REGRET is how much more it is than "
    "with the best of these policies in each future, known only afterwards. WORTH is how much of the objective's "
    "differences between trials a setting explains."
)


def print_tuning(result: TuningResult, console: Console) -> None:
    """Print the answer in as many columns as the console has."""
    width = console.width
    sections = [_header(result, width), paragraph(printable(answer(result)), width, "bold"), _settings(result, width)]
    sections += [_checked(result, number, width) for number in range(len(result.metadata.objectives))]
    print_sections((*sections, paragraph(HOW, width, "dim")), console)


def answer(result: TuningResult) -> str:
    """Say what the best trial is worth, how sure that is, and whether moving nothing would be better still."""
    base, best = result.checked[0], next(each for each in result.checked if each.trial == result.best.number)
    if all(each.base == each.best for each in result.settings):
        return f"No trial is better than the policy as it is.{_idle(result, best)}"
    name, less = result.metadata.objectives[0], best.less[0]
    figures = f"{name} is {_figure(best.objectives[0])} against {_figure(base.objectives[0])} in fresh futures"
    who = f"Trial {best.trial}"
    if less.low is None:
        return f"{who} did best: {figures}. Fewer than 6 futures cannot say how sure that is.{_idle(result, best)}"
    if less.low <= 0:
        return f"{who} did best, but it is not clearly better than the policy as it is: {figures}.{_idle(result, best)}"
    return f"{who} is better than the policy as it is: {figures}.{_idle(result, best)}"


def _idle(result: TuningResult, best: CheckedPolicy) -> str:
    """A sentence if a policy that never moves anything does better than the best trial."""
    idle = next(each for each in result.checked if each.name == NEVER).objectives[0]
    better = idle < best.objectives[0]
    return f" A policy that never moves anything does better in this: {_figure(idle)}." if better else ""


def _header(result: TuningResult, width: int) -> Iterator[Text]:
    metadata = result.metadata
    length = f"{'at most ' if metadata.until_stable else ''}{time_text(metadata.seconds)} each"
    trials = f"{counted(len(result.trials), 'trial')} in {counted(len(metadata.seeds), 'future')}, {length}"
    given_up = [each.futures for each in result.trials if each.futures < len(metadata.seeds)]
    trials += f"; {len(given_up):,} given up after {given_up[0]}" if given_up else ""
    parts = [metadata.scenario, metadata.description, f"{metadata.policy} ({metadata.space})", trials]
    yield from labelled("tune", [printable(each) for each in parts if each], width)


def _settings(result: TuningResult, width: int) -> Iterator[Text]:
    cells = [list(_SETTINGS)]
    for each in result.settings:
        worth = "" if each.worth is None else f"{100 * each.worth:.0f} %"
        cells.append([each.path, "" if each.base is None else str(each.base), str(each.best), worth])
    yield from table([[printable(cell) for cell in row] for row in cells], width)


def _checked(result: TuningResult, number: int, width: int) -> Iterator[Text]:
    heads = [result.metadata.objectives[number], "IN FRESH FUTURES", "LESS THAN THE POLICY", "SURE", "REGRET"]
    cells = [heads, *(_cells(each, number) for each in result.checked)]
    yield from table([[printable(cell) for cell in row] for row in cells], width)


def _cells(checked: CheckedPolicy, number: int) -> list[str]:
    less = checked.less[number]
    interval, sure = ("", "") if checked.name == BASE else _interval(less)
    return [checked.name, _figure(checked.objectives[number]), interval, sure, _figure(checked.regret[number])]


def _interval(less: Improvement) -> tuple[str, str]:
    if less.low is None or less.high is None or less.confidence is None:
        return _figure(less.median), ""
    return f"{_figure(less.median)} ({_figure(less.low)} to {_figure(less.high)})", f"{100 * less.confidence:.0f} %"


def _figure(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
