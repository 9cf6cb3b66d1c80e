"""VerticalPodAutoscaler and HorizontalPodAutoscaler: the requests of a new pod, and the number of pods.

The admission controller of VerticalPodAutoscaler 1.8 acts on pods whose topmost controller a VerticalPodAutoscaler
names, in every mode except ``Off``: ``Initial`` differs from ``Recreate``, ``Auto`` and ``InPlaceOrRecreate`` only in
what happens to pods that run. Each container gets the recommended target within the bounds of its policy. Limits grow
and shrink with requests, so that their ratio stays, unless the policy says ``RequestsOnly``: then requests end at the
limits. Containers in mode ``Off``, and resources that are not among ``controlledResources``, get no recommendation to
begin with, so neither is asked here. LimitRanges are not read.

A HorizontalPodAutoscaler compares what pods use with the target; what is near it changes nothing. Pods without metrics
count as if they held the change back, and so do pods that are not ready where more are wanted. Then the past counts: the
highest recommendation of the last minutes, and policies that limit the change per time. Source: the podautoscaler
controller, kube-controller-manager 1.36. Times and durations are nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec import Struct, structs

from restow.kube.duration import MINUTE
from restow.kube.objects import ContainerPolicy, ResourceRequirements, VerticalPodAutoscaler, WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity, parse_quantity
from restow.kube.timestamps import SECOND

VERTICAL_POD_AUTOSCALER: Final = "VerticalPodAutoscaler"
_OFF: Final = "Off"
_REQUESTS_ONLY: Final = "RequestsOnly"
_ANY: Final = "*"

#: Resources of containers by name.
Resources = Mapping[str, ResourceRequirements]
#: Namespace, and kind and name of the topmost controller.
Target = tuple[str, str, str]


def by_target(autoscalers: Mapping[tuple[str, str], VerticalPodAutoscaler]) -> dict[Target, VerticalPodAutoscaler]:
    """The VerticalPodAutoscalers that act when pods are created, by what they are for.

    Of two for the same controller the older one acts, of two of one age the first by name.
    """
    found: dict[Target, VerticalPodAutoscaler] = {}
    for (namespace, _), each in sorted(autoscalers.items(), key=lambda item: (_age(item[1]), item[0])):
        target = each.spec.target_ref
        if target is not None and _acts(each):
            found.setdefault((namespace, target.kind, target.name), each)
    return found


def _age(autoscaler: VerticalPodAutoscaler) -> str:
    return autoscaler.metadata.creation_timestamp or ""


def _acts(autoscaler: VerticalPodAutoscaler) -> bool:
    policy = autoscaler.spec.update_policy
    return (policy is None or policy.update_mode != _OFF) and autoscaler.metadata.deletion_timestamp is None


def scaled(autoscaler: VerticalPodAutoscaler, containers: Resources) -> dict[str, ResourceRequirements]:
    """The resources of those containers for which there is a recommendation; the others stay as they are.

    ValueError for a text that is no quantity.
    """
    recommendation = autoscaler.status.recommendation
    found: dict[str, ResourceRequirements] = {}
    for each in (recommendation.container_recommendations or ()) if recommendation is not None else ():
        policy = _policy_of(autoscaler, each.container_name)
        if each.container_name in containers and each.target:
            found[each.container_name] = _apply(containers[each.container_name], each.target, policy)
    return found


def _policy_of(autoscaler: VerticalPodAutoscaler, container: str) -> ContainerPolicy:
    resource_policy = autoscaler.spec.resource_policy
    policies = (resource_policy.container_policies or ()) if resource_policy is not None else ()
    by_name = {each.container_name: each for each in policies}
    return by_name.get(container) or by_name.get(_ANY) or ContainerPolicy()


def _apply(
    was: ResourceRequirements, target: Mapping[str, WireQuantity], policy: ContainerPolicy
) -> ResourceRequirements:
    requests, limits = dict(was.requests or {}), dict(was.limits or {})
    for resource, recommended in target.items():
        amount = _within(parse_quantity(recommended), resource, policy)
        limit = was.limits.get(resource) if was.limits else None
        if limit is not None and policy.controlled_values == _REQUESTS_ONLY:
            amount = min(amount, parse_quantity(limit))
        elif limit is not None:
            before = parse_quantity(requests.get(resource, limit))
            limits[resource] = str(_proportional(parse_quantity(limit), before, amount, resource))
        requests[resource] = str(amount)
    return ResourceRequirements(requests=requests or None, limits=limits or None)


def _within(amount: Quantity, resource: str, policy: ContainerPolicy) -> Quantity:
    least, most = (policy.min_allowed or {}).get(resource), (policy.max_allowed or {}).get(resource)
    if least is not None:
        amount = max(amount, parse_quantity(least))
    return amount if most is None else min(amount, parse_quantity(most))


def _proportional(limit: Quantity, before: Quantity, after: Quantity, resource: str) -> Quantity:
    """The limit that has the same ratio to the request as before, in milli of CPU and in whole bytes."""
    if before.nano == 0 or limit == before:
        return limit if before.nano == 0 else after
    unit = NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT
    return Quantity(limit.nano * after.nano // before.nano // unit * unit, limit.format)


#: What a pod is for the calculation: one that is ``ignored`` is on its way out or has failed.
PodGroup = Literal["ready", "unready", "missing", "ignored"]

#: Without ``behavior``, a change may lead to this many pods, or to twice as many as before.
_LEAST_LIMIT: Final = 4


class MeasuredPod(Struct, frozen=True):
    """A pod of the workload: thousandths of what it uses and requests; ``used`` is meaningless without metrics."""

    group: PodGroup
    used: int
    requested: int


class UsageTarget(Struct, frozen=True):
    """The average usage of pods to aim at: a percentage of their requests, or thousandths of the resource."""

    utilization: int | None = None
    average: int | None = None


class Tolerance(Struct, frozen=True):
    """How far from 1 the ratio of usage and target may be, downwards and upwards."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        """Whether a ratio changes nothing."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class ScalingPolicy(Struct, frozen=True):
    """Limits how many pods, or which percentage of them, may come or go in a period."""

    kind: Literal["Pods", "Percent"]
    value: int
    period: int


class ScalingRules(Struct, frozen=True):
    """What limits changes in one direction."""

    window: int
    policies: tuple[ScalingPolicy, ...]
    select: Literal["Max", "Min", "Disabled"] = "Max"


UP: Final = ScalingRules(0, (ScalingPolicy("Pods", 4, 15 * SECOND), ScalingPolicy("Percent", 100, 15 * SECOND)))
DOWN: Final = ScalingRules(5 * MINUTE, (ScalingPolicy("Percent", 100, 15 * SECOND),))


class Bounds(Struct, frozen=True):
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
    return [structs.replace(each, used=0) for each in pods]


def _as_wanted(pod: MeasuredPod, target: UsageTarget) -> MeasuredPod:
    """A pod without metrics where fewer are wanted: it uses all that it requests, or exactly the target."""
    if target.utilization is None:
        return structs.replace(pod, used=target.average or 0)
    return structs.replace(pod, used=pod.requested * max(100, target.utilization) // 100)


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
