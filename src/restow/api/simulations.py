"""Simulate a cluster in virtual time, and return the result as a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from restow.api.rows import Columns, Rows
from restow.application.feedback import Collected
from restow.application.simulating import ScenarioRequest, SimulationRequest, simulate
from restow.reporting.json import indented_json

if TYPE_CHECKING:
    from restow.application.clusters import LoadedCluster
    from restow.application.files import NamedFile
    from restow.reporting.simulation_document import (
        ExpectationResult,
        MadeEviction,
        SimulationResult,
        SimulationSummary,
    )

_EXPECTATIONS: Final[Columns] = {
    "expectation": ("text", lambda each: each.text),
    "result": ("text", lambda each: each.result),
    "at": ("number", lambda each: each.at),
    "number": ("number", lambda each: each.number),
}
_EVICTIONS: Final[Columns] = {
    "at": ("number", lambda each: each.at),
    "pod": ("text", lambda each: each.pod),
    "by": ("text", lambda each: each.by),
    "node": ("text", lambda each: each.node),
    "result": ("text", lambda each: each.result),
    "replacement_node": ("text", lambda each: each.replacement_node),
    "again": ("flag", lambda each: each.again),
}


@dataclass(slots=True, frozen=True, repr=False)
class Simulation:
    """The result of a run in virtual time: expectations, evictions and a summary."""

    #: Sentences about the scenario and the policy.
    warnings: tuple[str, ...]
    _result: SimulationResult

    @property
    def expectations(self) -> Rows[ExpectationResult]:
        """The expectations of the scenario, and whether each was met."""
        return Rows("expectations", self._result.expectations, _EXPECTATIONS)

    @property
    def evictions(self) -> Rows[MadeEviction]:
        """The evicted pods, each with the node of its replacement."""
        return Rows("evictions", self._result.evictions, _EVICTIONS)

    @property
    def summary(self) -> SimulationSummary:
        """Counts of the run."""
        return self._result.summary

    def to_json(self) -> bytes:
        """The document of ``restow simulate -o json``."""
        return indented_json(self._result) + b"\n"

    def to_html(self) -> str:
        """The page of ``restow simulate -o html``, in one file."""
        from restow.reporting.html.simulation import form

        return form(self._result).decode()

    def __str__(self) -> str:
        """The table of ``restow simulate``."""
        from restow.reporting.simulation_table import print_simulation
        from restow.reporting.terminal import shown

        return shown(lambda console: print_simulation(self._result, console))

    def __repr__(self) -> str:
        failed = sum(each.result == "failed" for each in self._result.expectations)
        expected = f"{len(self._result.expectations)} expectations, {failed} failed"
        return (
            f"<Simulation of {self._result.metadata.scenario}: {len(self._result.evictions):,} evictions, {expected}>"
        )

    def _repr_html_(self) -> str:
        from restow.reporting.html.elements import embedded

        return embedded(self.to_html())


def simulated(
    found: LoadedCluster,
    scenario: str | None,
    policy: NamedFile | None,
    *,
    duration: int | None,
    until_stable: bool,
    now: str | None,
    seed: int | None,
) -> Simulation:
    """Run a scenario that begins with a cluster; ``duration`` is in nanoseconds. Errors as ``simulate``."""
    feedback = Collected()
    with _dumps(found) as dumps:
        paths = (*([] if scenario is None else [scenario]), *dumps)
        asked = ScenarioRequest(paths, duration, until_stable, now, seed)
        result = simulate(SimulationRequest(asked, policy), feedback)
    return Simulation(tuple(feedback.warnings), result)


@contextmanager
def _dumps(found: LoadedCluster) -> Iterator[tuple[str, ...]]:
    """The files that a cluster was read from; of a live one, a snapshot of now."""
    if not found.is_live:
        yield found.source.inputs
        return
    from restow.application.snapshots import SnapshotRequest, read_snapshot

    with TemporaryDirectory(prefix="restow-") as folder:
        path = str(Path(folder) / "cluster.json")
        read_snapshot(SnapshotRequest(found.source), Collected()).save(path)
        yield (path,)
