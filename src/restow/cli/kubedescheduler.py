"""A KubeDescheduler that a command was given: what an operator would make of it."""

from __future__ import annotations

from typing import Final

from restow.cli.named_files import file_bytes, file_name
from restow.cli.policy_files import PolicyFile
from restow.cli.streams import warn
from restow.cluster.snapshot import Cluster
from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.operator.desired import Desired, desired
from restow.operator.facts import Facts, Installation, facts_of
from restow.operator.reading import read_resource
from restow.operator.resource import NAMESPACE, KubeDescheduler
from restow.policies.enclosed import read_policy_document
from restow.policies.load import load_document

#: OpenShift's own, as pods reach it; a plan asks nobody there.
_PROMETHEUS: Final = "https://prometheus-k8s.openshift-monitoring.svc:9091"


def read_kubedescheduler(path: str) -> KubeDescheduler:
    """The resource of a file; InputError where it is none."""
    return read_resource(file_bytes(path), file_name(path))


def policy_in(cluster: Cluster, resource: KubeDescheduler, path: str) -> PolicyFile:
    """The policy that an operator would write for a resource in a cluster; its notices are told."""
    done = outcome(resource, path, facts_of(cluster), images=("", ""), prometheus_url=_PROMETHEUS)
    if done.action != "apply":
        raise InputError(f"{file_name(path)}: {nothing_runs(resource)}, so there is nothing to plan")
    if resource.spec.mode == "Predictive":
        told = "spec.mode is Predictive: these moves are logged and not made; Automatic makes them"
        warn([f"{file_name(path)}: {told}"])
    # The lines of a text that nobody has seen help nobody: its warnings are among the notices.
    document = read_policy_document(done.policy.encode(), file_name(path))
    return PolicyFile(file_name(path), bundled=False, document=document, loaded=load_document(document, plugins()))


def outcome(
    resource: KubeDescheduler, path: str, facts: Facts, *, images: tuple[str, str], prometheus_url: str
) -> Desired:
    """What should be there for a resource, whose notices are told; InputError with every reason why nothing can be."""
    namespace = resource.metadata.namespace or NAMESPACE
    image, soft_tainter_image = images
    done = desired(resource, facts, Installation(image, namespace, prometheus_url, soft_tainter_image))
    if done.problems:
        raise InputError(*(f"{file_name(path)}: {each.message}" for each in done.problems))
    warn(f"{file_name(path)}: {each.message}" for each in done.notices)
    return done


def nothing_runs(resource: KubeDescheduler) -> str:
    """Why an operator has no objects for a resource, as the beginning of a sentence."""
    what = "removes the descheduler" if resource.spec.management_state == "Removed" else "touches nothing"
    return f"with spec.managementState {resource.spec.management_state} the operator {what}"
