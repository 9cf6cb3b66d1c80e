"""descheduler/v1alpha2 as it is written. Struct names are the Go types' names: decode errors quote them.

Source: descheduler v0.36, pkg/api/v1alpha2.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from restow.documents.shapes import Uint
from restow.kube.objects import Int64
from restow.policies.decode import decode
from restow.policies.policy import MetricsProvider


class PluginSet(Struct, frozen=True):
    """The plugins of one extension point. ``disabled`` is read and never used: nothing is enabled by default."""

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class Plugins(Struct, frozen=True):
    """The extension points. ``presort`` and ``sort`` are read and never used."""

    presort: PluginSet = PluginSet()
    sort: PluginSet = PluginSet()
    deschedule: PluginSet = PluginSet()
    balance: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    # Upstream honours only the spelling without capitals; its documentation has the other, which it drops silently,
    # so nothing that stands there is an error.
    preevictionfilter: PluginSet = PluginSet()
    pre_eviction_filter: Any = field(default=None, name="preEvictionFilter")


def dropped_filters(plugins: Plugins) -> PluginSet:
    """Return the plugins under the spelling that upstream ignores; an empty set if the value is malformed."""
    return decode(plugins.pre_eviction_filter, PluginSet, ()).value or PluginSet()


class PluginConfig(Struct, frozen=True):
    """The arguments of one plugin, decoded by the plugin's schema."""

    name: str = ""
    args: Any = None


class DeschedulerProfile(Struct, frozen=True, rename="camel"):
    """A profile: plugins with their arguments."""

    name: str = ""
    plugin_config: tuple[PluginConfig, ...] = ()
    plugins: Plugins = Plugins()


class MetricsCollector(Struct, frozen=True):
    """Deprecated: the same as a KubernetesMetrics provider."""

    enabled: bool = False


class DeschedulerPolicy(Struct, frozen=True, rename="camel"):
    """A policy file of descheduler/v1alpha2."""

    api_version: str = ""
    kind: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] = ()
    grace_period_seconds: Int64 | None = None
    #: restow's own section, decoded strictly on its own.
    restow: Any = None
