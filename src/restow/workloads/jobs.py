"""Job: pods until enough of them have succeeded, up to ``parallelism`` at a time.

A Job without ``completions`` waits for its last pods once one of them has succeeded. An indexed Job has one pod for
each index that is neither completed nor given up, the lowest first. ``podReplacementPolicy`` says whether a pod that
terminates is replaced at once or when it has ended. ``backoffLimit``, ``backoffLimitPerIndex`` and ``podFailurePolicy``
limit its failures. New pods after failures come later than now, by a delay that doubles with each failure; that is not
part of the answer. Source: Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Final

from restow.cluster.owners import owner_of
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import Job, PodFailureRule
from restow.workloads.controllers import BURST, Actions, ControlledPod, NewPod, deletion_order

_INDEXED = "Indexed"
_RANGE = re.compile(r"(?P<first>[0-9]{1,10})(-(?P<last>[0-9]{1,10}))?")
#: Conditions of a Job that creates nothing any more.
_FINISHING = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})

#: What the API server puts for an absent limit, unless there is one for each index.
_DEFAULT_LIMIT = 6
#: Actions of failure policies: the loss is a failure like any other, or none.
COUNT: Final = "Count"
IGNORE: Final = "Ignore"
#: How a container ends that SIGTERM or SIGKILL ends.
_KILLED = (143, 137)


def job(wire: Job, pods: Sequence[ControlledPod], now: int) -> Actions:
    """What the controller does now."""
    active = [pod for pod in pods if pod.is_active]
    if _is_finishing(wire) or wire.spec.suspend:
        return Actions(delete=active[:BURST])
    wanted = _wanted(wire, len(active))
    unwanted = _unwanted(wire, active, len(active) - wanted, now)
    if unwanted:
        return Actions(delete=unwanted[:BURST])
    terminating = [pod for pod in pods if pod.terminating and not pod.is_over]
    taken = [*active, *terminating] if replaces_only_ended(wire) else active
    return Actions(create=list(islice(_missing(wire, taken), min(max(wanted - len(taken), 0), BURST))))


def is_indexed(wire: Job) -> bool:
    """Whether each pod of a Job has an index."""
    return wire.spec.completion_mode == _INDEXED


def _unwanted(wire: Job, active: Sequence[ControlledPod], surplus: int, now: int) -> list[ControlledPod]:
    """The active pods that are deleted: those whose index is not wanted or is taken, and as many more as are too many."""
    ordered, unwanted = deletion_order(active, now), []
    if is_indexed(wire):
        # Of several pods of an index the last one in the order of deletion stays.
        last = {pod.index: pod for pod in ordered}
        completions = wire.spec.completions or 0
        unwanted = [
            pod for pod in ordered if pod.index is None or pod.index >= completions or last[pod.index] is not pod
        ]
    left = [pod for pod in ordered if pod not in unwanted]
    return [*unwanted, *left[: max(0, surplus - len(unwanted))]]


def _is_finishing(wire: Job) -> bool:
    """Whether it has ended, or is about to."""
    return any(each.type in _FINISHING and each.status == "True" for each in wire.status.conditions or ())


def parallelism(wire: Job) -> int:
    """How many pods of a Job may be active at a time."""
    return 1 if wire.spec.parallelism is None else wire.spec.parallelism


def job_of(cluster: ClusterSnapshot, pod: int) -> Job | None:
    """The Job that controls a pod, if one does and the input holds it."""
    pods = cluster.pods
    owner = owner_of(pods, pod)
    if owner is None or owner.kind != "Job":
        return None
    found: Job | None = cluster.kind("Job").get((pods.tables.namespaces[pods.namespace[pod]], owner.name))
    return found


def replaces_only_ended(wire: Job) -> bool:
    """Whether a Job replaces, and counts as failed, only pods that have ended, and none that terminate."""
    return wire.spec.pod_replacement_policy == "Failed" or wire.spec.pod_failure_policy is not None


def _wanted(wire: Job, active: int) -> int:
    """How many pods are to be active."""
    uncounted = wire.status.uncounted_terminated_pods
    succeeded = wire.status.succeeded + len((uncounted and uncounted.succeeded) or ())
    if wire.spec.completions is None:
        return active if succeeded else parallelism(wire)
    return max(min(wire.spec.completions - succeeded, parallelism(wire)), 0)


def _missing(wire: Job, taken: Iterable[ControlledPod]) -> Iterator[NewPod]:
    """The pods that could be created, the first one first; of a Job without indexes there is no end of them."""
    if not is_indexed(wire):
        yield from repeat(NewPod())
    completions, free = wire.spec.completions or 0, 0
    ended = (*index_ranges(wire.status.completed_indexes), *index_ranges(wire.status.failed_indexes))
    for first, last in sorted((*ended, *((pod.index, pod.index) for pod in taken if pod.index is not None))):
        yield from (NewPod(index) for index in range(free, min(first, completions)))
        free = max(free, last + 1)
    yield from (NewPod(index) for index in range(free, completions))


def index_ranges(text: str | None) -> Iterator[tuple[int, int]]:
    """The first and last of indexes as a status has them, ``0,2-5``."""
    for part in (text or "").split(","):
        found = _RANGE.fullmatch(part)
        if found:
            yield int(found["first"]), int(found["last"] or found["first"])


# A pod that is deleted before it has ended counts as failed. One failure more than ``backoffLimit`` ends the Job. A
# ``podFailurePolicy`` may have other rules for pods with the condition DisruptionTarget, which every evicted pod gets:
# that they do not count, or that they end the Job at once. The first rule that matches applies, so a rule about the
# exit code of a container that is being stopped may come before. Source: Kubernetes 1.36, the Job controller's
# isPodFailed and matchPodFailurePolicy.
def failures_so_far(job: Job) -> int:
    """How many pods of a Job have failed, also those that are in no count yet."""
    uncounted = job.status.uncounted_terminated_pods
    return job.status.failed + len((uncounted and uncounted.failed) or ())


def most_failures(job: Job) -> int | None:
    """``backoffLimit``: the failures that a Job tolerates; None if only ``backoffLimitPerIndex`` counts."""
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


def action_on_failure(job: Job, exit_codes: Collection[int], conditions: Container[tuple[str, str]]) -> str:
    """What ``podFailurePolicy`` makes of a failed pod: the action of the first rule that it meets, ``COUNT`` without one.

    ``exit_codes`` are those of its containers that are not 0, ``conditions`` are types with their statuses.
    """
    policy = job.spec.pod_failure_policy
    for rule in (policy and policy.rules) or ():
        if _is_met(rule, exit_codes, conditions):
            return rule.action
    return COUNT


def _is_met(rule: PodFailureRule, exit_codes: Collection[int], conditions: Container[tuple[str, str]]) -> bool:
    if rule.on_exit_codes is None:
        return any((each.type, each.status) in conditions for each in rule.on_pod_conditions or ())
    among = [code in (rule.on_exit_codes.values or ()) for code in exit_codes]
    return any(among) if rule.on_exit_codes.operator == "In" else any(not each for each in among)


def _is_about_disruption(rule: PodFailureRule) -> bool:
    return any(each.type == "DisruptionTarget" and each.status == "True" for each in rule.on_pod_conditions or ())


def _is_about_killed(rule: PodFailureRule) -> bool:
    codes = rule.on_exit_codes
    if codes is None:
        return False
    among = [each in (codes.values or ()) for each in _KILLED]
    return any(among) if codes.operator == "In" else not all(among)
