"""What the minor versions of kube-scheduler do differently, in one table.

A change holds from one minor on, with the feature gates that are on by default there. A plugin asks ``holds`` where it
goes one way or another; nothing else asks for a version. The scheduler is taken to be of the API server's version. A new
minor is one number more in ``FOLLOWED``, and a row for each change that the comparison with it shows.

Source: pkg/scheduler of Kubernetes 1.33.13, 1.34.4, 1.35.4, 1.36.1 and 1.37.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from restow.kube.excerpts import excerpt

if TYPE_CHECKING:
    from restow.cluster.snapshot import ClusterSnapshot

#: The minors whose rules are known.
FOLLOWED: Final = range(33, 38)
#: The one whose rules hold where the version is not known.
ASSUMED: Final = 36
#: With or without the patch.
_VERSION: Final = re.compile(r"v?1\.([0-9]{1,3})(?:\.[0-9A-Za-z.+-]+)?")


class Change(NamedTuple):
    """One thing that kube-scheduler does differently since a minor."""

    since: int
    plugin: str
    #: What holds since then, and what did before: a sentence for people.
    what: str


CLAIMS_ENABLED: Final = Change(
    34,
    "DynamicResources",
    'The plugin is enabled: of a pod that fits nowhere and claims no devices it says "no new claims to deallocate".',
)
NAMESPACE_SELECTOR_KEPT: Final = Change(
    34,
    "InterPodAffinity",
    "A namespaceSelector of the incoming pod that only excludes (NotIn, DoesNotExist) means every namespace.",
)
TOO_SMALL_NODES: Final = Change(
    34,
    "NodeResourcesFit",
    "Preemption does not try nodes that could not serve the request if they were empty; before, it did in vain.",
)
SHORT_TAINT_REASON: Final = Change(
    34, "TaintToleration", "The reason for a rejected node no longer names the taint that the pod does not tolerate."
)
CLAIM_IN_USE_REASON: Final = Change(
    34, "VolumeRestrictions", "The reason for a ReadWriteOncePod claim that is in use is worded differently."
)
INVALID_POOLS_PASSED: Final = Change(
    35,
    "DynamicResources",
    "A pool of devices that contradicts itself is passed over; before, it ended the search, or did not, by chance.",
)
ALTERNATIVES_SCORED: Final = Change(
    35, "DynamicResources", "Nodes that have the earlier of alternative devices (firstAvailable) score higher."
)
WORKLOADS: Final = Change(
    35,
    "GangScheduling",
    "Pods with a workloadRef wait for one another on their nodes (feature gates GenericWorkload and GangScheduling); "
    "before, the field did not count.",
)
DEVICES_IN_ORDER: Final = Change(
    36,
    "DynamicResources",
    "Pools and slices are tried by name; before, in an order of chance. Taints, counters, shares and per-device nodes of "
    "devices count by default.",
)
EXTENDED_BY_CLASSES: Final = Change(
    36,
    "DynamicResources",
    "Of an extended resource that a node does not have, devices are claimed if a DeviceClass serves it.",
)
VOLUME_IMAGES: Final = Change(
    36, "ImageLocality", "Images that are mounted as volumes count for a node that has them; before, they did not."
)
GROUPS: Final = Change(
    36,
    "GangScheduling",
    "Pods with a schedulingGroup are decided about together (feature gates GenericWorkload and GangScheduling); before, "
    "those with a workloadRef waited for one another on their nodes.",
)
IMPROVED_BALANCE: Final = Change(
    36,
    "NodeResourcesBalancedAllocation",
    "The score is how much the pod improves the balance of a node, 75 where it changes nothing; before, it was the balance "
    "of the node with the pod.",
)
PREEMPTION_TOLD: Final = Change(
    37, "DefaultPreemption", "The message of a pod that may preempt others names the node, and how many pods go."
)
VICTIMS_TOGETHER: Final = Change(
    37,
    "DefaultPreemption",
    "Pods of a PodGroup have its priority as victims, and with disruptionMode all they go together, those on other nodes "
    "too; before, each pod went for itself.",
)
GROUPS_PREEMPT: Final = Change(
    37,
    "GangScheduling",
    "A group preempts as a whole, and its cycle ends as soon as minCount is out of reach; before, each of its pods "
    "preempted for itself.",
)
NO_CLAIMS_UNTOLD: Final = Change(
    37, "DynamicResources", "Of a pod that fits nowhere and claims no devices it says nothing any more."
)
DEVICES_GIVEN_BACK: Final = Change(
    37,
    "DynamicResources",
    "A device that is tried and rejected leaves nothing behind in counters and constraints; counters go by driver and "
    "pool, and distinctAttribute remembers each device.",
)
ALL_BY_WHOLE_CAPACITY: Final = Change(
    37,
    "DynamicResources",
    "A request for all devices needs each one whose whole capacity would do; before, those with enough left.",
)
COUNTERS_BY_NODE: Final = Change(
    37, "DynamicResources", "A slice with counters brings its pool to the nodes that it selects; before, to all nodes."
)
DEVICE_TAINT_RULES: Final = Change(37, "DynamicResources", "DeviceTaintRules count: they give devices further taints.")
SCORED_BY_CLAIM: Final = Change(
    37,
    "DynamicResources",
    "A pod of whose claims some have devices already gets a score; before, its cycle broke off with an error.",
)
VOLUME_IMAGES_DIVIDE: Final = Change(
    37,
    "ImageLocality",
    "Images that are mounted as volumes count in the number of images by which the score is divided, too.",
)
NAMESPACE_SELECTOR_DROPPED: Final = Change(
    37,
    "InterPodAffinity",
    "A namespaceSelector of the incoming pod means the namespaces that it selects again, as up to 1.33.",
)
MISSING_DRIVERS: Final = Change(
    37,
    "NodeVolumeLimits",
    "A node that does not have the CSI driver of a volume is rejected if the CSIDriver asks for that "
    "(preventPodSchedulingIfMissing; feature gate VolumeLimitScaling).",
)
GATED_NOMINATIONS: Final = Change(
    37,
    "SchedulingGates",
    "A node is kept for a pod that is nominated for it also while the pod has scheduling gates.",
)
GROUPS_IN_DOMAINS: Final = Change(
    37,
    "TopologyPlacementGenerator",
    "A group that has to share a domain is tried in one after the other, and gets nodes in the best (feature gate "
    "TopologyAwareWorkloadScheduling); before, where it goes is unknown.",
)
STORAGE_SCORES: Final = Change(
    37,
    "VolumeBinding",
    "Nodes are scored by how much of their storage the pod's volumes would take: the less, the better (feature gate "
    "StorageCapacityScoring).",
)

#: By minor, then by plugin.
CHANGES: Final = (
    CLAIMS_ENABLED,
    NAMESPACE_SELECTOR_KEPT,
    TOO_SMALL_NODES,
    SHORT_TAINT_REASON,
    CLAIM_IN_USE_REASON,
    INVALID_POOLS_PASSED,
    ALTERNATIVES_SCORED,
    WORKLOADS,
    DEVICES_IN_ORDER,
    EXTENDED_BY_CLASSES,
    GROUPS,
    VOLUME_IMAGES,
    IMPROVED_BALANCE,
    PREEMPTION_TOLD,
    VICTIMS_TOGETHER,
    NO_CLAIMS_UNTOLD,
    DEVICES_GIVEN_BACK,
    ALL_BY_WHOLE_CAPACITY,
    COUNTERS_BY_NODE,
    DEVICE_TAINT_RULES,
    SCORED_BY_CLAIM,
    GROUPS_PREEMPT,
    VOLUME_IMAGES_DIVIDE,
    NAMESPACE_SELECTOR_DROPPED,
    MISSING_DRIVERS,
    GATED_NOMINATIONS,
    GROUPS_IN_DOMAINS,
    STORAGE_SCORES,
)


def minor_of(version: str | float) -> int:
    """The minor of a version (1.35, v1.35.4), which YAML may take for a number; ValueError where it is not followed."""
    found = _VERSION.fullmatch(str(version))
    if found is None or int(found[1]) not in FOLLOWED:
        known = f"restow knows kube-scheduler 1.{FOLLOWED[0]} to 1.{FOLLOWED[-1]}"
        raise ValueError(f"{excerpt(version)} is none of them: {known}")
    return int(found[1])


def assumed_beside(kubelets: Iterable[str]) -> str:
    """That a version is assumed, where kubelets show that it may be another one: a sentence for people, or nothing.

    A kubelet is never newer than its API server.
    """
    minors = [int(found[1]) for each in kubelets if (found := _VERSION.fullmatch(each))]
    newest = max(minors, default=ASSUMED)
    if newest == ASSUMED or newest not in FOLLOWED:
        return ""
    return (
        f"the input does not say of which version the scheduler is: 1.{ASSUMED} is assumed; its newest kubelet is of "
        f"1.{newest}, so --scheduler-version 1.{newest} may be right"
    )


def holds(change: Change, cluster: ClusterSnapshot) -> bool:
    """Whether the scheduler of a cluster does it; that of a minor that is not known, as the nearest one that is."""
    minor = cluster.server_minor
    return (ASSUMED if minor is None else minor) >= change.since


def minds_workloads(cluster: ClusterSnapshot) -> bool:
    """Whether a ``workloadRef`` counts, as it does in 1.35 alone."""
    return holds(WORKLOADS, cluster) and not holds(GROUPS, cluster)


def not_followed(minor: int | None) -> str:
    """Why scores of a server's scheduler may differ from those that restow computes, a clause for people.

    Empty where the minor is followed, or not known (None).
    """
    if minor is None or minor in FOLLOWED:
        return ""
    first, last = FOLLOWED[0], FOLLOWED[-1]
    nearest = min(max(minor, first), last)
    return f"the API server is Kubernetes 1.{minor}, and restow knows the scheduler of 1.{first} to 1.{last}: it goes by 1.{nearest}"
