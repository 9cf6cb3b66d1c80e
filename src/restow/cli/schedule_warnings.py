"""What is told on stderr beside a schedule: kinds that the input does not tell of, and pods of other schedulers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from restow.cli.inputs import LoadedCluster
from restow.cluster.snapshot import Cluster
from restow.plain_text import printable
from restow.reporting.wording import counted
from restow.scheduling.missing_data import MissingData


def warnings_of(found: LoadedCluster, pods: Sequence[int], *, preempting: bool) -> list[str]:
    """One sentence where the answers about these pods depend on kinds that the input does not tell of.

    ``preempting``: whether others would have to go for one of them, on which budgets have a say.
    """
    missing_data = MissingData(found.cluster)
    for pod in pods:
        missing_data.decisive(pod)
        missing_data.scoring(pod)
    if preempting:
        missing_data.lacks("PodDisruptionBudget")
    return found.missing_warning(missing_data.missed, "answers")


def other_schedulers(cluster: Cluster, left: Iterable[int]) -> list[str]:
    """One sentence about the pending pods that are left to other schedulers; nothing without such pods."""
    pods = cluster.pods
    others = Counter(pods.tables.schedulers[pods.schedulers[pod]] for pod in left)
    if not others:
        return []
    counts = ", ".join(f"{printable(name)} {count:,}" for name, count in sorted(others.items()))
    total = others.total()
    verb = "uses another scheduler and is" if total == 1 else "use other schedulers and are"
    return [f"{counted(total, 'pending pod')} {verb} left out: {counts}"]
