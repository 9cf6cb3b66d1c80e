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
from fuzz.schedulers import hostile_scheduler_configurations
from fuzz.tenants import tenants
from fuzz.workers import Worker

KINDS: Mapping[str, Callable[[], st.SearchStrategy[Case]]] = {
    "cluster": hostile_clusters,
    "tenant": tenants,
    "policy": hostile_policies,
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
class Hunt:
    """So many inputs of a kind."""

    worker: Worker
    #: Signatures that are known and count no more.
    known: set[str]
    found: list[Found] = field(default_factory=list)
    inputs: int = 0

    def run(self, kind: str, number: int, inputs: int) -> None:
        """Try inputs drawn from a seed; ends early at the first new finding, which is reduced."""
        best: list[Found] = []
        end = [float("inf"), 0.0]

        def tried(case: Case) -> None:
            if best and (time.monotonic() > end[0] or end[1] > _REDUCTIONS):
                return
            self.inputs += 1
            end[1] += bool(best)
            new = self._new(case, best[0].finding.signature if best else None)
            if new is None:
                return
            end[0] = min(end[0], time.monotonic() + _REDUCING)
            if not best or case.size <= best[0].case.size:
                best[:] = [Found(new, case)]
            raise AssertionError(new.signature)

        try:
            _examples(kind, number, inputs, tried)
        except BaseException as error:
            # hypothesis raises what was found, in wrappings that differ; what else there is belongs to somebody else.
            if not best or isinstance(error, KeyboardInterrupt):
                raise
        self.known |= {each.finding.signature for each in best}
        self.found += best

    def _new(self, case: Case, wanted: str | None) -> Finding | None:
        """A finding that is not known; while one is reduced, that one only."""
        news = [each for each in findings(case, self.worker.run(case)) if each.signature not in self.known]
        if wanted is None:
            return news[0] if news else None
        return next((each for each in news if each.signature == wanted), None)


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
