"""Predicted probabilities are calibrated: of the landings that are predicted with 0.7 about 7 in 10 succeed.

``RESTOW_ORACLE_LANDINGS=2000`` draws so many; the first are always the same. What an interval may be missed by, and how
the landings are drawn, is in ``calibration``.
"""

from __future__ import annotations

import os

import pytest

from oracle.calibration import Bin, Drawn, binomial_interval, bins, draw, wrong
from oracle.scheduler_process import SchedulerProcess, scheduler_binary

LANDINGS = int(os.environ.get("RESTOW_ORACLE_LANDINGS", "300"))


@pytest.mark.oracle
def test_predictions_come_true_as_often_as_they_say() -> None:
    with SchedulerProcess(scheduler_binary()) as scheduler:
        found = bins(draw(scheduler, LANDINGS))
    assert len(found) > 8
    assert not wrong(found)


@pytest.mark.parametrize(
    ("trials", "probability", "error", "interval"),
    [
        # Of ten throws of a coin none or ten heads come once in 512 times.
        (10, 0.5, 2 / 1023, (1, 9)),
        (10, 0.5, 2 / 1025, (0, 10)),
        (10, 1.0, 1e-6, (10, 10)),
        (3, 0.0, 1e-6, (0, 0)),
        (100, 0.1, 0.05, (5, 16)),
    ],
)
def test_the_interval_is_exact(trials: int, probability: float, error: float, interval: tuple[int, int]) -> None:
    assert binomial_interval(trials, probability, error) == interval


def test_a_bin_that_is_wrong_is_found() -> None:
    right = Bin("right", tuple(Drawn(0.7, at % 10 < 7) for at in range(200)))
    too_bold = Bin("too bold", tuple(Drawn(0.95, at % 10 < 7) for at in range(200)))
    (told,) = wrong([right, too_bold])
    assert told.startswith("too bold: 140 of 200 succeeded, not ")


def test_what_is_certain_has_a_bin_of_its_own() -> None:
    found = bins([Drawn(1.0, True), Drawn(0.95, True), Drawn(0.1, False)])
    assert [(each.title, len(each.landings)) for each in found] == [("0.1 to 0.2", 1), ("0.9 to 1.0", 1), ("1", 1)]
