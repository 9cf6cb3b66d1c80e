"""From the arguments of ``restow operator render`` to its output."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from restow.cli.inputs import ClusterSource, check_inputs, read_cluster
from restow.cli.kubedescheduler import nothing_runs, outcome, read_kubedescheduler
from restow.cli.named_files import file_name
from restow.cli.streams import warn
from restow.documents.writing import write_yaml
from restow.operator.facts import Facts, facts_of


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


def render_objects(asked: RenderRequest) -> None:
    """Write the objects as YAML; InputError with every reason why there are none."""
    check_inputs(ClusterSource(asked.cluster), asked.resource)
    resource = read_kubedescheduler(asked.resource)
    done = outcome(resource, asked.resource, _facts(asked), images=asked.images, prometheus_url=asked.prometheus_url)
    if done.action != "apply":
        warn([f"{file_name(asked.resource)}: {nothing_runs(resource)}"])
    sys.stdout.write("---\n".join(map(write_yaml, done.objects)))


def _facts(asked: RenderRequest) -> Facts:
    """What is known of the cluster; where it is none, that the policy protects less than an operator's is told."""
    known = Facts()
    if asked.cluster:
        found = read_cluster(ClusterSource(asked.cluster))
        warn(found.notes)
        known = facts_of(found.cluster)
    else:
        warn(
            [
                "without --cluster the policy does not exclude namespaces such as openshift-monitoring; the operator's does"
            ]
        )
    return replace(known, is_openshift=asked.is_openshift, has_service_monitors=asked.is_openshift)
