"""What a Deployment reports: counts, whether it is available, and whether its update makes progress.

An update that makes none for ``progressDeadlineSeconds`` has failed, and says so; nothing else follows from it. Source:
the Deployment controller's progress, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import structs

from restow.kube.manifests import Deployment, ReplicaSet
from restow.kube.manifests.deployments import DeploymentCondition, DeploymentStatus
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.controllers import rollouts

_PROGRESSING: Final = "Progressing"
_COMPLETE: Final = "NewReplicaSetAvailable"
_TOO_LATE: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"
_RESUMED: Final = "DeploymentResumed"
#: A deadline that is none. Source: the API's documentation, math.MaxInt32.
_NO_DEADLINE: Final = 2**31 - 1


def status_of(found: Deployment, new: ReplicaSet | None, sets: Sequence[ReplicaSet], now: str) -> DeploymentStatus:
    """The status now; ``sets`` are all ReplicaSets, ``new`` is the one of the current template."""
    ready, there = sum(each.status.ready_replicas for each in sets), rollouts.available(sets)
    counted = DeploymentStatus(
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=new.status.replicas if new else 0,
        ready_replicas=ready,
        available_replicas=there,
        unavailable_replicas=max(0, rollouts.replicas(sets) - there),
        observed_generation=found.metadata.generation,
    )
    conditions = tuple(
        each for each in (_available(found, there, now), _progressing(found, counted, new, now)) if each is not None
    )
    return structs.replace(counted, conditions=conditions)


def with_new_set(found: Deployment, now: str) -> DeploymentStatus:
    """The status of a Deployment that has just created the ReplicaSet of a new template: its deadline restarts."""
    if found.spec.progress_deadline_seconds == _NO_DEADLINE:
        return found.status
    old = _known(found.status, _PROGRESSING)
    made = DeploymentCondition(_PROGRESSING, "True", "NewReplicaSetCreated", now, _since(old, "True", now))
    others = (each for each in found.status.conditions or () if each.type != _PROGRESSING)
    return structs.replace(found.status, conditions=(*others, made))


def is_complete(found: Deployment, new: ReplicaSet, old: Iterable[ReplicaSet]) -> bool:
    """Whether all pods are those of the new template, available, and no old ones are left."""
    wanted = found.spec.replicas
    is_new = new.status.replicas == wanted == new.status.available_replicas
    return is_new and not any(each.status.replicas for each in old)


def deadline_in(found: Deployment, status: DeploymentStatus, now: int) -> int | None:
    """In how many nanoseconds an update that makes no progress has failed; None if it cannot fail any more."""
    condition = _known(status, _PROGRESSING)
    if condition is None or condition.reason == _COMPLETE or condition.status == "False" or not _has_deadline(found):
        return None
    end = parse_time(condition.last_update_time or "") + (found.spec.progress_deadline_seconds + 1) * SECOND
    return max(SECOND, end - now)


def _has_deadline(found: Deployment) -> bool:
    return found.spec.progress_deadline_seconds != _NO_DEADLINE and not found.spec.paused


def _available(found: Deployment, there: int, now: str) -> DeploymentCondition:
    enough = there >= found.spec.replicas - rollouts.limits(found)[1]
    reason = "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"
    return _dated(found, DeploymentCondition("Available", "True" if enough else "False", reason), now)


def _progressing(
    found: Deployment, counted: DeploymentStatus, new: ReplicaSet | None, now: str
) -> DeploymentCondition | None:
    old = _known(found.status, _PROGRESSING)
    if found.spec.progress_deadline_seconds == _NO_DEADLINE:
        return old
    if old is not None and found.spec.paused != (old.reason == _PAUSED) and old.reason != _TOO_LATE:
        reason = _PAUSED if found.spec.paused else _RESUMED
        return _dated(found, DeploymentCondition(_PROGRESSING, "Unknown", reason), now)
    return old if found.spec.paused else _updating(found, counted, new, now)


def _updating(
    found: Deployment, counted: DeploymentStatus, new: ReplicaSet | None, now: str
) -> DeploymentCondition | None:
    """How far an update is that is not paused."""
    old = _known(found.status, _PROGRESSING)
    if old is None and new is not None:
        old = DeploymentCondition(_PROGRESSING, "True", "FoundNewReplicaSet", now, now)
    if old is not None and old.reason == _COMPLETE and counted.replicas == counted.updated_replicas:
        return old
    if _is_done(found, counted):
        return _dated(found, DeploymentCondition(_PROGRESSING, "True", _COMPLETE), now)
    if _moves(found.status, counted):
        return DeploymentCondition(_PROGRESSING, "True", "ReplicaSetUpdated", now, _since(old, "True", now))
    # Nothing has begun since the last update was complete.
    if old is None or old.reason == _COMPLETE or old.status == "False":
        return old
    is_late = _has_deadline(found) and _is_late(found, old, now)
    return DeploymentCondition(_PROGRESSING, "False", _TOO_LATE, now, now) if is_late else old


def _is_done(found: Deployment, counted: DeploymentStatus) -> bool:
    wanted = found.spec.replicas
    return counted.updated_replicas == counted.replicas == counted.available_replicas == wanted


def _moves(before: DeploymentStatus, now: DeploymentStatus) -> bool:
    """Whether there are more new pods, fewer old ones, or more that are ready or available."""
    fewer_old = now.replicas - now.updated_replicas < before.replicas - before.updated_replicas
    more = (
        now.updated_replicas > before.updated_replicas,
        now.ready_replicas > before.ready_replicas,
        now.available_replicas > before.available_replicas,
    )
    return fewer_old or any(more)


def _is_late(found: Deployment, condition: DeploymentCondition, now: str) -> bool:
    since = parse_time(condition.last_update_time or "")
    return parse_time(now) > since + found.spec.progress_deadline_seconds * SECOND


def _dated(found: Deployment, condition: DeploymentCondition, now: str) -> DeploymentCondition:
    """A condition with its transition time; the old one if its status is the same."""
    old = _known(found.status, condition.type)
    if old is not None and (old.status, old.reason) == (condition.status, condition.reason):
        return old
    since = _since(old, condition.status, now)
    return DeploymentCondition(condition.type, condition.status, condition.reason, now, since)


def _since(old: DeploymentCondition | None, status: str, now: str) -> str | None:
    return old.last_transition_time if old is not None and old.status == status else now


def _known(status: DeploymentStatus, kind: str) -> DeploymentCondition | None:
    return next((each for each in status.conditions or () if each.type == kind), None)
