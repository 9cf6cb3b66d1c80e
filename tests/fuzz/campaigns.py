"""Hunts of all kinds by an engine of restow, here or on many machines, for a time or for a number of inputs.

A hunt is a piece of work: it depends on no other, and its number says its kind and its seed. Pieces are handed out in
batches, so that what one batch has found is looked for no more in the next.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.cases import keep
from fuzz.hunting import Found, Hunt
from fuzz.workers import Worker
from restow.engines.registry import ChosenEngine, new_name
from restow.engines.work import EngineTask, Tick

#: Hunts of a batch, inputs of a hunt, and seconds between two lines of progress.
_BATCH, _ROUND, _LINE_EVERY = 100, 100, 10.0
_REPEAT = "PYTHONPATH=tests .venv/bin/python -m fuzz --repeat"


class Hunted(NamedTuple):
    """What came of one hunt."""

    inputs: int
    found: Sequence[Found]


@dataclass(slots=True, frozen=True)
class Hunts:
    """A batch of hunts, as work for an engine: kinds in turn, each time with another seed."""

    kinds: Sequence[str]
    #: The number of the first hunt, counted from the first of the campaign.
    first: int
    count: int
    seed: int
    inputs: int
    #: Seconds for one input.
    time_limit: float
    #: Seconds since the epoch after which no hunt begins.
    until: float = float("inf")
    #: Signatures that are known and count no more.
    known: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return self.count

    def kind_and_seed(self, number: int) -> tuple[str, int]:
        """What a piece hunts for."""
        turn, place = divmod(self.first + number, len(self.kinds))
        return self.kinds[place], self.seed + turn

    def make(self, number: int, _tick: Tick) -> Hunted:
        """Do one hunt, in a process that keeps its worker."""
        if time.time() >= self.until:
            return Hunted(0, ())
        warnings.simplefilter("ignore")
        hunt = Hunt(_worker(self.time_limit), set(self.known))
        hunt.run(*self.kind_and_seed(number), self.inputs)
        return Hunted(hunt.inputs, hunt.found)


@cache
def _worker(time_limit: float) -> Worker:
    return Worker(time_limit=time_limit)


@dataclass(slots=True)
class Campaign:
    """What has been tried and found so far; hears of the hunts of one batch after the other."""

    kinds: Sequence[str]
    seed: int
    time_limit: float
    #: 0: no end.
    wanted: int = 0
    seconds: float = 0.0
    began: float = field(default_factory=time.time)
    inputs: Counter[str] = field(default_factory=Counter)
    found: dict[str, Path] = field(default_factory=dict)
    _begun: int = 0
    _batch: Hunts | None = None
    _shown: float = 0.0

    def run(self, chosen: ChosenEngine) -> int:
        """Hunt until the inputs or the seconds are used up; 1 if anything was found."""
        while (batch := self._next()) is not None:
            task = EngineTask(batch, range(len(batch)), Hunted, new_name(), chosen.workers)
            chosen.engine.make(chosen.args, task, self)
        print(self.line())
        return 1 if self.found else 0

    def progressed(self, number: int, done: int) -> None:
        """A hunt counts when it has ended."""

    def finished(self, number: int, result: Any) -> None:
        """Count one hunt, and keep what it found."""
        assert self._batch is not None
        kind, seed = self._batch.kind_and_seed(number)
        self.inputs[kind] += result.inputs
        for each in result.found:
            if each.finding.signature not in self.found:
                path = self.found[each.finding.signature] = keep(each.case, each.finding.signature)
                print(f"FOUND (seed {seed}): {each.finding.signature}\n  {_REPEAT} {path}", flush=True)
        if time.time() - self._shown > _LINE_EVERY:
            self._shown = time.time()
            print(self.line(), flush=True)

    def said(self, sentence: str) -> None:
        """Show what the engine says."""
        print(sentence, flush=True)

    def line(self) -> str:
        """How far it is."""
        seconds = time.time() - self.began
        total = self.inputs.total()
        each = ", ".join(f"{kind} {count}" for kind, count in sorted(self.inputs.items()))
        return f"{seconds:6.0f} s  {total} inputs ({total / max(seconds, 1):.0f}/s), {len(self.found)} findings: {each}"

    def _next(self) -> Hunts | None:
        """The next batch; None at the end."""
        until = self.began + self.seconds if self.seconds else float("inf")
        left = self.wanted - self.inputs.total() if self.wanted else _BATCH * _ROUND
        if left <= 0 or time.time() >= until:
            return None
        inputs = min(_ROUND, left)
        count = min(_BATCH, left // inputs)
        self._batch = Hunts(
            self.kinds, self._begun, count, self.seed, inputs, self.time_limit, until, frozenset(self.found)
        )
        self._begun += count
        return self._batch
