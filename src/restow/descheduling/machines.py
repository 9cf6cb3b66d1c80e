"""Virtual machines of KubeVirt: which pods run one, and which of these are to be migrated instead of evicted.

KubeVirt runs each virtual machine in a pod of its own, the launcher, and can move the running machine into a second one.
The same settings and annotations decide as for surges (``proving.surges``). A machine has one launcher, so it is down while
that moves, and ``auto`` always means a migration. Of annotations only that of the namespace is heard: restow does not read
the objects of virtual machines when it plans. Source: KubeVirt 1.7.
"""

from __future__ import annotations

from typing import Final

from restow.cluster.owners import owner_of
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.vetoes import is_launcher
from restow.policies.codes import ReplacementSetting
from restow.policies.policy import RestowSettings

KIND: Final = "VirtualMachineInstance"
_HARD: Final = "DoNotSchedule"
#: What owners may ask for.
_ASKED: Final = tuple(each for each in ReplacementSetting if each is not ReplacementSetting.ANNOTATED)
#: What means a migration.
_MIGRATED: Final = (ReplacementSetting.SURGE, ReplacementSetting.AUTO)


def _is_machine(cluster: ClusterSnapshot, pod: int) -> bool:
    """Whether a pod is the launcher of a virtual machine."""
    owner = owner_of(cluster.pods, pod)
    return owner is not None and owner.kind == KIND and is_launcher(cluster.pods, pod)


def wants_migration(cluster: ClusterSnapshot, settings: RestowSettings, pod: int) -> bool:
    """Whether a pod is a launcher that is to be migrated if it has a place beside the old one.

    As for surges, a hard rule of topology spread means an eviction: the old launcher counts for as long as it runs.
    """
    if not settings.may_replace_first or not _is_machine(cluster, pod):
        return False
    pods = cluster.pods
    namespace = pods.tables.namespaces[pods.namespace[pod]]
    setting = settings.replacement_of(namespace, KIND)
    wanted = setting if setting is ReplacementSetting.EVICT else _asked(cluster, namespace) or setting
    is_spread = any(each.when_unsatisfiable == _HARD for each in pods.tables.spread[pods.spread[pod]])
    return wanted in _MIGRATED and not is_spread


def _asked(cluster: ClusterSnapshot, namespace: str) -> ReplacementSetting | None:
    """What the owner of a namespace asks for; None if nothing."""
    found = cluster.kind("Namespace").get(("", namespace))
    annotations = None if found is None else found.metadata.annotations
    said = None if annotations is None else annotations.replacement
    return ReplacementSetting(said) if said in _ASKED else None
