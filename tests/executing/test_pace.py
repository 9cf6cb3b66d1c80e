from __future__ import annotations

from restow.executing.pace import Pace

QUICK, LATE = 0.1, 0.3


def paced(*answers: float) -> int:
    pace = Pace()
    for seconds in answers:
        pace.answered(seconds)
    return pace.width


def test_it_begins_with_a_few() -> None:
    assert paced() == 4


def test_one_more_after_as_many_quick_answers() -> None:
    assert paced(*[QUICK] * 3) == 4
    assert paced(*[QUICK] * 4) == 5
    assert paced(*[QUICK] * 9) == 6


def test_one_less_for_a_late_answer_and_never_less_than_at_first() -> None:
    assert paced(*[QUICK] * 9, LATE) == 5
    assert paced(*[LATE] * 9) == 4


def test_a_late_answer_makes_the_quick_ones_before_it_count_no_more() -> None:
    assert paced(*[QUICK] * 3, LATE, QUICK) == 4


def test_what_is_neither_changes_nothing() -> None:
    assert paced(*[0.15] * 100) == 4


def test_there_is_an_end_to_it() -> None:
    assert paced(*[QUICK] * 1000) == 16
