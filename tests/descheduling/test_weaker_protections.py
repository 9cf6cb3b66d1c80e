"""What a policy protects less than the default."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders.policies import strategy_policy
from proving.proven import read_policy
from restow.descheduling.policy_remarks import weaker_protections
from restow.policies.policy import VetoSettings


def weaker(evictor: Any = None, **settings: Any) -> list[str]:
    document = strategy_policy("RemoveDuplicates", **settings)
    document["profiles"][0]["pluginConfig"].append({"name": "DefaultEvictor", "args": evictor or {}})
    return list(weaker_protections(read_policy(document)))


def test_the_default_is_not_weaker_than_itself() -> None:
    assert weaker() == []


@pytest.mark.parametrize("name", ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"])
def test_a_protection_that_is_off_is_named_with_its_profile(name: str) -> None:
    (sentence,) = weaker({"podProtections": {"defaultDisabled": [name]}})
    assert sentence.startswith("profile P evicts ")
    assert sentence.endswith(f"(the protection {name} is off)")


def test_the_old_switches_count() -> None:
    assert len(weaker({"evictLocalStoragePods": True, "evictSystemCriticalPods": True})) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"gracePeriodSeconds": 0}, "gracePeriodSeconds: 0"),
        ({"restow": {"placement": "upstream"}}, "restow.placement: upstream"),
        ({"restow": {"certainty": "possible"}}, "restow.certainty: possible"),
        ({"restow": {"certainty": 0.5}}, "restow.certainty: 0.5"),
        ({"restow": {"groups": "alone"}}, "restow.groups: alone"),
        ({"restow": {"perWorkload": "50%"}}, "restow.perWorkload: 50%"),
        ({"restow": {"vetoes": {"karpenter": False}}}, "restow.vetoes.karpenter: false"),
        ({"restow": {"vetoes": {"leavingNodes": False}}}, "restow.vetoes.leavingNodes: false"),
    ],
    ids=str,
)
def test_other_settings_that_protect_less_are_named(settings: Any, said: str) -> None:
    (sentence,) = weaker(**settings)
    assert sentence.startswith(said)


def test_every_veto_that_can_be_switched_off_is_named() -> None:
    switches = [name for name, value in msgspec.to_builtins(VetoSettings()).items() if value is True]
    assert len(weaker(restow={"vetoes": dict.fromkeys(switches, False)})) == len(switches)


@pytest.mark.parametrize(
    "settings",
    [{"gracePeriodSeconds": 30}, {"restow": {"certainty": "certain"}}, {"restow": {"certainty": 0.9}}],
    ids=str,
)
def test_settings_that_protect_as_much_or_more_are_not(settings: Any) -> None:
    assert weaker({"minReplicas": 3, "podProtections": {"extraEnabled": ["PodsWithPVC"]}}, **settings) == []
