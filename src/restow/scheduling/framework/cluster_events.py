"""Cluster events: what happened, in the terms in which plugins register for it.

An event names the kind of object and the change, as precisely as the objects show: not that a node changed, but that
its taints did. Source: ClusterEvent, EventResource and ActionType, Kubernetes 1.36; the labels are those of its
metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import Any, Final


class Resource(StrEnum):
    """A kind of object."""

    POD = "Pod"
    #: A pod that has a node. No plugin registers for it: one that registers for pods gets it and the next one.
    ASSIGNED_POD = "AssignedPod"
    #: A pod that has none.
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    #: Any kind.
    ANY = "*"


class Action(IntFlag):
    """What was done to an object."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    #: Taints changed, or the node was uncordoned.
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_POD_LABEL = 64
    #: A pod requests less than before.
    UPDATE_POD_SCALE_DOWN = 128
    UPDATE_POD_TOLERATION = 256
    #: The last scheduling gate was removed.
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 512
    #: Something changed, and nothing more is known of it or matters.
    UPDATE = 4 | 8 | 16 | 32 | 64 | 128 | 256 | 512
    ALL = 1023

    @property
    def label(self) -> str:
        """As in ``UpdateNodeTaint``."""
        return "".join(word.capitalize() for word in (self.name or "").split("_"))


@dataclass(slots=True, frozen=True)
class ClusterEvent:
    """One thing that happened.

    ``old`` and ``new`` are a ``PodFacts`` or a ``NodeFacts`` where it is about a pod or a node, and the object otherwise;
    ``old`` is None for what came, ``new`` for what is gone.
    """

    resource: Resource
    action: Action
    old: Any = None
    new: Any = None
    #: What metrics and logs call it, where that is not kind and action.
    special: str = ""
    #: It concerns only pods of at most this priority.
    at_most_priority: int | None = None

    @property
    def label(self) -> str:
        """As in ``AssignedPodDelete``."""
        return self.special or f"{self.resource.value}{self.action.label}"


#: Why pods move in the queue when nothing has happened in the cluster; labels of metrics.
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
FORCE_ACTIVATE: Final = "ForceActivate"
UNSCHEDULABLE_TIMEOUT: Final = "UnschedulableTimeout"
