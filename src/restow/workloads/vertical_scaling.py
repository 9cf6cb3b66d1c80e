"""VerticalPodAutoscaler: how its admission controller sets the requests of a pod that is created.

It acts on pods whose topmost controller a VerticalPodAutoscaler names, in every mode except ``Off``: ``Initial``
differs from ``Recreate``, ``Auto`` and ``InPlaceOrRecreate`` only in what happens to pods that run. Each container gets
the recommended target within the bounds of its policy. Limits grow and shrink with requests, so that their ratio stays,
unless the policy says ``RequestsOnly``: then requests end at the limits.

Containers in mode ``Off``, and resources that are not among ``controlledResources``, get no recommendation to begin
with, so neither is asked here. LimitRanges are not read. Source: admission controller of VerticalPodAutoscaler 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restow.kube.objects import ContainerPolicy, ResourceRequirements, VerticalPodAutoscaler, WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity, parse_quantity

KIND: Final = "VerticalPodAutoscaler"
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
