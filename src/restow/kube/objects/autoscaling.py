"""VerticalPodAutoscaler: what it recommends for the containers of a workload, and when that is applied."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta, WireQuantity


class TargetRef(Struct, frozen=True, gc=False):
    """``spec.targetRef``: the topmost controller of the pods, in the namespace of the VerticalPodAutoscaler."""

    kind: str = ""
    name: str = ""


class VerticalUpdatePolicy(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.updatePolicy``."""

    update_mode: str | None = None


class ContainerPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """One of ``spec.resourcePolicy.containerPolicies``; ``*`` is for all containers that have none of their own."""

    container_name: str = ""
    min_allowed: dict[str, WireQuantity] | None = None
    max_allowed: dict[str, WireQuantity] | None = None
    controlled_values: str | None = None


class VerticalResourcePolicy(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.resourcePolicy``."""

    container_policies: tuple[ContainerPolicy, ...] | None = None


class VerticalSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a VerticalPodAutoscaler."""

    target_ref: TargetRef | None = None
    update_policy: VerticalUpdatePolicy | None = None
    resource_policy: VerticalResourcePolicy | None = None


class ContainerRecommendation(Struct, frozen=True, gc=False, rename="camel"):
    """What is recommended for one container."""

    container_name: str = ""
    target: dict[str, WireQuantity] | None = None


class Recommendation(Struct, frozen=True, gc=False, rename="camel"):
    """``status.recommendation``."""

    container_recommendations: tuple[ContainerRecommendation, ...] | None = None


class VerticalStatus(Struct, frozen=True, gc=False):
    """Status of a VerticalPodAutoscaler."""

    recommendation: Recommendation | None = None


class VerticalPodAutoscaler(Struct, frozen=True, gc=False):
    """An autoscaling.k8s.io/v1 VerticalPodAutoscaler."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VerticalSpec = VerticalSpec()
    status: VerticalStatus = VerticalStatus()
