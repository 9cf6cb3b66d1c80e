"""Work on several processes: what is told of it, and what happens when one of them ends."""

from __future__ import annotations

import gc
import pickle
import sys
from multiprocessing import Pipe

import pytest

from restow.engines import local
from restow.engines.registry import RunFeedback, in_processes, make_all
from restow.engines.work import EngineTask, Gathering, Tick
from restow.errors import InputError


class Squares:
    """Pieces that need no cluster."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def make(self, number: int, tick: Tick) -> int:
        tick(10)
        return number**2


@pytest.mark.parametrize("count", [1, 5])
def test_results_are_in_order_however_many_processes_there_are(count):
    done = []
    assert make_all(Squares(count), in_processes(2), RunFeedback(done.append, 10)) == [
        number**2 for number in range(count)
    ]
    assert done == sorted(done)
    assert done[-1] == 10 * count


def test_a_process_that_is_ended_before_it_has_work_ends_the_comparison():
    here, there = Pipe()
    there.close()
    with pytest.raises(OSError, match="was ended by the system"):
        local._follow(EngineTask(Squares(1), [0], int, "one"), [here], Gathering(lambda _: None))


def test_an_error_of_a_process_that_is_ended_leaves_nothing_that_garbage_collection_complains_of(monkeypatch):
    """Python 3.13 prints such complaints on stderr, after the sentence about the error."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    here, there = Pipe()
    there.close()
    with pytest.raises(OSError, match="was ended by the system") as caught:
        local._give(here, 1)
    caught.value.itself = caught.value  # Only garbage collection frees it.
    del caught
    gc.collect()
    assert complaints == []


def test_each_piece_tells_how_much_of_it_is_done():

    class Work:
        @staticmethod
        def make(number, tick):
            tick(60)
            return number

    sent = []
    pipe = type("Pipe", (), {"send": staticmethod(sent.append)})
    assert local._outcome(Work, 3, pipe) == 3
    assert sent == [(3, 60)]


def test_an_error_in_another_process_is_told_by_this_one():
    class Work:
        @staticmethod
        def make(_number, _tick):
            raise InputError("policy.yaml: one", "policy.yaml: two")

    found = pickle.loads(pickle.dumps(local._outcome(Work, 0, None)))
    assert (type(found), found.sentences) == (InputError, ("policy.yaml: one", "policy.yaml: two"))
