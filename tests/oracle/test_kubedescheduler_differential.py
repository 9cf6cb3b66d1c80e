"""The policy of a KubeDescheduler, against the code of OpenShift's descheduler operator: random resources, one policy.

Both policies are read by restow, so that only what they mean is compared. What differs on purpose is taken out of the
answer first, each with its row of ``docs/reference/operator-differences.md``. The module of the version that restow follows
is not to be had; this one is four months older: it knows no plugin KubevirtMigrationAware, and no evictionLimits of
LowNodeUtilization.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from builders import Object
from builders.kubedeschedulers import INSTALLED, an_object
from builders.policies import PLUGINS
from oracle.cases import SEEDS
from oracle.oracle_process import ROOT, OracleProcess
from restow.operator.facts import QUERIES, Facts, PrometheusRoute
from restow.operator.policy import PolicyResult, policy_of
from restow.operator.resource import NAMESPACE, Level, PackingLevel, ProfileName, resource_of
from restow.operator.rules import CONFLICTS, KUBEVIRT_PROFILES
from restow.policies.load import load_policy
from restow.policies.policy import Policy

pytestmark = pytest.mark.oracle

_DEVIATIONS = ("Low", "Medium", "High", "AsymmetricLow", "AsymmetricMedium", "AsymmetricHigh")
#: ``hypershift-*`` is protected here and not there; so there is none.
_NAMESPACES = ("default", "hypershift", "kube-system", "openshift-a", "openshift-b", "shop", NAMESPACE)
CHUNK = 100
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]


@pytest.fixture(scope="module")
def upstream() -> Iterator[OracleProcess]:
    """OpenShift's operator; without it nothing here is true, so its absence is an error and never a skip."""
    binary = Path(os.environ.get("RESTOW_ORACLE_KUBEDESCHEDULER") or ROOT / "build" / "oracle" / "kubedescheduler")
    if not binary.exists():
        raise FileNotFoundError(f"{binary} is not built: run `make oracle`")
    with OracleProcess(binary) as process:
        yield process


def some(chance: random.Random, fields: dict[str, Any]) -> Object:
    """Some of these fields; each is a value, or values of which one is taken."""
    chosen = ((name, chance.choice(value)) for name, value in fields.items() if chance.random() < 0.4)
    return dict(chosen)


def profiles(chance: random.Random) -> list[str]:
    """Profiles that the API server takes together."""
    chosen: list[str] = []
    for each in chance.sample(get_args(ProfileName), chance.randint(0, 4)):
        if not any({each, other} == set(pair) for other in chosen for pair in CONFLICTS):
            chosen.append(each)
    return chosen


def a_resource(chance: random.Random) -> Object:
    thresholds = chance.choice(
        [
            {},
            {"devLowNodeUtilizationThresholds": chance.choice(get_args(Level))},
            {"devDeviationThresholds": chance.choice(_DEVIATIONS)},
        ]
    )
    priority = chance.choice(
        [{}, {}, {"thresholdPriority": 0}, {"thresholdPriority": 1000}, {"thresholdPriorityClassName": "high"}]
    )
    namespaces = chance.choice(
        [
            {},
            {"included": ["shop"]},
            {"included": ["shop", "openshift-a"]},
            {"excluded": ["shop", "default"]},
            {"excluded": ["shop"], "included": ["default"]},
        ]
    )
    custom = some(
        chance,
        {
            "podLifetime": ["5m", "1.5s", "48h"],
            "devHighNodeUtilizationThresholds": [*get_args(PackingLevel), ""],
            "devActualUtilizationProfile": [*QUERIES, "query:up", ""],
            "devEnableEvictionsInBackground": [True],
            "namespaces": [namespaces],
        },
    )
    spec = some(
        chance, {"evictionLimits": [{"total": 10}, {"node": 3}, {"total": 0, "node": 2}], "mode": ["Automatic"]}
    )
    return an_object(*profiles(chance), custom={**custom, **thresholds, **priority}, **spec)


def as_restow_means_it(policy: Object, resource: Object) -> Object:
    """Upstream's policy without what differs on purpose, and with what it has learnt since."""
    included = resource["spec"]["profileCustomizations"].get("namespaces", {}).get("included")
    for profile in policy.get("profiles", ()):
        for config in profile["pluginConfig"]:
            if config["name"] == "HighNodeUtilization" and included:
                # "CompactAndScale with included namespaces": protected ones are excluded.
                closed = ["kube-system", "hypershift", "openshift", *_protected()]
                config["args"]["evictableNamespaces"] = {"exclude": closed}
            if config["name"] == "LowNodeUtilization" and "maxNoOfPodsToEvictPerNode" in policy:
                # As in 5.4, which says it in both places.
                config["args"]["evictionLimits"] = {"node": policy["maxNoOfPodsToEvictPerNode"]}
    return policy


def _protected() -> list[str]:
    return [each for each in _NAMESPACES if each.startswith("openshift-")]


def read(policy: Object) -> Policy:
    return load_policy(json.dumps(policy).encode(), "policy.yaml", PLUGINS).policy


def restows(resource: Object, scheduler: str) -> PolicyResult:
    facts = Facts(
        namespaces=_NAMESPACES,
        is_openshift=True,
        scheduler_profile=scheduler,
        prometheus_route=PrometheusRoute(("prometheus.example.com",)),
        is_monitored=True,
        has_kubevirt_nodes=True,
        priority_classes={"high": 5},
    )
    return policy_of(resource_of(resource).spec, facts, INSTALLED)


def unlike(seed: int, upstream: OracleProcess, compared: Counter[str]) -> str:
    """What both make of a resource, if that is not the same."""
    chance = random.Random(f"kubedescheduler-{seed}")
    resource, scheduler = a_resource(chance), chance.choice(["", "LowNodeUtilization", "HighNodeUtilization"])
    asked = {"resource": resource, "namespaces": _NAMESPACES, "scheduler": scheduler}
    answer = json.loads(upstream.exchange(asked, 60))
    ours = restows(resource, scheduler)
    told = f"seed {seed}: {json.dumps(resource['spec'])}, scheduler {scheduler!r}"
    if answer.get("error"):
        compared["refused"] += 1
        sentences = [each.message for each in ours.problems]
        return "" if answer["error"] in sentences else f"{told}\nupstream: {answer['error']}\nrestow: {sentences}"
    if ours.problems:
        return f"{told}\nonly restow: {[each.message for each in ours.problems]}"
    compared["KubeVirt" if KUBEVIRT_PROFILES.intersection(resource["spec"]["profiles"]) else "others"] += 1
    theirs = read(as_restow_means_it(yaml.safe_load(answer["policy"]), resource))
    same = theirs == read(yaml.safe_load(ours.text))
    return "" if same else f"{told}\nupstream:\n{answer['policy']}\nrestow:\n{ours.text}"


@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_a_resource_means_the_same_policy_or_is_refused_in_the_same_words(
    upstream: OracleProcess, seeds: range
) -> None:
    compared: Counter[str] = Counter()
    wrong = [text for seed in seeds if (text := unlike(seed, upstream, compared))]
    assert not wrong, f"{len(wrong)} of {len(seeds)}\n" + "\n\n".join(wrong[:5])
    if len(seeds) == CHUNK:
        # A comparison of refusals alone would show little.
        assert {"refused", "KubeVirt", "others"} <= compared.keys()
