"""What cycles do is kept: each move with its landing and its readiness, and the figures of each cycle."""

from __future__ import annotations

import time

import pytest

from descheduler.cycling import Run, a_town, crowd, rules
from executing.double import a_task
from restow.descheduler.history import HistoryKeeper
from restow.executing.task import Dropped, Evicted, Missing
from restow.history.file import HistoryFile, read_cycles, read_moves
from restow.policies.codes import OutcomeCode

pytestmark = pytest.mark.usefixtures("without_threads")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "restow.db")


@pytest.fixture
def keeping(path):
    """Gives a run a history."""
    files = []

    def keep(run: Run) -> Run:
        files.append(HistoryFile(path, 30.0, pytest.fail))
        run.cycles.history = HistoryKeeper(files[-1], time.time, run.dry_run)
        return run

    yield keep
    for each in files:
        each.close()


def records(run: Run, path: str):
    assert run.cycles.history is not None
    run.cycles.history.file.close()
    return read_cycles(path, 0.0), read_moves(path, 0.0)


def test_a_move_is_kept_from_its_eviction_to_its_ready_replacement(path, keeping):
    run = keeping(Run(a_town(*crowd("web", 2)))).perform(rules())
    (cycle,), (move,) = records(run, path)
    assert (move.result, move.source, move.strategy, move.workload) == (
        "moved",
        "n0",
        "RemoveDuplicates",
        "ReplicaSet/web",
    )
    assert (move.landed, move.landing, move.certainty) == (move.target, "target", "certain")
    assert move.ready_at is not None
    assert move.landed_at is not None
    assert move.at <= move.landed_at <= move.ready_at
    assert (cycle.result, cycle.dry_run, cycle.moves) == ("done", False, 1)
    assert cycle.spread["cpu"][0] > cycle.spread["cpu"][1]


def test_a_dry_run_keeps_what_it_would_do(path, keeping):
    run = keeping(Run(a_town(*crowd("web", 2)), dry_run=True)).perform(rules())
    (cycle,), (move,) = records(run, path)
    assert (move.result, move.landed, move.ready_at) == ("planned", "", None)
    assert cycle.dry_run


def test_why_a_move_was_not_made_or_its_replacement_did_not_come(path):
    file = HistoryFile(path, 30.0, pytest.fail)
    keeper = HistoryKeeper(file, lambda: 5.0, dry_run=False)
    gone, anew, late = (a_task(name) for name in ("gone", "anew", "late"))
    for outcome in (
        Dropped(gone, "the pod is gone", OutcomeCode.GONE),
        Dropped(anew, "decided again", OutcomeCode.REPLANNED),
        Evicted(late),
        Missing(late, "no replacement was created within 5m"),
    ):
        keeper.outcome(outcome)
    file.close()
    moves = {each.pod: (each.result, each.code, each.message) for each in read_moves(path, 0.0)}
    assert moves == {
        "gone": ("dropped", "Gone", "the pod is gone"),
        "late": ("evicted", "", "no replacement was created within 5m"),
    }
