"""What futures tell of policies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.comparisons import a_comparison, a_future, two_policies
from restow.reporting.comparison_result import Comparison, sign_test


def verdicts(result: Comparison) -> dict[str, str]:
    return {each.number: each.verdict for each in result.differences if each.verdict != "equal"}


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1), (1, 0, 1), (7, 0, 0.0156), (8, 0, 0.00781), (0, 8, 0.00781), (20, 0, 1.91e-6), (15, 5, 0.0414), (10, 10, 1)],
)  # fmt: skip
def test_the_sign_test_is_that_of_the_tables(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, rel=5e-3)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_sign_test_does_not_care_who_is_better(one: int, other: int) -> None:
    assert 0 <= sign_test(one, other) == sign_test(other, one) <= 1


def test_what_is_better_in_every_future_is_better() -> None:
    assert verdicts(two_policies()) == {
        "evictions": "better", "movedAgain": "better", "cpuSpread": "worse", "quietAfterSeconds": "worse",
    }  # fmt: skip


def test_a_difference_of_few_futures_is_not_clear() -> None:
    result = a_comparison(a=[a_future(each, evictions=5) for each in range(7)], b=[a_future(each) for each in range(7)])
    assert verdicts(result) == {"evictions": "unclear"}
    assert result.sentences == (
        "No difference between b.yaml and a.yaml is clear.",
        "Chance makes no difference here: all futures of a policy are the same.",
    )


def test_what_changes_sides_is_not_clear() -> None:
    seeds = range(20)
    result = a_comparison(
        a=[a_future(each, evictions=5 + each % 2) for each in seeds],
        b=[a_future(each, evictions=6 - each % 2) for each in seeds],
    )
    assert verdicts(result) == {"evictions": "unclear"}


def test_a_difference_that_nobody_sees_is_not_clear() -> None:
    """Medians that people read as the same number are no reason to change a policy."""
    seeds = range(20)
    result = a_comparison(
        a=[a_future(each, cpu_spread=0.1) for each in seeds], b=[a_future(each, cpu_spread=0.1001) for each in seeds]
    )
    assert verdicts(result) == {"cpuSpread": "unclear"}


def test_too_few_futures_are_named() -> None:
    seeds = range(5)
    result = a_comparison(
        a=[a_future(each, evictions=each) for each in seeds], b=[a_future(each, evictions=9 * each) for each in seeds]
    )
    assert result.sentences[-1] == "No difference can be clear with 5 futures; 8 at least have to differ."


def test_the_sentences_say_which_policy_is_better_in_what() -> None:
    assert two_policies().sentences == (
        "proposed.yaml is better than today.yaml: fewer evictions (253 against 410.5), fewer pods moved again (0 against 1).",
        "It is worse: CPU less even (0.08 against 0.05), quiet later (not quiet against 1m).",
    )


def test_the_middle_half_holds_half_of_the_futures() -> None:
    result = a_comparison(a=[a_future(each, evictions=each) for each in range(1, 21)], b=[a_future(1)] * 20)
    (middle,) = (each for each in result.policies[0].numbers if each.number == "evictions")
    assert (middle.median, middle.lower_quartile, middle.upper_quartile) == (10.5, 5, 16)


def test_a_cluster_that_is_never_quiet_has_no_such_time() -> None:
    futures = [a_future(each, quiet_after_seconds=None if each % 4 else 60.0) for each in range(8)]
    result = a_comparison(a=futures, b=futures)
    (middle,) = (each for each in result.policies[0].numbers if each.number == "quietAfterSeconds")
    assert (middle.lower_quartile, middle.median, middle.upper_quartile) == (60, None, None)


def test_each_policy_is_held_against_the_first() -> None:
    result = a_comparison(**{name: [a_future(each) for each in range(8)] for name in "abc"})
    assert {(each.policy, each.than) for each in result.differences} == {("b.yaml", "a.yaml"), ("c.yaml", "a.yaml")}
