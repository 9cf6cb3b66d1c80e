"""Policies of two or three profiles, every option of the evictor, both placements: a plan is made, and it is sound.

A profile decides on a cluster that the profiles before it have changed, with pods that were not there when it was read.
Proven plans are made twice: with spare rows at the end of the columns, and without any, where whatever was computed once
for all pods is too short for the next one. ``RESTOW_PROFILE_SEEDS=0:3500`` makes that many policies and three times as
many plans.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass, replace
from itertools import count

import pytest

from builders import NOW, Object, a_node, a_pdb
from descheduling.harness import a_cluster
from oracle.cases import EVERY
from oracle.chance import Chance
from oracle.moving_cases import HOLDING
from oracle.random_clusters import a_random_cluster
from oracle.random_moves import enriched
from oracle.random_old_policies import an_old_policy
from oracle.random_policies import LIMITS, STRATEGIES, every_evictor_argument, several_profiles
from oracle.random_rules import NAMESPACES
from proving.plan_limits import beyond_limits
from proving.proven import read_policy
from restow.cluster import pods as pod_rows
from restow.cluster.pods import PodRow, Pods
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.plan import PlanDocument
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.kube.objects import Toleration
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement
from restow.proving.planning import make_plan
from restow.proving.search import prove_cycle
from restow.workloads.replacements import Replacements

SEEDS = range(*map(int, os.environ.get("RESTOW_PROFILE_SEEDS", "0:60").split(":")))
CHUNK = 20
_like_the_pod = Replacements.changes
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]
#: Rows that come at once.
_STEP = pod_rows.SPARE_ROWS
#: Everything that a policy may set of the evictor.
OPTIONS = frozenset(
    (
        "evictDaemonSetPods",
        "evictFailedBarePods",
        "evictLocalStoragePods",
        "evictSystemCriticalPods",
        "ignorePodsWithoutPDB",
        "ignorePvcPods",
        "labelSelector",
        "minPodAge",
        "minReplicas",
        "namespaceLabelSelector",
        "noEvictionPolicy",
        "nodeFit",
        "nodeSelector",
        "podProtections",
        "priorityThreshold",
    )
)


@dataclass(slots=True, frozen=True)
class ProfileCase:
    """A cluster and a policy with profiles that come one after the other."""

    cluster: list[Object]
    policy: Object


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}:{seeds.stop}")
def test_a_plan_of_several_profiles_is_sound(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: dict[int, list[PlanDocument | str]] = {seed: [] for seed in seeds}
    for rows in (1, _STEP):
        monkeypatch.setattr(pod_rows, "SPARE_ROWS", rows)
        for seed, made in plans.items():
            made.append(sound_plan(seed, Placement.PROVE))
    wrong = [f"case {seed}: {made[0]}\n{made[1]}" for seed, made in plans.items() if made[0] != made[1]]
    wrong += [each for made in plans.values() for each in made if isinstance(each, str)]
    wrong += [each for seed in seeds if isinstance(each := sound_plan(seed, Placement.UPSTREAM), str)]
    assert not any(wrong), "\n".join(wrong)


@pytest.mark.parametrize("step", [1, _STEP])
def test_plans_are_sound_where_replacements_are_like_no_other_pod(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is kept by labels, requests, tolerations or rules takes in those that come with a pod."""
    made = count()

    def unlike(self: Replacements, pod: int) -> PodRow:
        return _like_the_pod(self, pod) | _unheard_of(self._pods, pod, next(made))

    monkeypatch.setattr(pod_rows, "SPARE_ROWS", step)
    monkeypatch.setattr(Replacements, "changes", unlike)
    found = [sound_plan(seed, Placement.PROVE) for seed in SEEDS[:CHUNK]]
    assert not [each for each in found if isinstance(each, str) and each]
    assert next(made) > 5


