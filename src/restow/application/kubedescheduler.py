"""From a KubeDescheduler that is named on the command line to its policy in a cluster, or to all that an operator makes for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from restow.application.clusters import ClusterSource, check_inputs, read_cluster
from restow.application.feedback import Feedback
from restow.application.files import file_bytes, file_name
from restow.application.policies import PolicyFile
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.registry import plugins
from restow.documents.yaml_text import write_yaml
from restow.errors import InputError
from restow.operator.desired import Desired, desired
from restow.operator.facts import Facts, Installation, facts_of
from restow.operator.resource import NAMESPACE, KubeDescheduler, read_resource
from restow.policies.load import load_document, read_policy_document
from restow.usage.sources import usage_schemas

#: OpenShift's own, as pods reach it; a plan does not ask it.
_PROMETHEUS: Final = "https://prometheus-k8s.openshift-monitoring.svc:9091"


@dataclass(slots=True, frozen=True)
class RenderRequest:
    """What was asked for, as it was written."""

    resource: str
    #: Dumps; empty is no cluster at all.
    cluster: tuple[str, ...]
    #: Of the descheduler, and of the soft tainter; empty is the same.
    images: tuple[str, str]
    prometheus_url: str
    is_openshift: bool


def read_kubedescheduler(path: str) -> KubeDescheduler:
    """The resource of a file; InputError where it is none."""
    return read_resource(file_bytes(path), file_name(path))


def policy_in(cluster: ClusterSnapshot, resource: KubeDescheduler, path: str, feedback: Feedback) -> PolicyFile:
    """The policy that an operator would write for a resource in a cluster; its notices become warnings."""
    done = outcome(resource, path, facts_of(cluster), feedback, images=("", ""), prometheus_url=_PROMETHEUS)
    if done.action != "apply":
        raise InputError(f"{file_name(path)}: {nothing_runs(resource)}, so there is nothing to plan")
    if resource.spec.mode == "Predictive":
        told = "spec.mode is Predictive: these moves are logged and not made; Automatic makes them"
        feedback.warn([f"{file_name(path)}: {told}"])
    # Lines of a text that was never written to a file help no one: its warnings are among the notices.
    document = read_policy_document(done.policy.encode(), file_name(path))
    return PolicyFile(
        file_name(path), bundled=False, document=document, loaded=load_document(document, plugins(), usage_schemas())
    )


def outcome(
    resource: KubeDescheduler,
    path: str,
    facts: Facts,
    feedback: Feedback,
    *,
    images: tuple[str, str],
    prometheus_url: str,
) -> Desired:
    """What should be there for a resource, whose notices become warnings; InputError with every reason why nothing can be."""
    namespace = resource.metadata.namespace or NAMESPACE
    image, soft_tainter_image = images
    done = desired(resource, facts, Installation(image, namespace, prometheus_url, soft_tainter_image))
    if done.problems:
        raise InputError(*(f"{file_name(path)}: {each.message}" for each in done.problems))
    feedback.warn(f"{file_name(path)}: {each.message}" for each in done.notices)
    return done


def nothing_runs(resource: KubeDescheduler) -> str:
    """Why an operator has no objects for a resource, as the beginning of a sentence."""
    what = "removes the descheduler" if resource.spec.management_state == "Removed" else "touches nothing"
    return f"with spec.managementState {resource.spec.management_state} the operator {what}"


def objects_of(asked: RenderRequest, feedback: Feedback) -> list[str]:
    """The objects as YAML documents; InputError with every reason why there are none."""
    check_inputs(ClusterSource(asked.cluster), asked.resource)
    resource = read_kubedescheduler(asked.resource)
    done = outcome(
        resource,
        asked.resource,
        _facts(asked, feedback),
        feedback,
        images=asked.images,
        prometheus_url=asked.prometheus_url,
    )
    if done.action != "apply":
        feedback.warn([f"{file_name(asked.resource)}: {nothing_runs(resource)}"])
    return list(map(write_yaml, done.objects))


def _facts(asked: RenderRequest, feedback: Feedback) -> Facts:
    """What is known of the cluster; without one, a warning says that the policy protects less than an operator's."""
    known = Facts()
    if asked.cluster:
        found = read_cluster(ClusterSource(asked.cluster), feedback)
        feedback.warn(found.notes)
        known = facts_of(found.cluster)
    else:
        feedback.warn(
            [
                "without --cluster the policy does not exclude namespaces such as openshift-monitoring; the operator's does"
            ]
        )
    return replace(known, is_openshift=asked.is_openshift, has_service_monitors=asked.is_openshift)
