"""The settings of a scheduler. Durations are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from restow.scheduling.configuration.profile_plugins import arguments_of
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.configuration.registry import plugin
from restow.scheduling.plugins.volume_binding import NAME, VolumeBindingArgs
from restow.scheduling.queueing.scheduling_queue import QueueSettings

#: The kinds that placements depend on; the others are not watched.
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
