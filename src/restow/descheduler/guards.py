"""Check that the admission policies that limit restow's rights are in force.

Steering needs the right to patch pods, fencing the right to patch nodes: more than restow changes. A
ValidatingAdmissionPolicy limits what restow's token may change (``deploy/kubernetes/steering`` and ``fencing``,
guarding.yaml). It is installed with the rights, but can be changed or deleted later. So restow reads policy and binding
before each cycle, and without them it neither steers nor fences.
Source: admissionregistration.k8s.io/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS, ApiResource
from restow.client.transport import Api
from restow.descheduler.gating import Right


class _Selector(Struct, frozen=True, rename="camel"):
    """A LabelSelector; an empty one selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Any, ...] = ()


class _Rule(Struct, frozen=True, rename="camel"):
    """One of ``resourceRules``."""

    resources: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def covers(self, resource: str) -> bool:
        """Whether changes of all objects of a kind are looked at."""
        is_changed = not {"UPDATE", "*"}.isdisjoint(self.operations)
        return is_changed and resource in self.resources and not self.resource_names


class _Match(Struct, frozen=True, rename="camel"):
    """``MatchResources``: which requests are looked at."""

    resource_rules: tuple[_Rule, ...] = ()
    exclude_resource_rules: tuple[_Rule, ...] = ()
    namespace_selector: _Selector = _Selector()
    object_selector: _Selector = _Selector()

    def narrowed_by(self) -> Iterator[str]:
        """The fields that leave objects out."""
        if self.namespace_selector != _Selector():
            yield "namespaceSelector"
        if self.object_selector != _Selector():
            yield "objectSelector"
        if self.exclude_resource_rules:
            yield "excludeResourceRules"


class _PolicySpec(Struct, frozen=True, rename="camel"):
    failure_policy: str = "Fail"
    match_constraints: _Match = _Match()
    validations: tuple[Any, ...] = ()


class _Policy(Struct, frozen=True):
    """A ValidatingAdmissionPolicy."""

    spec: _PolicySpec


class _BindingSpec(Struct, frozen=True, rename="camel"):
    policy_name: str = ""
    validation_actions: tuple[str, ...] = ()
    match_resources: _Match = _Match()


class _Binding(Struct, frozen=True):
    """A ValidatingAdmissionPolicyBinding."""

    spec: _BindingSpec


@dataclass(slots=True, frozen=True)
class Guard:
    """An admission policy that limits what restow may change, and its binding of the same name."""

    name: str
    #: The file that has both.
    file: str
    #: What restow could change without it.
    resources: tuple[str, ...]

    @property
    def rights(self) -> tuple[Right, ...]:
        """What has to be permitted to see whether it is in force."""
        return tuple(Right(each, self.name, "", "get") for each in (VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS))


STEERING: Final = Guard("restow-steering", "deploy/kubernetes/steering/guarding.yaml", ("pods", "pods/status"))
FENCING: Final = Guard("restow-fencing", "deploy/kubernetes/fencing/guarding.yaml", ("nodes", "nodes/status"))


async def missing_of(api: Api, guard: Guard) -> str | None:
    """Which object of a guard is missing or does not limit restow, in one sentence; None if it does; ClientError."""
    for resource, look in ((VALIDATING_POLICIES, _lacks_of_policy), (VALIDATING_POLICY_BINDINGS, _lacks_of_binding)):
        where = f"{resource.kind} {guard.name}"
        try:
            lacks = await look(api, resource, guard)
        except NotFound:
            return f"there is no {where}, which limits what restow may change ({guard.file})"
        if lacks is not None:
            return f"the {where} does not limit what restow may change: {lacks}; apply {guard.file} again"
    return None


async def _lacks_of_policy(api: Api, resource: ApiResource, guard: Guard) -> str | None:
    spec = (await objects.get(api, resource, "", guard.name, _Policy)).spec
    if spec.failure_policy != "Fail":
        return f"its failurePolicy is {spec.failure_policy}, not Fail"
    if not spec.validations:
        return "it has no validations"
    for field in spec.match_constraints.narrowed_by():
        return f"matchConstraints.{field} leaves objects out"
    for each in guard.resources:
        if not any(rule.covers(each) for rule in spec.match_constraints.resource_rules):
            return f"matchConstraints.resourceRules leave out updates of {each}"
    return None


async def _lacks_of_binding(api: Api, resource: ApiResource, guard: Guard) -> str | None:
    spec = (await objects.get(api, resource, "", guard.name, _Binding)).spec
    if spec.policy_name != guard.name:
        return f"its policyName is {spec.policy_name}, not {guard.name}"
    if "Deny" not in spec.validation_actions:
        return f"its validationActions are {', '.join(spec.validation_actions) or 'empty'}, without Deny"
    for field in spec.match_resources.narrowed_by():
        return f"matchResources.{field} leaves objects out"
    if spec.match_resources.resource_rules:
        return "matchResources.resourceRules leave objects out"
    return None
