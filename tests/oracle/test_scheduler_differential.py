"""restow's scheduler against the real kube-scheduler 1.36: every plugin, the queue, nominations and preemption.

Each case is a small random cluster with up to fourteen pods that are placed one after another. What must agree is said in
``scheduler_comparison``, what the cases are made of in the ``random_scheduling*`` modules. The differences that are meant
are in ``docs/reference/differences.md``; the generators keep away from them. Not here: clusters of 100 and more nodes, of
which kube-scheduler looks at a part (``test_sampling_differential``), and configurations (``test_configuration_differential``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from builders import Object
from oracle.scheduler_comparison import PodReport, Restow, scheduling_difference
from oracle.scheduler_process import SchedulerProcess, scheduler_binary
from oracle.scheduling_cases import NAMES, PREEMPTION, SEEDS, a_scheduling_case, write_scheduling_case

pytestmark = pytest.mark.oracle

#: Cases of one test: enough to be quick, few enough to tell where it breaks.
CHUNK = 100
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


@pytest.mark.parametrize("subject", NAMES)
@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_restow_schedules_as_kube_scheduler_does(
    scheduler: SchedulerProcess, subject: str, seeds: range, scheduled: Counter[str]
) -> None:
    found = []
    for seed in seeds:
        cluster = a_scheduling_case(subject, seed)
        if text := scheduling_difference(cluster, scheduler, validate=seed % 10 == 0):
            found.append(f"{subject}-{seed}: {text}\nSee {write_scheduling_case(subject, seed, cluster)}")
    scheduled[subject] += len(seeds)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("subject", [name for name in NAMES if name != PREEMPTION])
def test_the_cases_have_something_to_decide(subject: str) -> None:
    """Agreement on doing nothing proves little: in a third of the cases some pod may only go to some of the nodes."""
    told = [(cluster, Restow(cluster).answers().values()) for cluster in map(cases_of(subject), range(50))]
    assert sum(any(is_choosy(each, cluster) for each in case) for cluster, case in told) > 50 / 3


def cases_of(subject: str) -> Callable[[int], list[Object]]:
    return partial(a_scheduling_case, subject)


def is_choosy(answer: PodReport, cluster: list[Object]) -> bool:
    """Whether some node is best for a pod, and some node is not."""
    return 0 < len(answer.get("best", ())) < sum(each["kind"] == "Node" for each in cluster)


def test_the_contests_are_won() -> None:
    """In a quarter of the cases about preemption a pod finds victims."""
    told = [Restow(a_scheduling_case(PREEMPTION, seed)).answers().values() for seed in range(50)]
    assert sum(any(each.get("nominatedNode") for each in case) for case in told) > 50 / 4
