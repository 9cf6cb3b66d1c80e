"""Failures of Jobs: what the loss of a pod counts for, and how many a Job allows.

A pod that is deleted before it has ended counts as failed. One failure more than ``backoffLimit`` ends the Job. A
``podFailurePolicy`` may have other rules for pods with the condition DisruptionTarget, which every evicted pod gets: that
they do not count, or that they end the Job at once. The first rule that matches applies, so a rule about the exit code of
a container that is told to stop may come before. Source: Kubernetes 1.36, the Job controller's isPodFailed and
matchPodFailurePolicy.
"""

from __future__ import annotations

from typing import Final

from restow.kube.objects import Job, PodFailureRule

#: What the API server puts for an absent limit, unless there is one for each index.
_DEFAULT_LIMIT = 6
#: Actions of failure policies: the loss is a failure like any other, or none.
COUNT: Final = "Count"
IGNORE: Final = "Ignore"
#: How a container ends that SIGTERM or SIGKILL ends.
_KILLED = (143, 137)


def failures_so_far(job: Job) -> int:
    """How many pods of a Job have failed, also those that are in no count yet."""
    uncounted = job.status.uncounted_terminated_pods
    return job.status.failed + len((uncounted and uncounted.failed) or ())


def most_failures(job: Job) -> int | None:
    """With how many failures a Job still goes on; None if only those of each index count."""
    if job.spec.backoff_limit is None and job.spec.backoff_limit_per_index is not None:
        return None
    return _DEFAULT_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit


def action_on_eviction(job: Job) -> str:
    """What a Job does about an evicted pod; the worst of its rules that could apply, if that is not certain."""
    policy = job.spec.pod_failure_policy
    for rule in (policy and policy.rules) or ():
        if _is_about_disruption(rule) or (_is_about_killed(rule) and rule.action != IGNORE):
            return rule.action
    return COUNT


def _is_about_disruption(rule: PodFailureRule) -> bool:
    return any(each.type == "DisruptionTarget" and each.status == "True" for each in rule.on_pod_conditions or ())


def _is_about_killed(rule: PodFailureRule) -> bool:
    codes = rule.on_exit_codes
    if codes is None:
        return False
    among = [each in (codes.values or ()) for each in _KILLED]
    return any(among) if codes.operator == "In" else not all(among)
