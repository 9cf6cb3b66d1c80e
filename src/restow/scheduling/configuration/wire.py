"""A KubeSchedulerConfiguration as it is written: kubescheduler.config.k8s.io/v1, with the API's field names.

What only concerns how kube-scheduler runs (clients, leader election, profiling) is here so that a key that does not
exist is noticed. Source: kube-scheduler configuration API v1, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from restow.kube.objects import Int32, Int64


class Plugin(Struct, frozen=True):
    """One entry of a plugin set; without a weight, or with 0, it weighs 1."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Struct, frozen=True):
    """What a configuration changes at one point."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(Struct, frozen=True, rename="camel"):
    """The plugin sets of a profile, by point."""

    multi_point: PluginSet = PluginSet()
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


class PluginConfig(Struct, frozen=True):
    """The arguments of one plugin."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(Struct, frozen=True, rename="camel"):
    """One entry of ``profiles``."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class LeaderElection(Struct, frozen=True, rename="camel"):
    """``leaderElection``; nothing here concerns decisions."""

    leader_elect: bool = True
    lease_duration: str = ""
    renew_deadline: str = ""
    retry_period: str = ""
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(Struct, frozen=True):
    """``clientConnection``; nothing here concerns decisions."""

    kubeconfig: str = ""
    accept_content_types: str = field(default="", name="acceptContentTypes")
    content_type: str = field(default="", name="contentType")
    qps: float = 0
    burst: Int32 = 0


class KubeSchedulerConfiguration(Struct, frozen=True, rename="camel"):
    """A KubeSchedulerConfiguration file."""

    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Any, ...] = ()
    delay_cache_until_active: bool = False
