"""Clusters of all kinds of objects: bases that plan well, and inputs where some objects are hostile."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

from builders import NOW, Object
from fuzz.cases import Case, Facts
from fuzz.furnished import furnished_objects
from fuzz.mutations import Draw, copied, mutated
from fuzz.writing import dump, words
from oracle.chance import Chance
from oracle.random_clusters import a_random_cluster
from oracle.random_moves import enriched
from oracle.random_scheduling import a_scheduling_cluster
from oracle.random_storage import a_storage_cluster

#: Bases are made once each; what is drawn beyond them is in the changes.
_BASES = 300
_NOW = f"--now {NOW}"
_COMMANDS = (
    f"plan -f dump -o json {_NOW}",
    f"plan -f dump -o json {_NOW} --placement upstream",
    f"plan -f dump -o wide {_NOW}",
    f"plan -f dump -o html {_NOW}",
    f"plan -f dump -o yaml {_NOW} -v 1",
    f"plan -f dump {_NOW} --policy-config-file policy.yaml",
    f"schedule -f dump -o json {_NOW} --scores-for all",
    f"schedule -f dump {_NOW}",
    f"schedule -f dump {_NOW} --pod default/hungry",
    f"explain pod default/hungry -f dump {_NOW}",
    f"explain pod default/hungry -f dump {_NOW} -o json",
    f"explain node n1 -f dump {_NOW}",
    "snapshot -f dump",
    "snapshot -f dump -o out.json.gz",
)
#: One strategy of every kind, so that every field of an object has a reader.
POLICY = b"""apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: all
  pluginConfig:
  - {name: DefaultEvictor, args: {minReplicas: 2, minPodAge: 1m, podProtections: {extraEnabled: [PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims]}}}
  - {name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 1, includingInitContainers: true}}
  - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60, states: [Running, Pending, CrashLoopBackOff]}}
  - {name: RemoveFailedPods}
  - {name: RemovePodsViolatingNodeTaints, args: {includePreferNoSchedule: true}}
  - {name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]}}
  - {name: RemovePodsViolatingInterPodAntiAffinity}
  - {name: RemoveDuplicates}
  - {name: RemovePodsViolatingTopologySpreadConstraint, args: {constraints: [DoNotSchedule, ScheduleAnyway]}}
  - {name: LowNodeUtilization, args: {thresholds: {cpu: 20, memory: 20, pods: 20}, targetThresholds: {cpu: 50, memory: 50, pods: 50}, metricsUtilization: {source: KubernetesMetrics}}}
  plugins:
    deschedule: {enabled: [RemovePodsHavingTooManyRestarts, PodLifeTime, RemoveFailedPods, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, RemovePodsViolatingInterPodAntiAffinity]}
    balance: {enabled: [RemoveDuplicates, RemovePodsViolatingTopologySpreadConstraint, LowNodeUtilization]}
"""


@lru_cache(maxsize=_BASES)
def base(seed: int) -> tuple[Object, ...]:
    """The objects of one cluster that plans well; callers change copies."""
    chance = Chance(seed)
    maker = chance.choice([_furnished, _enriched, a_storage_cluster, lambda chance: a_scheduling_cluster(chance, [])])
    try:
        return tuple(maker(chance))
    except ValueError:
        # Subjects of the scheduler's clusters do not make sense for every seed.
        return tuple(_furnished(chance))


def bases() -> st.SearchStrategy[tuple[Object, ...]]:
    """Clusters that plan well."""
    return st.integers(0, _BASES - 1).map(base)


def _furnished(_chance: Chance) -> list[Object]:
    return furnished_objects()


def _enriched(chance: Chance) -> list[Object]:
    chance.choose_traits(())
    return enriched(chance, a_random_cluster(chance))


@st.composite
def hostile_clusters(draw: Draw) -> Case:
    """A cluster in which one to three objects are hostile, in any form."""
    items = [copied(each) for each in draw(bases())]
    chosen = draw(st.lists(st.integers(0, len(items) - 1), min_size=1, max_size=3, unique=True))
    suspects = tuple(key_of(items[at]) for at in chosen)
    for at in chosen:
        items[at] = draw(mutated(items[at]))
    commands = tuple(words(*draw(st.lists(st.sampled_from(_COMMANDS), min_size=1, max_size=2))))
    return Case(
        kind="cluster",
        commands=commands,
        files={**draw(dump(items)), "policy.yaml": POLICY},
        facts=Facts(suspects=suspects),
    )


def key_of(item: Object) -> str:
    """What messages call an object: NAMESPACE/NAME, or NAME."""
    about = item["metadata"]
    return f"{about['namespace']}/{about['name']}" if about.get("namespace") else str(about["name"])
