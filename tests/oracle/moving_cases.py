"""The cases of proven plans: clusters whose pods can be moved, and a policy for each subject and seed.

They are made of what the comparison with the Descheduler is made of, and of what the scheduler looks at. Most have few
of the oddities that hold pods back: those are compared there.
"""

from __future__ import annotations

import json
from random import Random

from builders import Object
from builders.metadata import Owner, owner_reference
from oracle.cases import EVERY, MIXED, WANTED
from oracle.chance import Chance
from oracle.comparison import Case
from oracle.random_clusters import a_random_cluster
from oracle.random_moves import enriched
from oracle.random_policies import STRATEGIES, a_mixed_policy, a_random_policy
from proving.proven import TOLD
from scheduling.large_clusters import SUBJECTS as LARGE_SUBJECTS
from scheduling.large_clusters import a_large_cluster

#: Whose plans are proven.
MOVING_SUBJECTS = (*STRATEGIES, MIXED)
#: Strategies that do not mind where a pod lands: they have it started anew.
TIMELESS = frozenset(("PodLifeTime", "RemoveFailedPods", "RemovePodsHavingTooManyRestarts"))
#: Oddities because of which pods stay.
HOLDING = {
    "annotations",
    "bare",
    "critical",
    "local-storage",
    "mirror",
    "missing-nodes",
    "no-allocatable",
    "resource-claims",
    "terminating",
    "uncontrolled",
    "unready",
}
_LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")


def a_moving_case(subject: str, seed: int) -> Case:
    """The same case for the same subject and seed."""
    chance = Chance(f"move-{subject}-{seed}")
    wanted = WANTED[subject] if subject in WANTED else set(chance.some(EVERY, least=2, most=6))
    chance.choose_traits(wanted)
    chance.traits -= {"malformed"}
    if chance.maybe(0.7):
        chance.traits -= HOLDING - wanted
    cluster = enriched(chance, a_random_cluster(chance))
    if chance.maybe(0.1):
        # Nobody knows whether there are services then, which leaves scores in the dark.
        cluster = [each for each in cluster if each["kind"] != "Service"]
    return Case(cluster, json.dumps(_policy(chance, subject)))


def a_large_moving_case(subject: str, seed: int) -> Case:
    """A case of more than 100 nodes, of which the scheduler looks at a window."""
    chance = Chance(f"move-large-{subject}-{seed}")
    chance.choose_traits(())
    chance.traits -= {"malformed"}
    *cluster, _waiting = a_large_cluster(Random(f"{subject}-{seed}"), chance.choice(LARGE_SUBJECTS))
    for pod in cluster:
        if pod["kind"] == "Pod":
            owner = Owner("ReplicaSet", f"w{chance.randint(0, 5)}")
            pod["metadata"]["ownerReferences"] = [owner_reference(owner, "default")]
            pod["metadata"]["creationTimestamp"] = "2025-06-01T00:00:00Z"
    return Case([*cluster, *TOLD], json.dumps(_policy(chance, subject)))


def _policy(chance: Chance, subject: str) -> Object:
    policy = a_mixed_policy(chance) if subject == MIXED else a_random_policy(chance, subject)
    if chance.maybe(0.8):
        for profile in policy["profiles"]:
            profile["pluginConfig"] = [each for each in profile["pluginConfig"] if each["name"] != "DefaultEvictor"]
    if chance.maybe(0.7):
        policy = {key: value for key, value in policy.items() if key not in (*_LIMITS, "nodeSelector")}
    if chance.maybe(0.25):
        policy["restow"] = {"certainty": "possible"}
    return policy
