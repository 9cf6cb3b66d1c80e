"""Many runs at once, on as many processes as there are cores.

Each process is given the scenario and all policies once, and then one run after the other. Results are ordered by
policy and seed, so how many processes there are makes no difference to them. A process ends with its parent,
however that one ends. Processes and their parent share nothing but pipes, so nothing has to be cleared away.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from restow.application.simulation_inputs import Staging, collect_garbage, named_in_errors
from restow.simulating.scenarios.futures import Future, future_of
from restow.simulating.scenarios.running import RunEnding


@dataclass(slots=True, frozen=True)
class Runs:
    """Which runs to make: each policy with each seed."""

    stagings: tuple[Staging, ...]
    seeds: tuple[int, ...]
    ending: RunEnding
    #: Nanoseconds since the epoch.
    now: int

    def __len__(self) -> int:
        return len(self.stagings) * len(self.seeds)

    def make(self, number: int, tick: Callable[[int], None]) -> Future:
        """Make one of the runs: those of a policy follow each other."""
        staging, seed = self.stagings[number // len(self.seeds)], self.seeds[number % len(self.seeds)]
        with named_in_errors(staging.policy):
            return future_of(replace(staging.scenario, seed=seed), staging.config, self.now, self.ending, tick)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_all(runs: Runs, processes: int, tick: Callable[[int], None]) -> list[list[Future]]:
    """Return the futures of each policy, by seed; ``tick`` gets how much virtual time of all runs is over.

    InputError for a policy that cannot be used in this cluster, OSError where a process is killed.
    """
    workers = _start(min(processes, len(runs)))
    try:
        _hand_out(pickle.dumps(runs), workers)
        found = _gathered(len(runs), list(workers), tick)
    finally:
        for process in workers.values():
            process.kill()
            process.join()
    return [found[begin : begin + len(runs.seeds)] for begin in range(0, len(runs), len(runs.seeds))]


def _start(count: int) -> dict[Connection, BaseProcess]:
    """Start processes; returns them by the pipes on which they wait for work."""
    # A process that is forked would have locks that other threads of this one hold.
    context = multiprocessing.get_context("spawn")
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


def _hand_out(runs: bytes, workers: dict[Connection, BaseProcess]) -> None:
    for pipe in workers:
        with _ended_in_words():
            pipe.send_bytes(runs)


@contextmanager
def _ended_in_words() -> Iterator[None]:
    """Say what a pipe whose other end is gone means."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise OSError("a process that simulated was ended by the system, perhaps for want of memory") from error


def _give(pipe: Connection, number: int) -> None:
    with _ended_in_words():
        pipe.send(number)


def _gathered(count: int, pipes: list[Connection], tick: Callable[[int], None]) -> list[Future]:
    """Give each idle process the next run until all runs are done."""
    waiting = iter(range(count))
    found: dict[int, Future] = {}
    over = [0] * count
    for pipe in pipes:
        _give(pipe, next(waiting))
    while len(found) < count:
        ready = wait(pipes)
        for pipe in (each for each in pipes if each in ready):
            with _ended_in_words():
                number, told = pipe.recv()
            if isinstance(told, Exception):
                raise told
            if isinstance(told, int):
                over[number] = told
                tick(sum(over))
                continue
            found[number] = told
            following = next(waiting, None)
            if following is not None:
                _give(pipe, following)
    return [found[number] for number in range(count)]


def _work(pipe: Connection) -> None:
    """Make runs in a process of its own, until there are no more."""
    collect_garbage()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # A pipe breaks when the parent has ended: no one is left to report it to.
    with suppress(EOFError, ConnectionError):
        runs: Runs = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent process
        while True:
            number: int = pipe.recv()
            pipe.send((number, _outcome(runs, number, pipe)))


def _outcome(runs: Runs, number: int, pipe: Connection) -> Any:
    """The future, or the error, which the parent raises."""
    try:
        future = runs.make(number, lambda done: pipe.send((number, done)))
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return error
    pipe.send((number, runs.ending.duration))
    return future


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
