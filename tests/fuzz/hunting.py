"""Hunts: so many inputs of one kind, drawn from a seed. What is found is reduced to the smallest input that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fuzz.api_answers import hostile_lists, hostile_watches
from fuzz.cases import Case
from fuzz.clusters import hostile_clusters
from fuzz.command_lines import hostile_command_lines
from fuzz.kubeconfigs import hostile_kubeconfigs
from fuzz.policies import hostile_policies
from fuzz.properties import Finding, findings
from fuzz.scenarios import hostile_scenarios
from fuzz.schedulers import hostile_scheduler_configurations
from fuzz.tenants import tenants
from fuzz.workers import Worker

KINDS: Mapping[str, Callable[[], st.SearchStrategy[Case]]] = {
    "cluster": hostile_clusters,
    "tenant": tenants,
    "policy": hostile_policies,
    "scenario": hostile_scenarios,
    "scheduler": hostile_scheduler_configurations,
    "kubeconfig": hostile_kubeconfigs,
    "api-list": hostile_lists,
    "api-watch": hostile_watches,
    "flags": hostile_command_lines,
}
#: Seconds and inputs that are spent on making one finding smaller.
_REDUCING, _REDUCTIONS = 20.0, 200


@dataclass(slots=True, frozen=True)
class Found:
    """A finding with the smallest input that showed it."""

    finding: Finding
    case: Case


@dataclass(slots=True)
class _Reduction:
    """A finding that is being made smaller, for so long."""

    best: Found
    until: float
    tries: int = 0

    def is_over(self) -> bool:
        return self.tries >= _REDUCTIONS or time.monotonic() > self.until

    def offer(self, found: Found) -> None:
        if found.case.size <= self.best.case.size:
            self.best = found


@dataclass(slots=True)
class Hunt:
    """So many inputs of a kind."""

    worker: Worker
    #: Signatures that are known and count no more.
    known: set[str]
    found: list[Found] = field(default_factory=list)
    inputs: int = 0
    _reduction: _Reduction | None = None

    def run(self, kind: str, number: int, inputs: int) -> None:
        """Try inputs drawn from a seed; ends early at the first new finding, which is reduced."""
        self._reduction = None
        try:
            _examples(kind, number, inputs, self._try)
        except Exception:
            # hypothesis raises what was found, in wrappings that differ; what else there is belongs to somebody else.
            if self._reduction is None:
                raise
        if self._reduction is not None:
            self.known.add(self._reduction.best.finding.signature)
            self.found.append(self._reduction.best)

    def _try(self, case: Case) -> None:
        """Run one input; raises if it shows what is looked for, as hypothesis wants it."""
        if self._reduction is not None and self._reduction.is_over():
            return
        self.inputs += 1
        finding = self._new(case)
        if self._reduction is not None:
            self._reduction.tries += 1
        if finding is None:
            return
        if self._reduction is None:
            self._reduction = _Reduction(Found(finding, case), time.monotonic() + _REDUCING)
        self._reduction.offer(Found(finding, case))
        raise AssertionError(finding.signature)

    def _new(self, case: Case) -> Finding | None:
        """The first finding that is not known; while one is reduced, that one only."""
        wanted = self._reduction and self._reduction.best.finding.signature
        found = findings(case, self.worker.run(case))
        return next(
            (each for each in found if each.signature not in self.known and wanted in (None, each.signature)), None
        )


def _examples(kind: str, number: int, inputs: int, tried: Callable[[Case], None]) -> None:
    @seed(number)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=KINDS[kind]())
    def each(case: Case) -> None:
        tried(case)

    each()
