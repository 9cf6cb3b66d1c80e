"""The rules of a pod about its node and its neighbours; decoded once for each distinct text."""

from __future__ import annotations

from msgspec import Struct, field

from restow.kube.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm
from restow.kube.objects.wire import Int32, Int64


class PreferredSchedulingTerm(Struct, frozen=True, gc=False):
    """A weighted node preference."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Struct, frozen=True, gc=False):
    """``affinity.nodeAffinity``."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """One term of pod affinity or anti-affinity."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """A preferred term of pod affinity or anti-affinity."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, frozen=True, gc=False):
    """``affinity.podAffinity`` and ``affinity.podAntiAffinity``."""

    required: tuple[PodAffinityTerm, ...] | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.affinity``."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct, frozen=True, gc=False, rename="camel"):
    """One toleration of a pod."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class SchedulingGate(Struct, frozen=True, gc=False):
    """One reason not to schedule a pod yet."""

    name: str = ""


class TopologySpreadConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """One spread constraint of a pod."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None
