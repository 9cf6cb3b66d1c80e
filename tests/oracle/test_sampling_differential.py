"""The nodes that could win and their odds, against the real scheduler started at every node of clusters of more than 100.

What the clusters are made of is in ``scheduling.large_clusters``. The scheduler looks at its default share of the nodes,
or at the share that its configuration names.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from descheduling.harness import a_cluster
from oracle.scheduler_process import SchedulerProcess, scheduler_binary
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler
from scheduling.large_clusters import SUBJECTS, a_large_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Object

pytestmark = pytest.mark.oracle

SEEDS = 6
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: {share}
"""


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


def restow_odds(cluster: list[Object], share: int) -> dict[str, float]:
    context = Context.of(ClusterState(a_cluster(*cluster)))
    asked = Scheduler(context, SchedulerProfile(percentage_of_nodes_to_score=share))
    odds = asked.odds(asked.decide(context.state.cluster.pods.names.index("p")))
    names = [context.state.cluster.nodes.names[node] for node in odds.nodes]
    return dict(zip(names, odds.probability.tolist(), strict=True))


def real_odds(scheduler: SchedulerProcess, cluster: list[Object], share: int) -> dict[str, float]:
    """How often each node is among the best, over all starts; the best of one start share it alike."""
    starts = range(sum(each["kind"] == "Node" for each in cluster))
    answer = scheduler.ask(cluster, pod="default/p", starts=starts, config=CONFIG.format(share=share) if share else "")
    assert not answer.error
    found: dict[str, float] = {}
    for outcome in answer.pods:
        for node in outcome.best:
            found[node] = found.get(node, 0.0) + 1 / len(outcome.best) / len(starts)
    return found


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_nodes_that_could_win_and_how_probably(scheduler: SchedulerProcess, subject: str, seed: int) -> None:
    chance = Random(f"{subject}-{seed}")
    cluster, share = a_large_cluster(chance, subject), (0, 5, 70)[seed % 3]
    assert restow_odds(cluster, share) == pytest.approx(real_odds(scheduler, cluster, share))


def test_a_share_of_a_profile_goes_before_that_of_all(scheduler: SchedulerProcess) -> None:
    cluster = a_large_cluster(Random(7), "spread")
    starts = range(sum(each["kind"] == "Node" for each in cluster))
    config = CONFIG.format(share=100) + "profiles: [{percentageOfNodesToScore: 5}]\n"
    answer = scheduler.ask(cluster, pod="default/p", starts=starts, config=config)
    assert restow_odds(cluster, 5).keys() == {node for outcome in answer.pods for node in outcome.best}
