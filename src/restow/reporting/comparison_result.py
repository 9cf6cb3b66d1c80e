"""From futures to statements about policies, which are the document of ``restow simulate --compare -o json``.

A seed is a future that each policy meets, so policies are compared future by future (paired), in the numbers of ``NUMBERS``:
medians, the middle half, and which difference is clear. A difference is clear if, among the futures that differ, chance alone
would point as many the same way in less than 1 of 100 comparisons: the two-sided sign test, which supposes nothing about how
the numbers are spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct, field, structs

from restow.descheduling.plan import API_VERSION
from restow.reporting.simulation_wording import TableColumn, time_text
from restow.reporting.wording import counted
from restow.simulating.scenarios.running import Future


class ComparisonMetadata(Struct, frozen=True, rename="camel"):
    """What was simulated, for how long at most, and with which seeds."""

    scenario: str
    description: str
    begins: str
    seconds: float
    until_stable: bool
    seeds: tuple[int, ...]
    restow_version: str


class Quartiles(Struct, frozen=True, rename="camel"):
    """One number over all futures: its median and its middle half; null is a cluster that was not quiet at the end."""

    number: str
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None


class ComparedPolicy(Struct, frozen=True, rename="camel"):
    """A policy and its results."""

    policy: str
    placement: str
    numbers: tuple[Quartiles, ...]
    futures: tuple[Future, ...]


#: equal: no future differs. unclear: chance could make such a difference.
Verdict = Literal["better", "worse", "unclear", "equal"]


class Difference(Struct, frozen=True, rename="camel"):
    """A policy against the first one in one number, future by future."""

    policy: str
    than: str
    number: str
    verdict: Verdict
    better: int
    worse: int
    equal: int
    #: How probable it is that chance alone makes as many futures better, or as many worse.
    p: float


class Comparison(Struct, frozen=True, rename="camel"):
    """The document of ``restow simulate --compare -o json``."""

    metadata: ComparisonMetadata
    policies: tuple[ComparedPolicy, ...]
    differences: tuple[Difference, ...]
    #: For people.
    sentences: tuple[str, ...]
    api_version: str = field(default=API_VERSION)
    kind: str = "SimulationComparison"


@dataclass(slots=True, frozen=True)
class ComparedNumber:
    """One number of a future, of which less is better."""

    #: A field of ``Future``.
    column: TableColumn
    #: In sentences, where there is less of it and where there is more.
    less: str
    more: str

    @property
    def name(self) -> str:
        """Its name in documents."""
        return _NAMES[self.column.field]

    def values(self, futures: Iterable[Future]) -> list[float]:
        """Return it of each future; what never comes is infinite."""
        found = (getattr(each, self.column.field) for each in futures)
        return [math.inf if each is None else each for each in found]

    def text(self, value: float | None) -> str:
        """Display a value; None means never."""
        return "not quiet" if value is None else self.column.shown(value)


_NAMES: Final = dict(zip(Future.__struct_fields__, Future.__struct_encode_fields__, strict=True))
_SPREAD: Final = "{:.2f}".format
#: In the order of display. To add one: a field of ``simulating.scenarios.running.Future``, and an item here.
NUMBERS: Final = (
    ComparedNumber(TableColumn("evictions", "Evictions"), "fewer evictions", "more evictions"),
    ComparedNumber(TableColumn("in_vain", "In vain"), "fewer evictions in vain", "more evictions in vain"),
    ComparedNumber(TableColumn("moved_again", "Moved again"), "fewer pods moved again", "more pods moved again"),
    ComparedNumber(
        TableColumn("pending_pod_seconds", "Pending, all pods", time_text),
        "less time of pods pending",
        "more time of pods pending",
    ),
    ComparedNumber(
        TableColumn("below_seconds", "Below desired", time_text), "less time below desired", "more time below desired"
    ),
    ComparedNumber(TableColumn("nodes_in_use", "Nodes in use"), "fewer nodes in use", "more nodes in use"),
    ComparedNumber(TableColumn("cpu_spread", "CPU spread", _SPREAD), "CPU more even", "CPU less even"),
    ComparedNumber(TableColumn("memory_spread", "Memory spread", _SPREAD), "memory more even", "memory less even"),
    ComparedNumber(TableColumn("quiet_after_seconds", "Quiet since", time_text), "quiet sooner", "quiet later"),
    ComparedNumber(TableColumn("failed", "Failed"), "fewer failed expectations", "more failed expectations"),
)


#: How probable a clear difference is by chance alone, at most.
_CLEAR: Final = 0.01


def comparison(metadata: ComparisonMetadata, found: Sequence[tuple[str, str, Sequence[Future]]]) -> Comparison:
    """Return the document about policies: name, placement, and futures by seed; the first is what others are held against."""
    policies = tuple(
        ComparedPolicy(name, placement, tuple(_quartiles(each, futures) for each in NUMBERS), tuple(futures))
        for name, placement, futures in found
    )
    first, *others = policies
    differences = tuple(_difference(other, first, number) for other in others for number in NUMBERS)
    return Comparison(metadata, policies, differences, tuple(_sentences(policies, differences)))


def _quartiles(number: ComparedNumber, futures: Sequence[Future]) -> Quartiles:
    values = sorted(number.values(futures))
    last = len(values) - 1
    ends = values[last // 4], values[last - last // 4]
    return Quartiles(number.name, _finite(_median(values)), *map(_finite, ends))


def _median(values: Sequence[float]) -> float:
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    return round((low + high) / 2, 4)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _difference(policy: ComparedPolicy, first: ComparedPolicy, number: ComparedNumber) -> Difference:
    pairs = list(zip(number.values(policy.futures), number.values(first.futures), strict=True))
    better, worse = sum(own < other for own, other in pairs), sum(own > other for own, other in pairs)
    p = sign_test(better, worse)
    shown = [number.text(median_of(each, number)) for each in (policy, first)]
    verdict: Verdict = "better" if better > worse else "worse"
    if not better and not worse:
        verdict = "equal"
    elif p >= _CLEAR or shown[0] == shown[1]:
        verdict = "unclear"
    return Difference(policy.policy, first.policy, number.name, verdict, better, worse, len(pairs) - better - worse, p)


def sign_test(better: int, worse: int) -> float:
    """Return how probable it is that a fair coin that is thrown for each difference falls as unevenly, or more so."""
    thrown = better + worse
    rarer = sum(math.comb(thrown, each) for each in range(min(better, worse) + 1))
    return min(1.0, float(f"{2 * rarer / 2**thrown:.3g}"))


def median_of(policy: ComparedPolicy, number: ComparedNumber) -> float | None:
    """Return the median of a number; None where it never comes."""
    return next(each.median for each in policy.numbers if each.number == number.name)


def _sentences(policies: Sequence[ComparedPolicy], differences: Sequence[Difference]) -> Iterator[str]:
    first, *others = policies
    for other in others:
        own = [each for each in differences if each.policy == other.policy]
        yield from _about(other, first, own)
    seeds = len(first.futures)
    if seeds > 1 and all(_is_one_future(each) for each in policies):
        yield "Chance makes no difference here: all futures of a policy are the same."
    elif all(sign_test(count, 0) >= _CLEAR for count in range(seeds + 1)):
        yield f"No difference can be clear with {counted(seeds, 'future')}; 8 at least have to differ."


def _is_one_future(policy: ComparedPolicy) -> bool:
    return len({structs.replace(each, seed=0) for each in policy.futures}) == 1


def _about(policy: ComparedPolicy, first: ComparedPolicy, differences: Sequence[Difference]) -> Iterator[str]:
    phrases = {verdict: _phrases(policy, first, differences, verdict) for verdict in ("better", "worse")}
    if phrases["better"]:
        yield f"{policy.policy} is better than {first.policy}: {', '.join(phrases['better'])}."
    if phrases["worse"]:
        what = "It is worse" if phrases["better"] else f"{policy.policy} is worse than {first.policy}"
        yield f"{what}: {', '.join(phrases['worse'])}."
    if not phrases["better"] and not phrases["worse"]:
        alike = all(each.verdict == "equal" for each in differences)
        what = f"{policy.policy} and {first.policy} have the same results"
        yield f"{what}." if alike else f"No difference between {policy.policy} and {first.policy} is clear."


def _phrases(
    policy: ComparedPolicy, first: ComparedPolicy, differences: Sequence[Difference], verdict: str
) -> list[str]:
    """One for each difference that is clear."""
    wanted = {each.number for each in differences if each.verdict == verdict}
    return [phrase_of(number, policy, first, verdict) for number in NUMBERS if number.name in wanted]


def phrase_of(number: ComparedNumber, policy: ComparedPolicy, first: ComparedPolicy, verdict: str) -> str:
    """``fewer evictions (251 against 412)``: a clear difference in one number, with the medians of both."""
    what = number.less if verdict == "better" else number.more
    return f"{what} ({number.text(median_of(policy, number))} against {number.text(median_of(first, number))})"
