"""How many pods a HorizontalPodAutoscaler wants, from what its pods use and what it wanted before.

What pods use is compared with the target; what is near it changes nothing. Pods without metrics count as if they held
the change back, and so do pods that are not ready where more are wanted. Then the past counts: the highest
recommendation of the last minutes, and policies that limit the change per time. Source: the podautoscaler controller,
kube-controller-manager 1.36. Times and durations are nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from restow.kube.duration import MINUTE
from restow.kube.timestamps import SECOND

#: What a pod is for the calculation: one that is ``ignored`` is on its way out or has failed.
PodGroup = Literal["ready", "unready", "missing", "ignored"]

#: Without ``behavior``, a change may lead to this many pods, or to twice as many as before.
_LEAST_LIMIT: Final = 4


@dataclass(slots=True, frozen=True)
class MeasuredPod:
    """A pod of the workload: thousandths of what it uses and requests; ``used`` is meaningless without metrics."""

    group: PodGroup
    used: int
    requested: int


@dataclass(slots=True, frozen=True)
class UsageTarget:
    """The average usage of pods to aim at: a percentage of their requests, or thousandths of the resource."""

    utilization: int | None = None
    average: int | None = None


@dataclass(slots=True, frozen=True)
class Tolerance:
    """How far from 1 the ratio of usage and target may be, downwards and upwards."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        """Whether a ratio changes nothing."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(slots=True, frozen=True)
class ScalingPolicy:
    """Limits how many pods, or which percentage of them, may come or go in a period."""

    kind: Literal["Pods", "Percent"]
    value: int
    period: int


@dataclass(slots=True, frozen=True)
class ScalingRules:
    """What limits changes in one direction."""

    window: int
    policies: tuple[ScalingPolicy, ...]
    select: Literal["Max", "Min", "Disabled"] = "Max"


UP: Final = ScalingRules(0, (ScalingPolicy("Pods", 4, 15 * SECOND), ScalingPolicy("Percent", 100, 15 * SECOND)))
DOWN: Final = ScalingRules(5 * MINUTE, (ScalingPolicy("Percent", 100, 15 * SECOND),))


@dataclass(slots=True, frozen=True)
class Bounds:
    """The fewest and the most pods, and the rules; ``ruled`` is whether the object has a ``behavior`` of its own."""

    least: int
    most: int
    up: ScalingRules = UP
    down: ScalingRules = DOWN
    ruled: bool = False


@dataclass(slots=True)
class Past:
    """What one autoscaler remembers."""

    #: When it wanted how many pods, and when it changed their number by how many.
    recommendations: list[tuple[int, int]] = field(default_factory=list)
    changes: list[tuple[int, int]] = field(default_factory=list)

    def forget_before(self, time: int) -> None:
        """Keep nothing that is older."""
        self.recommendations = [each for each in self.recommendations if each[0] >= time]
        self.changes = [each for each in self.changes if each[0] >= time]


def replicas_by_usage(
    current: int, pods: Sequence[MeasuredPod], target: UsageTarget, tolerance: Tolerance
) -> int | None:
    """How many pods one metric asks for; None if no pod that counts has metrics."""
    ready, unready, missing = (
        [each for each in pods if each.group == group] for group in ("ready", "unready", "missing")
    )
    first = _ratio(ready, target)
    if first is None:
        return None
    counts_unready = bool(unready) and first > 1.0
    if not counts_unready and not missing:
        return current if tolerance.covers(first) else math.ceil(first * len(ready))
    counted = [*ready, *_idle(unready if counts_unready else ())]
    if first < 1.0:
        counted += [_as_wanted(each, target) for each in missing]
    elif first > 1.0:
        counted += _idle(missing)
    ratio = _ratio(counted, target)
    if ratio is None or tolerance.covers(ratio) or (first < 1.0) != (ratio < 1.0):
        return current
    wanted = math.ceil(ratio * len(counted))
    return current if (wanted > current) != (ratio > 1.0) and wanted != current else wanted


def _ratio(pods: Sequence[MeasuredPod], target: UsageTarget) -> float | None:
    """What pods use in relation to the target, by whole percent or thousandths; None where there is nothing to divide by."""
    used, requested = sum(each.used for each in pods), sum(each.requested for each in pods)
    if target.utilization is not None:
        return used * 100 // requested / target.utilization if requested else None
    return used // len(pods) / (target.average or 1) if pods else None


def _idle(pods: Iterable[MeasuredPod]) -> list[MeasuredPod]:
    return [replace(each, used=0) for each in pods]


def _as_wanted(pod: MeasuredPod, target: UsageTarget) -> MeasuredPod:
    """A pod without metrics where fewer are wanted: it uses all that it requests, or exactly the target."""
    if target.utilization is None:
        return replace(pod, used=target.average or 0)
    return replace(pod, used=pod.requested * max(100, target.utilization) // 100)


def limited(current: int, wanted: int, bounds: Bounds, past: Past, now: int) -> int:
    """Replicas after limits; records the recommendation."""
    stable = (
        _stable_by_rules(current, wanted, bounds, past, now) if bounds.ruled else _stable(wanted, bounds, past, now)
    )
    past.recommendations.append((now, wanted))
    if not bounds.ruled:
        return max(bounds.least, min(stable, bounds.most, max(2 * current, _LEAST_LIMIT)))
    if stable > current:
        return min(stable, bounds.most, max(current, _limit(current, bounds.up, past, now, 1)))
    if stable < current:
        return max(stable, bounds.least, min(current, _limit(current, bounds.down, past, now, -1)))
    return stable


def _stable(wanted: int, bounds: Bounds, past: Past, now: int) -> int:
    """The highest recommendation within ``stabilizationWindowSeconds`` of ``scaleDown``."""
    return max([wanted, *(replicas for time, replicas in past.recommendations if time >= now - bounds.down.window)])


def _stable_by_rules(current: int, wanted: int, bounds: Bounds, past: Past, now: int) -> int:
    """The present number, moved into what was wanted all the time within the windows."""
    lowest = min([wanted, *(replicas for time, replicas in past.recommendations if time > now - bounds.up.window)])
    highest = max([wanted, *(replicas for time, replicas in past.recommendations if time > now - bounds.down.window)])
    return min(max(current, lowest), highest)


def _limit(current: int, rules: ScalingRules, past: Past, now: int, sign: int) -> int:
    """How far policies let the number go in a direction: 1 up, -1 down."""
    if rules.select == "Disabled":
        return current
    farthest: Callable[[Iterable[int]], int] = max if (rules.select == "Max") == (sign > 0) else min
    return farthest([_proposed(current, each, past, now, sign) for each in rules.policies] or [current])


def _proposed(current: int, policy: ScalingPolicy, past: Past, now: int, sign: int) -> int:
    before = current - sum(change for time, change in past.changes if time > now - policy.period)
    if policy.kind == "Pods":
        return before + sign * policy.value
    share = before * (1 + sign * policy.value / 100)
    return math.ceil(share) if sign > 0 else int(share)
