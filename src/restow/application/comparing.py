"""Policies compared: each runs in the same futures of a scenario, on as many processes as there are cores.

Each process is given the scenario and all policies once, and then one run after the other. Results are ordered by policy and
seed, so how many processes there are makes no difference to them. A process ends with its parent, however that one ends.
Processes and their parent share nothing but pipes, so nothing has to be cleared away.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

import restow
from restow.application.feedback import Feedback
from restow.application.files import check_read_once
from restow.application.simulating import (
    Inputs,
    ScenarioRequest,
    Staging,
    collect_garbage,
    named_in_errors,
    read_inputs,
    staging_of,
)
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.comparison_result import Comparison, ComparisonMetadata, comparison
from restow.simulating.scenarios.running import Future, RunEnding, future_of


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
    # Not ``send``: where that fails, the error keeps a view of a buffer, which garbage collection complains of on stderr.
    with _ended_in_words():
        pipe.send_bytes(pickle.dumps(number))


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


#: How many futures there are by default.
FUTURES: Final = 20


@dataclass(slots=True, frozen=True)
class ComparisonRequest:
    """Which scenario to run, and the paths of the policies; the others are compared with the first."""

    scenario: ScenarioRequest
    policies: tuple[str, ...]
    #: How many futures each policy runs in.
    futures: int = FUTURES


def compare(request: ComparisonRequest, feedback: Feedback, processes: int | None = None) -> Comparison:
    """Run each policy in each future; InputError for anything in the request that cannot be used.

    ``processes`` is how many run at a time (None: one for each core); the result is the same.
    """
    _check(request)
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.scenario, feedback)
        stagings = tuple(staging_of(inputs, each, feedback) for each in request.policies)
    first = inputs.scenario.seed
    runs = Runs(stagings, tuple(range(first, first + request.futures)), inputs.ending, inputs.now)
    with feedback.timings.phase("simulate"), feedback.simulating(len(runs) * inputs.ending.duration) as tick:
        found = make_all(runs, processes or cores(), tick)
    return _result(inputs, runs, found)


def _check(request: ComparisonRequest) -> None:
    if len(set(request.policies)) < max(len(request.policies), 2):
        raise InputError("--compare takes two policies or more, each once: --compare today.yaml proposed.yaml")
    if request.futures < 1:
        raise InputError("--seeds must be 1 or more")
    check_read_once((*request.scenario.paths, *request.policies))


def _result(inputs: Inputs, runs: Runs, found: Sequence[Sequence[Future]]) -> Comparison:
    metadata = ComparisonMetadata(
        scenario=inputs.name,
        description=inputs.scenario.description,
        begins=format_time(inputs.now),
        seconds=inputs.ending.duration / SECOND,
        until_stable=inputs.ending.when_stable,
        seeds=runs.seeds,
        restow_version=restow.__version__,
    )
    policies = [(each.policy, _placement(each), futures) for each, futures in zip(runs.stagings, found, strict=True)]
    return comparison(metadata, policies)


def _placement(staging: Staging) -> str:
    return staging.scenario.descheduling.placement if staging.scenario.descheduling else ""
