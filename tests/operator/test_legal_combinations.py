"""Whatever the API server accepts comes to a policy that restow itself accepts, or to problems that say why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, PROTECTED, a_kubedescheduler
from builders.policies import PLUGINS
from restow.operator import resource
from restow.operator.desired import desired
from restow.operator.facts import QUERIES, Facts, PrometheusRoute
from restow.operator.policy import policy_of
from restow.operator.rules import CONFLICTS, KUBEVIRT_PROFILES
from restow.policies.load import validate_policy

NAMESPACES = st.lists(st.sampled_from(["shop", "crm", "a-b"]), max_size=2)
CUSTOM: dict[str, st.SearchStrategy[Any]] = {
    "podLifetime": st.sampled_from(["0s", "5m", "1.5s", "8760h"]),
    "namespaces": st.one_of(
        st.fixed_dictionaries({"included": NAMESPACES}), st.fixed_dictionaries({"excluded": NAMESPACES})
    ),
    "devLowNodeUtilizationThresholds": st.sampled_from(["", *get_args(resource.Level)]),
    "devHighNodeUtilizationThresholds": st.sampled_from(["", *get_args(resource.PackingLevel)]),
    "devDeviationThresholds": st.sampled_from(["", *get_args(resource.DeviationLevel)]),
    "devActualUtilizationProfile": st.sampled_from([*QUERIES, 'query:a{b="c"} # d: e']),
    "devEnableEvictionsInBackground": st.booleans(),
    "devMigrationCooldown": st.just("15m"),
    "devMaxMigrationCooldown": st.just("6h"),
    "devMigrationHistoryWindow": st.just("48h"),
}
PRIORITY = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"thresholdPriority": st.integers(-(2**31), 2_000_000_000)}),
    st.fixed_dictionaries({"thresholdPriorityClassName": st.sampled_from(["", "high", "y", "1e3"])}),
)
LIMITS = st.dictionaries(st.sampled_from(["total", "node"]), st.integers(0, 2**31 - 1))


def is_legal(profiles: list[str]) -> bool:
    return not any(one in profiles and other in profiles for one, other in CONFLICTS)


def is_legal_with(profiles: list[str], custom: dict[str, Any]) -> bool:
    both = custom.get("devLowNodeUtilizationThresholds") and custom.get("devDeviationThresholds")
    return not (both and KUBEVIRT_PROFILES.intersection(profiles))


LEGAL_PROFILES = st.lists(st.sampled_from(get_args(resource.ProfileName)), min_size=1, unique=True).filter(is_legal)
RESOURCES = (
    st.tuples(
        LEGAL_PROFILES,
        st.fixed_dictionaries({}, optional=CUSTOM),
        PRIORITY,
        LIMITS,
        st.sampled_from(get_args(resource.Mode)),
        st.sampled_from([0, 1, 3600]),
    )
    .filter(lambda drawn: is_legal_with(drawn[0], drawn[1]))
    .map(
        lambda drawn: a_kubedescheduler(
            *drawn[0],
            custom=drawn[1] | drawn[2],
            evictionLimits=drawn[3],
            mode=drawn[4],
            deschedulingIntervalSeconds=drawn[5],
        )
    )
)


@settings(max_examples=80)
@given(resource=RESOURCES)
def test_every_legal_resource_comes_to_a_valid_policy(resource):
    done = policy_of(resource.spec, OPENSHIFT, INSTALLED)
    assert done.problems == ()
    assert validate_policy(done.text.encode(), "policy.yaml", PLUGINS) == []


@settings(max_examples=80)
@given(resource=RESOURCES)
def test_no_resource_opens_a_protected_namespace(resource):
    """Every strategy either names all protected namespaces as excluded, or the others as included."""
    done = policy_of(resource.spec, OPENSHIFT, INSTALLED)
    for profile in yaml.safe_load(done.text)["profiles"]:
        for config in profile["pluginConfig"]:
            if config["name"] != "DefaultEvictor":
                chosen = config["args"].get("namespaces") or config["args"]["evictableNamespaces"]
                assert set(PROTECTED) <= set(chosen.get("exclude", ())) or set(chosen["include"]).isdisjoint(PROTECTED)
                assert chosen.get("exclude") or chosen["include"]


FACTS = st.builds(
    Facts,
    namespaces=st.lists(st.sampled_from(["shop", "openshift-a", "hypershift-b"])).map(tuple),
    is_openshift=st.booleans(),
    scheduler_profile=st.sampled_from(["", "LowNodeUtilization", "HighNodeUtilization", "NoScoring"]),
    prometheus_route=st.none()
    | st.lists(st.sampled_from(["", "p.example.com"]), max_size=2).map(tuple).map(PrometheusRoute),
    is_monitored=st.none() | st.booleans(),
    has_kubevirt_nodes=st.none() | st.booleans(),
    priority_classes=st.none() | st.just({"high": 5}),
    has_service_monitors=st.booleans(),
)


@settings(max_examples=80)
@given(resource=RESOURCES, facts=FACTS, has_psi=st.none() | st.booleans())
def test_in_any_cluster_there_are_objects_or_problems_and_the_conditions_say_which(resource, facts, has_psi):
    done = desired(resource, facts, replace(INSTALLED, has_pressure_metrics=has_psi))
    degraded = {each.status for each in done.conditions if each.type.endswith("Degraded")}
    assert bool(done.objects) != bool(done.problems)
    assert degraded == ({"True"} if done.problems else {"False"})
    assert all(each.reason.isalnum() for each in done.conditions)
