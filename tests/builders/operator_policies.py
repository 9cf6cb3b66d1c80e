"""Policies of KubeDeschedulers as plain data, and what upstream's tables say of them again and again.

policy("LongLifecycle", custom={"podLifetime": "5m"})
"""

from __future__ import annotations

from typing import Any

import yaml

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, PROTECTED, a_kubedescheduler
from restow.operator.facts import Facts
from restow.operator.policy import policy_of

EXCLUDED = {"exclude": PROTECTED}
INCLUDED = {"include": ["includedNamespace"]}
EVICTOR = {"ignorePvcPods": True}
SCORE = "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"
KUBEVIRT = ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate")
ONLY_INCLUDED = {"namespaces": {"included": ["includedNamespace"]}}


def outcome(*profiles: str, facts: Facts = OPENSHIFT, **settings: Any) -> Any:
    """What becomes of a resource with these profiles."""
    return policy_of(a_kubedescheduler(*profiles, **settings).spec, facts, INSTALLED)


def policy(*profiles: str, **settings: Any) -> Any:
    """The policy of a resource that has one."""
    done = outcome(*profiles, **settings)
    assert done.problems == ()
    return yaml.safe_load(done.text)


def args(document: Any, plugin: str, profile: int = 0) -> Any:
    """The arguments of a plugin of a profile."""
    (found,) = (each["args"] for each in document["profiles"][profile]["pluginConfig"] if each["name"] == plugin)
    return found


def enabled(document: Any, profile: int = 0) -> Any:
    """The enabled plugins of a profile by point."""
    return {point: of["enabled"] for point, of in document["profiles"][profile]["plugins"].items()}


def names(document: Any) -> list[str]:
    """The names of the profiles."""
    return [each["name"] for each in document["profiles"]]


def basic(percentage: int) -> dict[str, int]:
    """One percentage of each basic resource."""
    return {"cpu": percentage, "memory": percentage, "pods": percentage}
