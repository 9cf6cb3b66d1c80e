"""The cases of the comparison: a cluster and a policy for each subject and seed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from builders import a_list
from oracle.chance import Chance
from oracle.comparison import Case
from oracle.oracle_process import ROOT
from oracle.random_clusters import a_random_cluster
from oracle.random_faults import a_faulty_policy
from oracle.random_old_policies import an_old_policy
from oracle.random_policies import STRATEGIES, a_mixed_policy, a_random_policy, as_text

#: Traits without which a strategy has little to do.
WANTED = {
    "HighNodeUtilization": {"qos"},
    "LowNodeUtilization": {"metrics", "missing-metrics", "qos"},
    "PodLifeTime": {"states", "conditions"},
    "RemoveDuplicates": set(),
    "RemoveFailedPods": {"bare", "failed", "states"},
    "RemovePodsHavingTooManyRestarts": {"restarts"},
    "RemovePodsViolatingInterPodAntiAffinity": {"anti-affinity", "qos", "same-priorities"},
    "RemovePodsViolatingNodeAffinity": {"affinity", "preferred", "pools"},
    "RemovePodsViolatingNodeTaints": {"taints", "tolerations"},
    "RemovePodsViolatingTopologySpreadConstraint": {"spread"},
}
#: Strategies that look beyond the priority of pods; to a spread constraint pods of one priority are all alike.
SORTING = {"HighNodeUtilization", "LowNodeUtilization", "RemovePodsViolatingInterPodAntiAffinity"}
EVERY = sorted({trait for traits in WANTED.values() for trait in traits})
#: Several strategies at once, policies that mostly do not load, and policies of the old format.
MIXED, FAULTY, OLD = "mixed", "faulty", "v1alpha1"
SUBJECTS = (*STRATEGIES, MIXED, FAULTY)
#: ``RESTOW_ORACLE_SEEDS=5000:6000`` compares other cases, or more.
SEEDS = range(*map(int, os.environ.get("RESTOW_ORACLE_SEEDS", "0:300").split(":")))
#: Where cases are written down that are disagreed on.
FOLDER = ROOT / "build" / "oracle" / "cases"


def a_case(subject: str, seed: int) -> Case:
    """The same case for the same subject and seed."""
    chance = Chance(f"{subject}-{seed}")
    chance.choose_traits(WANTED[subject] if subject in WANTED else chance.some(EVERY, least=2, most=6))
    if subject not in SORTING:
        chance.traits -= {"same-priorities"}
    cluster = a_random_cluster(chance)
    if subject == MIXED:
        policy = a_mixed_policy(chance)
    elif subject == FAULTY:
        policy = a_faulty_policy(chance)
    elif subject == OLD:
        policy = an_old_policy(chance)
    else:
        policy = a_random_policy(chance, subject)
    return Case(cluster, as_text(chance, policy))


def write_case(name: str, case: Case) -> Path:
    """Write a case as files that ``restow plan`` and the oracle read; returns their folder."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster.json").write_text(json.dumps(a_list(*case.cluster), indent=1))
    (folder / "policy.yaml").write_text(case.policy)
    return folder
