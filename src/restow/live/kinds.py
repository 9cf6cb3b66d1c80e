"""Which kinds are read from a live cluster, and the messages about those that cannot be listed."""

from __future__ import annotations

from restow.client.errors import ApiError, Forbidden, missing_right
from restow.client.resources import RESOURCES
from restow.kube.kinds import KINDS

#: Usage, which metrics.k8s.io serves without watches.
METRICS = ("NodeMetrics", "PodMetrics")
#: What is read from files only. In a live cluster, two running pods of one virtual machine show its migration; few
#: clusters serve NodeResourceTopologies.
STORED = ("UsageSeries", "VirtualMachineInstanceMigration", "NodeResourceTopology")
#: Kinds that no rule reads; the owner above a Job is named by its own owner reference.
_UNREAD = ("CronJob",)
#: Kinds that a CustomResourceDefinition adds: an API server that does not serve one has no objects of it.
CUSTOM = ("VerticalPodAutoscaler",)
#: The kinds that decisions depend on.
READ = tuple(kind for kind in KINDS if kind not in (*_UNREAD, *METRICS, *STORED))
#: Without these there is no cluster.
REQUIRED = ("Node", "Pod")
#: Without these it is unknown which pods may be evicted at all: each namespace may have opted out.
PERMITTING = (*REQUIRED, "Namespace")
#: Kinds that keep pods from being evicted. Budgets and Jobs do so where moves are proven.
PROTECTING = (*PERMITTING, "PodDisruptionBudget", "Job")

_VERBS = ("list", "watch")


def refusal_sentence(kind: str, refused: ApiError) -> str:
    """Why a kind cannot be listed and what adds it, in one sentence."""
    resource = RESOURCES[kind]
    if isinstance(refused, Forbidden):
        return missing_right(refused, resource, _VERBS)
    served_as = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return f"the API server has no {served_as}: {refused.message}"
