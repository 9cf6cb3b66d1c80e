"""Many pieces of work on as many processes as there are cores: each process gets one piece after the other.

Each process is given the whole work once, and then the number of one piece after the other. A process ends with its parent,
however that one ends. Processes and their parent share nothing but pipes, so nothing has to be cleared away.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from msgspec import Struct

from restow import garbage
from restow.engines.work import EngineTask, ResultListener, Work, outcome
from restow.forked import cores


class LocalArgs(Struct, frozen=True, rename="camel"):
    """Nothing: how many processes there are is ``--workers``."""


class _Progress(NamedTuple):
    number: int
    done: int


class _Ended(NamedTuple):
    number: int
    #: The result, or the error, which the parent raises.
    result: Any


def make_in_processes(_args: LocalArgs, task: EngineTask, listener: ResultListener) -> None:
    """Make the pieces of a task on as many processes as there are cores, or as it says.

    Raises the first error of a piece, OSError where a process is killed.
    """
    workers = _start(min(task.workers or cores(), len(task.numbers)))
    try:
        _hand_out(pickle.dumps(task.work), workers)
        _follow(task, list(workers), listener)
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


def _follow(task: EngineTask, pipes: list[Connection], listener: ResultListener) -> None:
    """Give each idle process the next piece until all are done."""
    waiting = iter(task.numbers)
    for pipe in pipes:
        _give(pipe, next(waiting))
    left = len(task.numbers)
    while left:
        ready = wait(pipes)
        for pipe in (each for each in pipes if each in ready):
            with _ended_in_words():
                told = pipe.recv()
            if isinstance(told, _Progress):
                listener.progressed(told.number, told.done)
                continue
            if isinstance(told.result, Exception):
                raise told.result
            listener.finished(told.number, told.result)
            left -= 1
            following = next(waiting, None)
            if following is not None:
                _give(pipe, following)


def _work(pipe: Connection) -> None:
    """Do pieces in a process of its own, until there are no more."""
    garbage.collect()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # A pipe breaks when the parent has ended: no one is left to report it to.
    with suppress(EOFError, ConnectionError):
        work: Work = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent process
        while True:
            number: int = pipe.recv()
            pipe.send(_Ended(number, _outcome(work, number, pipe)))


def _outcome(work: Work, number: int, pipe: Connection) -> Any:
    return outcome(work, number, lambda done: pipe.send(_Progress(number, done)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
