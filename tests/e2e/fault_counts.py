"""Seeded runs in which something goes wrong, and the counts that have to be 0 whatever it is.

Five suites take turns: seed 0 is a run of steered moves, 1 one of surges, 2 one of reservations and rollouts, 3 one of
``restow apply``, 4 one of ``restow scheduler``, and so on.

    make faults SEEDS=0:1000 JOBS=2

Each job has a control plane of its own. Each run writes a line into build/faults; the sum is told in the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from e2e.binaries import ROOT
from e2e.control_plane import ControlPlane

#: The variable that has the seeds of each suite, and where the suite is.
SUITES = {
    "RESTOW_E2E_STEERING_FAULTS": "tests/e2e/test_steering_faults.py",
    "RESTOW_E2E_SURGING_FAULTS": "tests/e2e/test_surging_faults.py",
    "RESTOW_E2E_REPLACING_FAULTS": "tests/e2e/test_replacing_faults.py",
    "RESTOW_E2E_APPLY_FAULTS": "tests/e2e/test_apply_faults.py",
    "RESTOW_E2E_SCHEDULER_FAULTS": "tests/e2e/test_scheduler_faults.py",
}
_RECORDS = ROOT / "build" / "faults"
_RECORD = "RESTOW_E2E_FAULT_RECORD"


class Counts(msgspec.Struct, frozen=True):
    """Of one run; all have to be 0."""

    #: Pods that waited behind the gate for more than ten seconds although a replica lived.
    gated_too_long: int = 0
    #: Pods whose eviction was granted twice.
    evicted_twice: int = 0
    #: Workloads that had fewer ready pods than their budget says, or than they want while they are surged.
    budgets_violated: int = 0
    #: Pods for which two bindings were carried out.
    bound_twice: int = 0
    #: Replicas, deletion costs and records of surges that are not as they were before.
    not_put_back: int = 0


class Run(msgspec.Struct, frozen=True):
    """What is kept of one run."""

    suite: str
    seed: int
    #: The fault, and where it happened.
    what: str
    counts: Counts = Counts()


def seeds_of(variable: str, short: Sequence[int]) -> Sequence[int]:
    """The seeds that a variable names (``0:1000``, ``0:1000:3``), or those of the short form."""
    named = os.environ.get(variable)
    return range(*map(int, named.split(":"))) if named else short


def check(run: Run) -> None:
    """See that all counts of a run are 0; they are kept where somebody sums them up."""
    if file := os.environ.get(_RECORD):
        with Path(file).open("ab") as records:
            records.write(msgspec.json.encode(run) + b"\n")
    assert run.counts == Counts(), run


def evicted_twice(plane: ControlPlane, app: str) -> int:
    """How many pods of a workload were evicted more than once: by uid, since a StatefulSet's next pod has the same name."""
    granted = Counter(
        call.request_object.delete_options.preconditions.uid
        for call in plane.audit.calls("create", "pods", "eviction")
        if call.response_status.code == 201 and call.object_ref.name.startswith(f"{app}-")
    )
    assert "" not in granted, "an eviction that names no uid"
    return sum(times > 1 for times in granted.values())


def _part(seeds: range, job: int, jobs: int, directory: Path) -> subprocess.Popen[bytes]:
    """Begin the runs of one job."""
    step = len(SUITES) * jobs
    named = {
        variable: f"{seeds.start + len(SUITES) * job + at}:{seeds.stop}:{step}" for at, variable in enumerate(SUITES)
    }
    # Suites without a seed are left out.
    files = [file for variable, file in SUITES.items() if range(*map(int, named[variable].split(":")))]
    record = {_RECORD: str(directory / f"{job}.jsonl")}
    command = [sys.executable, "-m", "pytest", "-m", "e2e", "-q", "--timeout=0", *files]
    with (directory / f"{job}.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=os.environ | named | record, stdout=log, stderr=subprocess.STDOUT
        )


def _told(runs: Iterable[Run], failed: int) -> int:
    """Print the sum; the exit status."""
    found = list(runs)
    sums: Counter[str] = Counter()
    for run in found:
        sums.update(msgspec.structs.asdict(run.counts))
    suites = Counter(run.suite for run in found)
    print(
        f"runs that came to their end: {len(found)} ({', '.join(f'{n} {suite}' for suite, n in sorted(suites.items()))})"
    )
    for name in Counts.__struct_fields__:
        print(f"{name.replace('_', ' ')}: {sums[name]}")
    for run in found:
        if run.counts != Counts():
            print(f"  {run.suite}, seed {run.seed}: {run.what}")
    print(f"jobs with a failed run: {failed} (logs in {_RECORDS.relative_to(ROOT)})")
    return int(bool(failed or any(sums.values())))


def main() -> int:
    """Run the seeds, and tell the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("seeds", help="the first, and the one after the last: 0:1000")
    options.add_argument("--jobs", type=int, default=1)
    given = options.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    _RECORDS.mkdir(parents=True, exist_ok=True)
    for file in (*_RECORDS.glob("*.jsonl"), *_RECORDS.glob("*.log")):
        file.unlink()
    jobs = [_part(seeds, job, given.jobs, _RECORDS) for job in range(given.jobs)]
    failed = sum(job.wait() not in (0, 5) for job in jobs)
    lines = [line for file in sorted(_RECORDS.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    return _told((msgspec.json.decode(line, type=Run) for line in lines), failed)


if __name__ == "__main__":
    sys.exit(main())
