"""What is remembered of pods until something moves."""

from __future__ import annotations

import numpy as np

from builders import a_node, a_pod
from descheduling.harness import a_cluster
from restow.descheduling.landings import PlacementPrediction
from restow.descheduling.refusal_memory import RefusalMemory
from restow.scheduling.landing_odds import LandingOdds


def test_a_prospect_is_the_same_when_it_is_recalled() -> None:
    nodes = [a_node(f"n{number:02}") for number in range(19)]
    cluster = a_cluster(*nodes, a_pod("p", node="n00"), a_pod("q", node="n00"))
    memory = RefusalMemory(cluster.pods)
    kept = PlacementPrediction(
        LandingOdds.equal(np.array([0, 7, 8, 18])), np.array([18]), afterwards=True, elsewhere="; nowhere else"
    )
    memory.keep(0, 0, kept)
    for pod in (0, 1):
        found = memory.recall(pod, 0)
        assert found is kept
    assert memory.recall(0, 1) is None
    memory.forget()
    assert memory.recall(0, 0) is None
