"""Builders of policy files: plain dicts, and their bytes.

strategy_policy("PodLifeTime", maxPodLifeTimeSeconds=60)
a_policy(a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates"]), maxNoOfPodsToEvictTotal=5)
"""

from __future__ import annotations

import json
from typing import Any

from restow.descheduling.registry import plugins
from restow.documents.yaml_text import write_yaml

Policy = dict[str, Any]

#: The plugins that policies in tests may name: all of them.
PLUGINS = plugins()


def a_config(name: str, args: Any = None) -> Policy:
    """One pluginConfig entry."""
    return {"name": name} if args is None else {"name": name, "args": args}


def a_profile(*configs: Policy, name: str = "P", **points: list[str]) -> Policy:
    """A profile with these pluginConfig entries; ``balance=["X"]`` enables X."""
    enabled = {point: {"enabled": names} for point, names in points.items()}
    return {"name": name, "pluginConfig": list(configs), "plugins": enabled}


def a_policy(*profiles: Policy, **settings: Any) -> Policy:
    """A descheduler/v1alpha2 document."""
    header = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    return header | settings | {"profiles": list(profiles)}


def strategy_policy(plugin: str, args: Any = None, **settings: Any) -> Policy:
    """A policy whose only profile, P, runs one plugin with these arguments."""
    points = {point: [plugin] for point in PLUGINS[plugin].extension_points if point in {"deschedule", "balance"}}
    return a_policy(a_profile(a_config(plugin, args), **points), **settings)


def an_old_policy(strategies: Policy, **settings: Any) -> Policy:
    """A descheduler/v1alpha1 document with these strategies."""
    header = {"apiVersion": "descheduler/v1alpha1", "kind": "DeschedulerPolicy"}
    return header | settings | {"strategies": strategies}


def as_yaml(policy: Policy) -> bytes:
    """The policy as a YAML file."""
    return write_yaml(policy).encode()


def as_json(policy: Policy) -> bytes:
    """The policy as a JSON file."""
    return json.dumps(policy, indent=1).encode()
