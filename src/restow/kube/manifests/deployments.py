"""Deployment: how a new template replaces an old one, and how far that is."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.manifests.metadata import Metadata, PodTemplate
from restow.kube.objects import Int32, Int64, LabelSelector


class RollingUpdate(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``rollingUpdate`` of a Deployment: counts or percentages."""

    max_surge: Int32 | str = "25%"
    max_unavailable: Int32 | str = "25%"


class DeploymentStrategy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``strategy`` of a Deployment."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a Deployment."""

    replicas: Int32 = 1
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 = 10
    paused: bool = False
    progress_deadline_seconds: Int32 = 600


class DeploymentCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A condition of a Deployment."""

    type: str = ""
    status: str = ""
    reason: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None


class DeploymentStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a Deployment."""

    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: tuple[DeploymentCondition, ...] | None = None


class Deployment(Struct, frozen=True, omit_defaults=True):
    """An apps/v1 Deployment."""

    metadata: Metadata = Metadata()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()
