"""The policy of a plan: that of a file, or what a KubeDescheduler comes to in the cluster that is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from restow.cli.policy_files import PolicyFile, read_policy_file
from restow.cli.streams import warn
from restow.cluster.snapshot import Cluster
from restow.errors import InputError, problem_lines
from restow.policies.fallbacks import Fallbacks
from restow.policies.policy import collects_kubernetes_metrics


@dataclass(slots=True, frozen=True)
class AskedPolicy:
    """A policy that may depend on a cluster which nobody has read yet."""

    #: Whether it asks for what metrics.k8s.io serves.
    collects_usage: bool
    #: The policy in a cluster; InputError where there is none.
    of: Callable[[Cluster], PolicyFile]


def asked_policy(policy: str | None, kubedescheduler: str | None, fallbacks: Fallbacks) -> AskedPolicy:
    """Read the file that was named, or the bundled policy, and tell its warnings; InputError where it is refused."""
    if kubedescheduler is None:
        file = read_policy_file(policy, fallbacks)
        warn(problem_lines(file.loaded.warnings))
        return AskedPolicy(collects_kubernetes_metrics(file.loaded.policy), lambda _: file)
    if policy is not None or fallbacks != Fallbacks():
        raise InputError(f"--kubedescheduler says what the policy is; leave {_other_says(policy)} out")

    from restow.cli.kubedescheduler import policy_in, read_kubedescheduler

    resource = read_kubedescheduler(kubedescheduler)
    # What utilization goes by is what pods request, or Prometheus.
    return AskedPolicy(collects_usage=False, of=lambda cluster: policy_in(cluster, resource, kubedescheduler))


def _other_says(policy: str | None) -> str:
    """What else would say what the policy is."""
    flags = "--node-selector, --max-pods-to-evict-per-node and --evict-local-storage-pods"
    return flags if policy is None else "--policy-config-file"
