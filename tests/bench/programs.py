"""The two programs that are compared, as whole processes: restow and the real Descheduler.

Both read the same dump and the same policy, decide once at the same time, and write their evictions as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from bench import processes
from bench.inputs import ROOT, Inputs
from bench.processes import CommandError
from oracle.oracle_process import Answer, oracle_binary
from restow.sources.synthetic import NOW

#: Bytes a second: slower than either program reads a dump. The rest of a process' time is for deciding.
SLOW_READING = 10e6


@dataclass(slots=True, frozen=True)
class Measured:
    """One run of one program on one case."""

    #: Seconds of deciding; None where the time limit ended the run.
    deciding: float | None
    evictions: int | None
    #: The whole process: seconds, seconds of processor time, bytes.
    wall: float
    cpu: float
    peak: int


Program = Callable[[Inputs], Measured]


class _Timings(msgspec.Struct, frozen=True):
    decide: float


class _Metadata(msgspec.Struct, frozen=True):
    timings: _Timings


class _Summary(msgspec.Struct, frozen=True):
    moves: int


class _Plan(msgspec.Struct, frozen=True):
    metadata: _Metadata
    summary: _Summary


def restow(limit: float) -> Program:
    """``restow plan``; deciding is its phase of that name: state, filters, strategies and arbiter."""
    return partial(_restow, limit=limit)


def upstream(limit: float) -> Program:
    """The Descheduler; deciding is the calls of its plugins alone."""
    return partial(_upstream, limit=limit)


def _restow(given: Inputs, limit: float) -> Measured:
    command = [sys.executable, "-c", "from restow.cli.main import main; main()", "plan", "-f", str(given.dump)]
    command += ["--policy-config-file", str(given.policy), "--placement", "upstream", "--now", NOW]
    command += ["--timings", "-o", "json"]
    done = processes.run(command, {"PYTHONPATH": str(ROOT / "src")}, limit + _reading(given))
    if done.output is None:
        return Measured(None, None, done.wall, done.cpu, done.peak)
    plan = msgspec.json.decode(done.output, type=_Plan)
    return Measured(plan.metadata.timings.decide, plan.summary.moves, done.wall, done.cpu, done.peak)


def _upstream(given: Inputs, limit: float) -> Measured:
    command = [str(oracle_binary()), "-f", str(given.dump), "-policy", str(given.policy), "-now", NOW, "-timings"]
    done = processes.run(command, {}, limit + _reading(given))
    if done.output is None:
        return Measured(None, None, done.wall, done.cpu, done.peak)
    answer = msgspec.json.decode(done.output, type=Answer)
    if answer.error or answer.seconds is None or answer.runs[0].errors:
        raise CommandError(f"{' '.join(command)}: {answer.error or answer.runs}")
    deciding = sum(sum(plugin.seconds) for plugin in answer.seconds.plugins)
    return Measured(deciding, len(answer.runs[0].pods()), done.wall, done.cpu, done.peak)


def _reading(given: Inputs) -> float:
    """Seconds that reading the dump may take at most."""
    return given.dump.stat().st_size / SLOW_READING
