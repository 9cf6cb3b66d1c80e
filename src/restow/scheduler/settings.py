"""The settings of a scheduler, and what it takes from a KubeSchedulerConfiguration, ignores and refuses.

A plan may leave out what restow does not model; a scheduler may not, since no other program checks its decisions. So a
configuration that enables such a plugin is refused at the start, and pods that need one, such as those with resource
claims, get an event that says so. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import structs

from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.scheduling.configuration.load import API_VERSION, KIND, SchedulerConfiguration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile, arguments_of
from restow.scheduling.configuration.registry import find, plugin
from restow.scheduling.configuration.wire import KubeSchedulerConfiguration, KubeSchedulerProfile
from restow.scheduling.plugins.volume_binding import NAME, VolumeBindingArgs
from restow.scheduling.queueing.scheduling_queue import QueueSettings

#: kube-scheduler's default.
_PARALLELISM: Final = 16
_JSON: Final = ("", "application/json")
#: The kinds that placements by any profile depend on; others are watched only for plugins that read them.
KINDS: Final = (
    "Node",
    "Pod",
    "Namespace",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "PodDisruptionBudget",
    "PodGroup",
    "Service",
    "ReplicaSet",
    "StatefulSet",
    "ReplicationController",
)


@dataclass(slots=True, frozen=True, kw_only=True)
class SchedulerSettings:
    """Settings of scheduling itself, without those of the connection and the server."""

    profiles: Sequence[SchedulerProfile] = (DEFAULT_PROFILE,)
    queue: QueueSettings = field(default_factory=QueueSettings)
    #: How many attempts may wait for the API server at a time.
    in_flight: int = 64
    #: The seed for choosing among equally good nodes; None: another one each time.
    seed: int | None = None


def volume_patience(profile: SchedulerProfile) -> float:
    """Seconds that a pod of a profile waits for its volumes: ``bindTimeoutSeconds`` of VolumeBinding."""
    args: VolumeBindingArgs = arguments_of(profile, plugin(NAME))
    return float(args.bind_timeout_seconds)


def kinds_read(profiles: Iterable[SchedulerProfile]) -> tuple[str, ...]:
    """Return the kinds that placements by these profiles depend on."""
    names = dict.fromkeys(name for profile in profiles for point in profile.plugins.values() for name in point)
    return (*KINDS, *dict.fromkeys(kind for name in names for kind in plugin(name).kinds))


def named_profiles(configuration: SchedulerConfiguration, name: str) -> tuple[SchedulerProfile, ...]:
    """Return the profiles; one that is written without a name has this one."""
    written = configuration.written.profiles or (KubeSchedulerProfile(),)
    pairs = zip(configuration.profiles, written, strict=True)
    return tuple(
        structs.replace(profile, name=name) if each.scheduler_name is None else profile for profile, each in pairs
    )


def unsupported(configuration: SchedulerConfiguration, profiles: tuple[SchedulerProfile, ...]) -> Iterator[str]:
    """Yield what profiles enable that restow does not support and must not leave out."""
    for profile, written in zip(profiles, configuration.written.profiles, strict=False):
        for name in dict.fromkeys(_asked_for(written)):
            known = find(name)
            if known is not None and known.not_modelled:
                yield (
                    f"profile {profile.name} asks for {name}, which restow scheduler does not have; "
                    "remove it from plugins and pluginConfig, or leave these pods to kube-scheduler"
                )


def _asked_for(profile: KubeSchedulerProfile) -> Iterator[str]:
    for point in msgspec.structs.astuple(profile.plugins):
        yield from (each.name for each in point.enabled)
    yield from (each.name for each in profile.plugin_config)


def cautions(configuration: SchedulerConfiguration, profiles: tuple[SchedulerProfile, ...]) -> Iterator[str]:
    """Yield warnings: settings without effect, and what else the user should know."""
    written = configuration.written
    if written.parallelism != _PARALLELISM:
        yield f"parallelism {written.parallelism} has no effect: each decision looks at all nodes at once"
    if written.delay_cache_until_active:
        yield "delayCacheUntilActive has no effect: every replica follows the cluster"
    if written.client_connection.content_type not in _JSON:
        yield f"clientConnection.contentType {written.client_connection.content_type} has no effect: requests are JSON"
    if any(profile.name == DEFAULT_SCHEDULER for profile in profiles):
        yield (
            f"the profile {DEFAULT_SCHEDULER} serves all pods that name no scheduler, as the cluster's own scheduler does; "
            "run only one of them"
        )


def as_understood(
    written: KubeSchedulerConfiguration, profiles: tuple[SchedulerProfile, ...], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the configuration as plain data, with every default filled in; ``settings`` are what flags decided."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **settings,
        "podInitialBackoffSeconds": written.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": written.pod_max_backoff_seconds,
        "profiles": [_profile(each) for each in profiles],
    }


def _profile(profile: SchedulerProfile) -> dict[str, Any]:
    plugins = {
        point: {"enabled": [_plugin(profile, point, name) for name in names]}
        for point, names in profile.plugins.items()
        if names
    }
    return {
        "schedulerName": profile.name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": plugins,
        "pluginConfig": [
            {"name": name, "args": msgspec.to_builtins(args)} for name, args in sorted(profile.arguments.items())
        ],
    }


def _plugin(profile: SchedulerProfile, point: str, name: str) -> dict[str, Any]:
    weight = {"weight": profile.weights[name]} if point == "score" else {}
    return {"name": name, **weight}
