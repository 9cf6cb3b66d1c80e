"""The plugins that a policy may name.

To add a strategy: one file in ``descheduling/plugins`` and one line here, or an entry point of the group
``restow.strategies`` in another package (``docs/how-to/write-a-strategy.md``), which is imported when a policy names the
strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restow.descheduling import evictor_args
from restow.descheduling.framework import Strategy
from restow.descheduling.installed_strategies import ENTRY_POINTS, strategy_of_a_package
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
from restow.installed_packages import Extensible
from restow.policies.schema import PluginSchema

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


_OWN_IS: Final = "a plugin of restow itself"


def strategies() -> Mapping[str, Strategy]:
    """Every strategy by name; looking one up raises UnusablePackageError where its package is at fault."""
    own = {each.schema.name: each for each in _BUILT_IN}
    return Extensible(ENTRY_POINTS, own, _OWN_IS, strategy_of_a_package)


def plugins() -> Mapping[str, PluginSchema]:
    """What a policy may name and configure: the strategies and DefaultEvictor; looked up as ``strategies``."""
    own = [evictor_args.SCHEMA, *(each.schema for each in _BUILT_IN)]
    return Extensible(ENTRY_POINTS, {each.name: each for each in own}, _OWN_IS, _schema_of_a_package)


def _schema_of_a_package(name: str, offered: object) -> PluginSchema:
    return strategy_of_a_package(name, offered).schema
