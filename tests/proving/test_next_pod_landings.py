"""No certain move whose replacement lands elsewhere, or nowhere: plans against simulations of the same objects.

Random clusters with pods that were resized, made of older revisions, changed by admission or by a VerticalPodAutoscaler.
A plan says which moves are certain; the simulated controllers, which make pods of their templates, create the replacements.
``RESTOW_NEXT_POD_SEEDS=0:10000`` tries other clusters, or more.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from descheduling.harness import a_policy
from proving.changed_pods import a_changed_cluster
from proving.proven import prove
from proving.simulated_pods import Simulated
from restow.policies.codes import Certainty

CHUNK = 40
SEEDS = range(*map(int, os.environ.get("RESTOW_NEXT_POD_SEEDS", "0:160").split(":")))
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]
POLICY = a_policy(
    "PodLifeTime",
    {"maxPodLifeTimeSeconds": 600},
    evictor={"evictDaemonSetPods": True, "evictLocalStoragePods": True},
    maxNoOfPodsToEvictTotal=3,
    restow={"certainty": "likely"},
)


def wrong_with(seed: int, seen: Counter[str]) -> str:
    """What is wrong with the plan for a cluster; empty if nothing is."""
    objects = a_changed_cluster(seed)
    cycle = prove(objects, POLICY)
    pods, names = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    simulated = Simulated(objects, seed)
    known = set(simulated.pods())
    simulated.run(1)
    for each in cycle.record.evictions:
        name, landing = pods.full_name(each.pod), each.landing
        seen[str(landing.certainty)] += 1
        if landing.certainty is not Certainty.CERTAIN:
            return ""
        if set(simulated.pods()) - known:
            seen["disturbed"] += 1
            return ""
        pod = simulated.store.get("Pod", *name.split("/"))
        landed = simulated.landing_of(pod)
        candidates = [names[node] for node in landing.candidates]
        if len(set(simulated.pods()) - known) != 1:
            # Somebody else has moved pods meanwhile.
            seen["disturbed"] += 1
            return ""
        if len(landed) != 1 or landed[0] not in candidates:
            return f"seed {seed}: {name} is certain to land on one of {candidates}, and landed on {landed}"
        seen["compared"] += 1
        if landed[0] != names[landing.target]:
            return ""
        known = set(simulated.pods())
    return ""


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda chunk: f"{chunk.start}:{chunk.stop}")
def test_certain_replacements_land_where_the_plan_says(seeds: range) -> None:
    seen: Counter[str] = Counter()
    wrong = [wrong_with(seed, seen) for seed in seeds]
    assert not any(wrong), "\n".join(filter(None, wrong))
    if len(seeds) == CHUNK:
        assert seen["compared"] >= CHUNK / 4, seen
        assert seen[str(Certainty.LIKELY)], seen
        assert seen["disturbed"] <= seen["compared"] / 4, seen
