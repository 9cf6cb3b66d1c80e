"""``restow simulate --compare -o html``: the results of several policies, each future a dot; it has no script."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from restow.reporting.comparison_result import NUMBERS, ComparedNumber, phrase_of
from restow.reporting.comparison_table import HOW, context_of, difference_of, half_of, verdict_of
from restow.reporting.html.elements import (
    EMPTY,
    Markup,
    cards,
    contents,
    facts,
    joined,
    origin,
    section,
    tag,
    text,
    whole_page,
)
from restow.reporting.html.simulation import STYLES
from restow.reporting.simulation_wording import time_text
from restow.reporting.wording import counted, short_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.comparison_result import ComparedPolicy, Comparison

#: Fields of ``Future``; what counts most for a verdict comes first: what is promised and available, then what moves, then balance.
_RANKS: Final = (
    "failed",
    "below_seconds",
    "pending_pod_seconds",
    "in_vain",
    "moved_again",
    "cpu_spread",
    "memory_spread",
    "nodes_in_use",
    "evictions",
    "quiet_after_seconds",
)
#: Pixels of a policy's row in a picture, and percent of its width that dots keep from its edges.
_ROW: Final = 22
_EDGE: Final = 2
#: How many dots are drawn for one policy; of more, every second one, or every third and so on.
_MOST_DOTS: Final = 200


def form(result: Comparison) -> bytes:
    """Render ``-o html``."""
    return render_comparison(result).encode()


def render_comparison(result: Comparison) -> str:
    """Return the page; the same comparison gives the same text."""
    header = tag(
        "header",
        origin(("restow simulate --compare", *context_of(result.metadata))),
        tag("h1", text(_headline(result))),
        *(tag("p", text(each), class_="lead") for each in result.sentences),
    )
    places = {"numbers": "Numbers", "futures": "Futures", "versions": "Versions"}
    sections = (_numbers(result), _futures(result), _versions(result))
    return whole_page(
        f"{_headline(result)} - restow simulate", (header, contents(places), tag("main", *sections)), STYLES
    )


def _headline(result: Comparison) -> str:
    """The judgement about two policies: by the difference that counts most, and what stands against it."""
    futures = counted(len(result.metadata.seeds), "future")
    if len(result.policies) > 2:
        return f"{len(result.policies)} policies in {futures}"
    first, other = result.policies
    names = [name.removesuffix(".yaml") for name in short_names([first.policy, other.policy])]
    clear = {each.number: each.verdict for each in result.differences if each.verdict in ("better", "worse")}
    ranked = sorted((each for each in NUMBERS if each.name in clear), key=lambda each: _RANKS.index(each.column.field))
    if not ranked:
        return f"{names[1]} makes no clear difference to {names[0]} in {futures}"
    verdict = clear[ranked[0].name]
    against = [each for each in ranked if clear[each.name] != verdict][:1]
    phrases = [phrase_of(each, other, first, clear[each.name]) for each in (ranked[0], *against)]
    return f"{names[1]} is {verdict} than {names[0]}: {', but '.join(phrases)}"


def _numbers(result: Comparison) -> Markup:
    rows = (
        {
            "Number": text(number.column.title),
            "Policy": text(policy.policy),
            "Median": text(number.text(quartiles.median)),
            "Middle half": text(half_of(quartiles, number) or "-"),
            "Futures": _verdict(result, policy, number),
        }
        for number in NUMBERS
        for policy in result.policies
        for quartiles in policy.numbers
        if quartiles.number == number.name
    )
    return section("numbers", "Numbers", tag("p", text(HOW), class_="dim"), cards(rows))


def _verdict(result: Comparison, policy: ComparedPolicy, number: ComparedNumber) -> Markup:
    found = difference_of(result, policy, number)
    if found is None:
        return text("-")
    return tag("span", text(verdict_of(found)), class_=found.verdict)


def _futures(result: Comparison) -> Markup:
    reading = "Each dot is a future, the long line the median. Less is to the left."
    pictures = (_picture(number, result.policies) for number in NUMBERS)
    return section("futures", "Futures", tag("p", text(reading), class_="dim"), *pictures)


def _picture(number: ComparedNumber, policies: Sequence[ComparedPolicy]) -> Markup:
    """Draw a number of all futures; nothing where it looks the same in all of them."""
    known = [[each for each in number.values(policy.futures) if math.isfinite(each)] for policy in policies]
    ends = [each for values in known for each in values]
    low, high = min(ends, default=0), max(ends, default=0)
    if number.text(low) == number.text(high):
        return EMPTY
    note = f"{number.column.title}: {number.text(low)} to {number.text(high)}"
    rows = (
        joined([tag("p", text(_named(policy, values)), class_="key"), _row(number, policy, values, (low, high))])
        for policy, values in zip(policies, known, strict=True)
    )
    caption = tag(
        "figcaption", tag("b", text(number.column.title)), text(f" {number.text(low)} to {number.text(high)}")
    )
    return tag("figure", caption, *rows, aria_label=note)


def _named(policy: ComparedPolicy, values: Sequence[float]) -> str:
    """The policy, and how many of its futures have no dot."""
    never = len(policy.futures) - len(values)
    note = f", not quiet in {counted(never, 'future')}" if never else ""
    return policy.policy + note


def _row(number: ComparedNumber, policy: ComparedPolicy, values: Sequence[float], ends: tuple[float, float]) -> Markup:
    median = next(each.median for each in policy.numbers if each.number == number.name)
    described = f"{_named(policy, values)}: median {number.text(median)}"
    drawn = [
        tag("line", x1=0, x2="100%", y1=_ROW // 2, y2=_ROW // 2, class_="rule"),
        *(_dot(each, number, ends) for each in sorted(values)[:: -(-len(values) // _MOST_DOTS) or 1]),
        *_median(median, ends),
    ]
    return tag("svg", *drawn, role="img", aria_label=described, class_="dots")


def _dot(value: float, number: ComparedNumber, ends: tuple[float, float]) -> Markup:
    return tag("circle", tag("title", text(number.text(value))), cx=_x(value, ends), cy=_ROW // 2, r=5)


def _median(median: float | None, ends: tuple[float, float]) -> Iterator[Markup]:
    if median is not None:
        yield tag("line", x1=_x(median, ends), x2=_x(median, ends), y1=1, y2=_ROW - 1, class_="median")


def _x(value: float, ends: tuple[float, float]) -> str:
    low, high = ends
    return f"{_EDGE + (value - low) / (high - low) * (100 - 2 * _EDGE):.2f}%"


def _versions(result: Comparison) -> Markup:
    metadata = result.metadata
    known = {
        "restow": metadata.restow_version,
        "scenario": metadata.scenario,
        "policies": ", ".join(f"{each.policy} ({each.placement})" for each in result.policies),
        "virtual time": f"{time_text(metadata.seconds)} from {metadata.begins}",
        "seeds": f"{metadata.seeds[0]} to {metadata.seeds[-1]}",
        "document": f"{result.kind} {result.api_version}",
    }
    return section("versions", "Versions", facts(known))