def test_the_cases_use_every_option_and_move_pods_in_several_profiles() -> None:
    cases = [a_profile_case(seed) for seed in range(60)]
    used = {name for case in cases for args in evictors(case.policy) for name in args}
    assert used == OPTIONS
    assert {case.policy["apiVersion"] for case in cases} == {"descheduler/v1alpha1", "descheduler/v1alpha2"}
    cycles = [cycle for case in cases if (cycle := decided(case, Placement.PROVE)) is not None]
    moving = [len({each.ref.profile for each in cycle.record.evictions}) for cycle in cycles]
    assert sum(profiles > 1 for profiles in moving) >= 5
    assert sum(profiles > 0 for profiles in moving) >= len(cases) / 3


def a_profile_case(seed: int) -> ProfileCase:
    """The same case for the same seed."""
    chance = Chance(f"profiles-{seed}")
    chance.choose_traits(chance.some(EVERY, least=2, most=8))
    chance.traits = chance.traits - {"malformed"} - (HOLDING if chance.maybe(0.7) else set()) | {"budgets"}
    cluster = enriched(chance, a_random_cluster(chance))
    if chance.maybe(0.6):
        cluster += [a_node(name, cpu="64", memory="256Gi", labels={"pool": "a"}) for name in ("spare-1", "spare-2")]
    if chance.maybe(0.5):
        budgets = [each for each in cluster if each["kind"] == "PodDisruptionBudget"]
        cluster = [each for each in cluster if each not in budgets]
        cluster += [a_pdb("all", namespace=namespace, selector={}, disruptions_allowed=9) for namespace in NAMESPACES]
    if chance.maybe(0.1):
        return ProfileCase(cluster, an_old_policy(chance))
    policy = several_profiles(chance, chance.randint(2, 3), STRATEGIES, every_evictor_argument)
    if chance.maybe(0.6):
        policy = {key: value for key, value in policy.items() if key not in LIMITS}
    if chance.maybe(0.7):
        policy["restow"] = {"certainty": "possible"}
    return ProfileCase(cluster, policy)


def evictors(policy: Object) -> list[Object]:
    """The arguments of the evictor of each profile that has some."""
    configs = [each for profile in policy.get("profiles", ()) for each in profile["pluginConfig"]]
    return [each["args"] for each in configs if each["name"] == "DefaultEvictor"]


def sound_plan(seed: int, placement: Placement) -> PlanDocument | str:
    """The plan of one case, or what is wrong about it; empty where the policy cannot be used with the cluster."""
    case = a_profile_case(seed)
    try:
        cycle = decided(case, placement)
        if cycle is None:
            return ""
        cycle.state.validate()
        plan = make_plan(cycle, parse_time(NOW), placement)
    except Exception:  # noqa: BLE001  whatever it is, the case must be named
        return f"case {seed}, {placement}: {traceback.format_exc()}"
    exceeded = beyond_limits(cycle, read_policy(case.policy))
    return f"case {seed}, {placement}: {exceeded}" if exceeded else plan


def decided(case: ProfileCase, placement: Placement) -> Cycle | None:
    """What is decided; None where the policy cannot be used with this cluster."""
    try:
        policy = read_policy(case.policy)
        make = prove_cycle if placement is Placement.PROVE else run_cycle
        return make(a_cluster(*case.cluster), policy, strategies(), parse_time(NOW))
    except InputError:
        return None


def _unheard_of(pods: Pods, pod: int, number: int) -> PodRow:
    """Values that no pod has, in columns of a pod that comes in another's place."""
    tables = pods.tables
    labels = {**tables.labels[pods.labels[pod]], "app": f"new-{number}", "new": str(number % 3)}
    resources, rules = tables.resources[pods.resources[pod]], tables.rules[pods.rules[pod]]
    more = {"cpu": resources.requests.get("cpu", 0) + 1, f"example.com/new-{number}": 0}
    tolerations = (*tables.tolerations[pods.tolerations[pod]], Toleration(key=f"new-{number}", operator="Exists"))
    return {
        "labels": pods.intern("labels", labels),
        "resources": pods.intern("resources", replace(resources, requests={**resources.requests, **more})),
        "tolerations": pods.intern("tolerations", tolerations),
        "rules": pods.intern("rules", replace(rules, has_node_selector=not rules.has_node_selector)),
        "images": pods.intern("images", (*tables.images[pods.images[pod]], f"new-{number}")),
        "priority": int(pods.priority[pod]) + 1,
    }
