"""The plugins that a policy may name.

To add a strategy: one file in ``descheduling/plugins`` and one line here, or an entry point of the group
``restow.strategies`` in another package (``docs/how-to/write-a-strategy.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from restow.descheduling import evictor_args
from restow.descheduling.framework import Strategy
from restow.descheduling.plugins import (
    high_node_utilization,
    inter_pod_anti_affinity,
    low_node_utilization,
    node_affinity,
    node_taints,
    pod_life_time,
    remove_duplicates,
    remove_failed_pods,
    too_many_restarts,
    topology_spread,
)
from restow.errors import InputError
from restow.policies.schema import PluginSchema

#: Other packages register a ``Strategy`` object under this entry point group.
ENTRY_POINTS = "restow.strategies"

_BUILT_IN = (
    high_node_utilization.STRATEGY,
    inter_pod_anti_affinity.STRATEGY,
    low_node_utilization.STRATEGY,
    node_affinity.STRATEGY,
    node_taints.STRATEGY,
    pod_life_time.STRATEGY,
    remove_duplicates.STRATEGY,
    remove_failed_pods.STRATEGY,
    too_many_restarts.STRATEGY,
    topology_spread.STRATEGY,
)


@cache
def strategies() -> Mapping[str, Strategy]:
    """Every strategy by name; InputError where an installed package offers something else under the entry point."""
    found = [*_BUILT_IN, *(_load(each.name, each.load()) for each in entry_points(group=ENTRY_POINTS))]
    return {strategy.schema.name: strategy for strategy in found}


@cache
def plugins() -> Mapping[str, PluginSchema]:
    """What a policy may name and configure: the strategies and DefaultEvictor."""
    schemas = [evictor_args.SCHEMA, *(strategy.schema for strategy in strategies().values())]
    return {schema.name: schema for schema in schemas}


def _load(name: str, offered: object) -> Strategy:
    if not isinstance(offered, Strategy):
        raise InputError(f"entry point {ENTRY_POINTS}: {name} is no restow.descheduling.framework.Strategy")
    return offered
