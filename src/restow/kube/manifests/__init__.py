"""Whole objects: everything that controllers read and write, for a simulated API server and its controllers.

``kube.objects`` has of each kind what decisions read, because a dump may hold 150,000 pods. Here an object can be made
from a template, changed and written again, so it carries all of its spec: what no rule reads stays as JSON. Every kind
is a frozen ``msgspec.Struct`` whose class has the kind's name; defaults are those of the API server. JSON inside of an
object is never changed in place.
"""

from __future__ import annotations

from restow.kube.manifests.cluster_objects import Namespace, Node, Other, PodDisruptionBudget, PriorityClass
from restow.kube.manifests.deployments import Deployment
from restow.kube.manifests.jobs import CronJob, Job
from restow.kube.manifests.metadata import Json, Metadata, PodTemplate
from restow.kube.manifests.pods import Pod
from restow.kube.manifests.workloads import (
    ControllerRevision,
    DaemonSet,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: Any object.
Manifest = (
    ControllerRevision
    | CronJob
    | DaemonSet
    | Deployment
    | Job
    | Namespace
    | Node
    | Other
    | Pod
    | PodDisruptionBudget
    | PriorityClass
    | ReplicaSet
    | ReplicationController
    | StatefulSet
)

__all__ = [
    "ControllerRevision",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Json",
    "Manifest",
    "Metadata",
    "Namespace",
    "Node",
    "Other",
    "Pod",
    "PodDisruptionBudget",
    "PodTemplate",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
]
