"""The cases of the scheduler's comparison: a cluster for each subject and seed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from builders import Object, a_list
from oracle.chance import Chance
from oracle.oracle_process import ROOT
from oracle.random_contests import Contest
from oracle.random_devices import a_device_cluster
from oracle.random_scheduling import Subject, a_scheduling_cluster
from oracle.random_scheduling_images import IMAGES
from oracle.random_scheduling_node_affinity import NODE_AFFINITY
from oracle.random_scheduling_pod_affinity import POD_AFFINITY
from oracle.random_scheduling_ports import PORTS
from oracle.random_scheduling_queue import QUEUE
from oracle.random_scheduling_resources import BALANCE, RESOURCES
from oracle.random_scheduling_spread import DEFAULT_SPREAD, SPREAD
from oracle.random_scheduling_taints import CORDONS, TAINTS
from oracle.random_storage import a_storage_cluster

SUBJECTS = {
    "NodeUnschedulable": CORDONS,
    "TaintToleration": TAINTS,
    "NodeAffinity": NODE_AFFINITY,
    "NodePorts": PORTS,
    "NodeResourcesFit": RESOURCES,
    "NodeResourcesBalancedAllocation": BALANCE,
    "ImageLocality": IMAGES,
    "PodTopologySpread": SPREAD,
    "default-spread": DEFAULT_SPREAD,
    "InterPodAffinity": POD_AFFINITY,
    "queue": QUEUE,
}
#: Several subjects at once, pods that contend for room, pods with volumes, and pods that claim devices.
MIXED, PREEMPTION, VOLUMES, DEVICES = "mixed", "preemption", "volumes", "devices"
NAMES = (*SUBJECTS, MIXED, PREEMPTION, VOLUMES, DEVICES)
#: ``RESTOW_ORACLE_SEEDS=5000:6000`` compares other cases, or more.
SEEDS = range(*map(int, os.environ.get("RESTOW_ORACLE_SEEDS", "0:400").split(":")))
#: Where cases are written down that are disagreed on.
FOLDER = ROOT / "build" / "oracle" / "cases"


def a_scheduling_case(subject: str, seed: int) -> list[Object]:
    """The same cluster for the same subject and seed."""
    if subject == PREEMPTION:
        return Contest(seed).cluster()
    chance = Chance(f"schedule-{subject}-{seed}")
    if subject in (VOLUMES, DEVICES):
        return a_storage_cluster(chance) if subject == VOLUMES else a_device_cluster(chance)
    return a_scheduling_cluster(chance, _subjects(chance, subject))


def _subjects(chance: Chance, subject: str) -> list[Subject]:
    if subject == MIXED:
        return [SUBJECTS[name] for name in chance.some(list(SUBJECTS), least=2, most=4)]
    return [SUBJECTS[subject]]


def write_scheduling_case(subject: str, seed: int, cluster: list[Object]) -> Path:
    """Write a case as a file that ``restow schedule`` and the oracle read; returns its path."""
    folder = FOLDER / f"schedule-{subject}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cluster.json"
    path.write_text(json.dumps(a_list(*cluster), indent=1))
    return path
