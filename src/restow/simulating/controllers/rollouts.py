"""How many pods each ReplicaSet of a Deployment may have (``maxSurge``, ``maxUnavailable``): arithmetic without I/O.

Source: the Deployment controller's rolling update and proportional scaling, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from restow.kube.int_or_percent import share
from restow.kube.label_syntax import parse_integer
from restow.kube.manifests import Deployment, ReplicaSet
from restow.kube.manifests.deployments import RollingUpdate

#: Annotations of the ReplicaSets of a Deployment.
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
REVISION: Final = "deployment.kubernetes.io/revision"


def limits(deployment: Deployment) -> tuple[int, int]:
    """How many pods more, and how many available ones fewer than wanted a rolling update may have: surge, unavailable."""
    if deployment.spec.strategy.type == "Recreate":
        return 0, 0
    rule = deployment.spec.strategy.rolling_update or RollingUpdate()
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
