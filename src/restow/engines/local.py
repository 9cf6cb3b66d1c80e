"""Many pieces of work on as many processes as there are cores: each process gets one piece after the other.

Each process is given the whole work once, and then the number of one piece after the other. Results are ordered by number, so
how many processes there are makes no difference to them. A process ends with its parent, however that one ends.
Processes and their parent share nothing but pipes, so nothing has to be cleared away.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, NamedTuple, Protocol

#: New objects after which garbage is collected. Python's own 700 cost a fifth of a simulation.
_GARBAGE: Final = 100_000
#: Says how much of a piece of work is done, in any unit.
Tick = Callable[[int], None]


class Work(Protocol):
    """Pieces of work that do not depend on each other; it is pickled, and so are the results."""

    def __len__(self) -> int:
        """How many pieces there are."""

    def make(self, number: int, tick: Tick) -> Any:
        """Do one piece; an error ends all of them."""


class _Progress(NamedTuple):
    number: int
    done: int


class _Ended(NamedTuple):
    number: int
    #: What came of it, or the error, which the parent raises.
    result: Any


def collect_garbage() -> None:
    """From now on give back what is not needed any more, as long work has to: commands begin without."""
    gc.set_threshold(_GARBAGE, 20, 100)
    gc.enable()


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_all(work: Work, processes: int, tick: Tick) -> list[Any]:
    """Return the results of all pieces, in order; ``tick`` gets how much of all of them is done.

    Raises the first error of a piece, OSError where a process is killed.
    """
    workers = _start(min(processes, len(work)))
    try:
        _hand_out(pickle.dumps(work), workers)
        return _gathered(len(work), list(workers), tick)
    finally:
        for process in workers.values():
            process.kill()
            process.join()


def _start(count: int) -> dict[Connection, BaseProcess]:
    """Start processes; returns them by the pipes on which they wait for work."""
    # A process that is forked would have locks that other threads of this one hold.
    context = multiprocessing.get_context("spawn")
    # The first start of a process would start this one too, and let signals pass again.
    resource_tracker.ensure_running()
    workers: dict[Connection, BaseProcess] = {}
    with _deaf_children():
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there,), daemon=True)
            process.start()
            there.close()
            workers[here] = process
    return workers


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Have processes that start now ignore Ctrl-C: this one does not, and they end with it."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _hand_out(work: bytes, workers: dict[Connection, BaseProcess]) -> None:
    for pipe in workers:
        with _ended_in_words():
            pipe.send_bytes(work)


@contextmanager
def _ended_in_words() -> Iterator[None]:
    """Say what a pipe whose other end is gone means."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise OSError("a process of this command was ended by the system, perhaps for want of memory") from error


def _give(pipe: Connection, number: int) -> None:
    # Not ``send``: where that fails, the error keeps a view of a buffer, which garbage collection complains of on stderr.
    with _ended_in_words():
        pipe.send_bytes(pickle.dumps(number))


def _gathered(count: int, pipes: list[Connection], tick: Tick) -> list[Any]:
    """Give each idle process the next piece until all are done."""
    waiting = iter(range(count))
    found: dict[int, Any] = {}
    over = [0] * count
    for pipe in pipes:
        _give(pipe, next(waiting))
    while len(found) < count:
        ready = wait(pipes)
        for pipe in (each for each in pipes if each in ready):
            with _ended_in_words():
                told = pipe.recv()
            if isinstance(told, _Progress):
                over[told.number] = told.done
                tick(sum(over))
                continue
            if isinstance(told.result, Exception):
                raise told.result
            found[told.number] = told.result
            following = next(waiting, None)
            if following is not None:
                _give(pipe, following)
    return [found[number] for number in range(count)]


def _work(pipe: Connection) -> None:
    """Do pieces in a process of its own, until there are no more."""
    collect_garbage()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # A pipe breaks when the parent has ended: no one is left to report it to.
    with suppress(EOFError, ConnectionError):
        work: Work = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent process
        while True:
            number: int = pipe.recv()
            pipe.send(_Ended(number, _outcome(work, number, pipe)))


def _outcome(work: Work, number: int, pipe: Connection) -> Any:
    """The result, or the error."""
    try:
        return work.make(number, lambda done: pipe.send(_Progress(number, done)))
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
