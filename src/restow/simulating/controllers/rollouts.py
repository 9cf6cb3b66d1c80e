"""The update of a Deployment as arithmetic without I/O: sizes of its ReplicaSets, and what it reports of its progress.

``maxSurge`` and ``maxUnavailable`` limit how many pods each ReplicaSet may have. An update that makes no progress for
``progressDeadlineSeconds`` has failed, and says so; nothing else follows from it. Source: the Deployment controller's
rolling update, proportional scaling and progress, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import structs

from restow.kube.manifests import Deployment, ReplicaSet
from restow.kube.manifests.workloads import DeploymentCondition, DeploymentStatus, RollingUpdateDeployment
from restow.kube.numbers import parse_integer, share
from restow.kube.timestamps import SECOND, parse_time

#: Annotations of the ReplicaSets of a Deployment.
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
REVISION: Final = "deployment.kubernetes.io/revision"


def limits(deployment: Deployment) -> tuple[int, int]:
    """How many pods more, and how many available ones fewer than wanted a rolling update may have: surge, unavailable."""
    if deployment.spec.strategy.type == "Recreate":
        return 0, 0
    rule = deployment.spec.strategy.rolling_update or RollingUpdateDeployment()
    surge = share(rule.max_surge, deployment.spec.replicas, up=True)
    unavailable = share(rule.max_unavailable, deployment.spec.replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, deployment.spec.replicas)


def replicas(sets: Iterable[ReplicaSet]) -> int:
    """How many pods some ReplicaSets are to have."""
    return sum(each.spec.replicas for each in sets)


def available(sets: Iterable[ReplicaSet]) -> int:
    """How many available pods they have."""
    return sum(each.status.available_replicas for each in sets)


def size_of_new(deployment: Deployment, sets: Iterable[ReplicaSet], now: int) -> int:
    """The size of the new ReplicaSet, which has ``now``, in the next step; ``sets`` are all that there are."""
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type == "Recreate" or now >= wanted:
        return wanted
    room = wanted + limits(deployment)[0] - replicas(sets)
    return now + max(0, min(room, wanted - now))


def sizes_of_old(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> list[int]:
    """The sizes of the old ReplicaSets, oldest first, in the next step: first those go that are not available."""
    least = deployment.spec.replicas - limits(deployment)[1]
    unavailable = new.spec.replicas - new.status.available_replicas
    room = replicas((new, *old)) - least - unavailable
    sizes = [each.spec.replicas for each in old]
    if room <= 0:
        return sizes
    for number, each in enumerate(old):
        unhealthy = max(0, min(room, sizes[number] - each.status.available_replicas))
        sizes[number] -= unhealthy
        room -= unhealthy
    spare = available((new, *old)) - least
    for number in range(len(old)):
        fewer = max(0, min(sizes[number], spare))
        sizes[number] -= fewer
        spare -= fewer
    return sizes


def proportional(deployment: Deployment, sets: Sequence[ReplicaSet]) -> list[int]:
    """The sizes of ReplicaSets, oldest first, in the middle of a rolling update when the Deployment is scaled."""
    wanted = deployment.spec.replicas
    most = wanted + limits(deployment)[0] if wanted else 0
    sizes = [each.spec.replicas for each in sets]
    left = most - sum(sizes)
    if left == 0:
        return sizes
    # The larger ones first; of equal ones the newer when there is more to have, the older when there is less.
    order = sorted(reversed(range(len(sets))) if left > 0 else range(len(sets)), key=lambda each: -sizes[each])
    for number in order:
        change = _proportion(deployment, sets[number], most)
        change = min(change, left) if left > 0 else max(change, left)
        change = max(change, 0) if left > 0 else min(change, 0)
        sizes[number] += change
        left -= change
        if left == 0:
            break
    sizes[order[0]] = max(0, sizes[order[0]] + left)
    return sizes


def _proportion(deployment: Deployment, each: ReplicaSet, most: int) -> int:
    """How many pods more a ReplicaSet gets by its size, as that was in proportion to all."""
    before = parse_integer(each.metadata.annotation(MOST)) or 0
    base = before if before > 0 else deployment.status.replicas or most
    # Halves are rounded away from zero.
    return math.floor(each.spec.replicas * most / base + 0.5) - each.spec.replicas


_PROGRESSING: Final = "Progressing"
_COMPLETE: Final = "NewReplicaSetAvailable"
_TOO_LATE: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"
_RESUMED: Final = "DeploymentResumed"
#: A deadline that is none. Source: the API's documentation, math.MaxInt32.
_NO_DEADLINE: Final = 2**31 - 1


def status_of(found: Deployment, new: ReplicaSet | None, sets: Sequence[ReplicaSet], now: str) -> DeploymentStatus:
    """The status now; ``sets`` are all ReplicaSets, ``new`` is the one of the current template."""
    ready, there = sum(each.status.ready_replicas for each in sets), available(sets)
    counted = DeploymentStatus(
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=new.status.replicas if new else 0,
        ready_replicas=ready,
        available_replicas=there,
        unavailable_replicas=max(0, replicas(sets) - there),
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
    enough = there >= found.spec.replicas - limits(found)[1]
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
