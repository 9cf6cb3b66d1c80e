"""What steering and fencing need of a cluster, and whether that is in force: what adds the gate, rights, and guards.

An admission policy of the cluster or restow's webhook adds the scheduling gate to new pods; restow installs neither. Both
gate the pods of the controllers that restow lists in the ConfigMap. The policy has precedence, because the API server
evaluates it without a request to another process.

Steering needs the right to patch pods, fencing the right to patch nodes: more than restow changes. A
ValidatingAdmissionPolicy limits what restow's token may change (``deploy/kubernetes/steering`` and ``fencing``,
guarding.yaml). It is installed with the rights, but can be changed or deleted later. So restow reads policy and binding
before each cycle, and without them it neither steers nor fences.
Source: admissionregistration.k8s.io/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from restow.client import objects
from restow.client.errors import Forbidden, NotFound, missing_right
from restow.client.resources import (
    ACCESS_REVIEWS,
    MUTATING_POLICY_BINDINGS,
    MUTATING_WEBHOOKS,
    VALIDATING_POLICIES,
    VALIDATING_POLICY_BINDINGS,
    ApiResource,
)
from restow.client.transport import Api
from restow.descheduler.webhook import Webhook
from restow.errors import ClientError
from restow.executing.admission import PATH
from restow.executing.steering import CONFIG_MAP

#: What has an admission policy read the ConfigMap.
BINDING: Final = "restow-steering"
#: By which the API server knows of the webhook.
CONFIGURATION: Final = "restow-steering"
_OBJECTS: Final = ((MUTATING_POLICY_BINDINGS, BINDING), (MUTATING_WEBHOOKS, CONFIGURATION))


class Gate(Enum):
    """What adds the gate; the value completes "behind a scheduling gate that"."""

    POLICY = "an admission policy gives"
    WEBHOOK = "restow's webhook gives"


class _ParamRef(Struct, frozen=True):
    """Which object a policy reads."""

    name: str = ""
    namespace: str = ""


class _BindingSpec(Struct, frozen=True, rename="camel"):
    param_ref: _ParamRef = _ParamRef()


class _Binding(Struct, frozen=True):
    """A MutatingAdmissionPolicyBinding."""

    spec: _BindingSpec


class _Service(Struct, frozen=True):
    """A Service that is asked."""

    name: str = ""
    namespace: str = ""
    path: str = ""


class _ClientConfig(Struct, frozen=True, rename="camel"):
    """Who is asked: a Service, or a URL."""

    service: _Service | None = None
    url: str = ""
    #: PEM, in base64 on the wire.
    ca_bundle: bytes = b""

    @property
    def path(self) -> str:
        """Where it is asked."""
        return self.service.path if self.service is not None else _parts(self.url).path

    @property
    def host(self) -> str:
        """The name that the certificate has to have."""
        if self.service is not None:
            return f"{self.service.name}.{self.service.namespace}.svc"
        return _parts(self.url).hostname or ""


class Right(NamedTuple):
    """A verb for objects of a kind, or for the one of a name."""

    resource: ApiResource
    name: str
    subresource: str
    verb: str

    @property
    def is_of_namespace(self) -> bool:
        """Whether it is about one object of a namespace."""
        return bool(self.name) and self.resource.namespaced

    def lacking(self, namespace: str) -> str:
        """A sentence with the rule that grants it, in a namespace where it is about one object there."""
        where = f" in the namespace {namespace}" if self.is_of_namespace else ""
        return f"restow's roles lack the rule {self.resource.rule((self.verb,), self.subresource)}{where}"


class _Review(Struct, frozen=True, rename="camel"):
    """A SelfSubjectAccessReview, there and back."""

    spec: dict[str, Any]
    status: dict[str, Any] | None = None
    api_version: str = "authorization.k8s.io/v1"
    kind: str = "SelfSubjectAccessReview"


def _parts(url: str) -> SplitResult:
    """The parts of a URL; all empty where the API server takes it for one and Python does not."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


class _Asked(Struct, frozen=True, rename="camel"):
    client_config: _ClientConfig


class _Configuration(Struct, frozen=True):
    """A MutatingWebhookConfiguration."""

    webhooks: tuple[_Asked, ...] = ()


async def gate_of(api: Api, namespace: str, webhook: Webhook | None) -> Gate | str:
    """What adds the gate, or a sentence with what is missing; ClientError.

    The ConfigMap is in the namespace. The certificate is only checked for a webhook of this process.
    """
    absent = []
    for resource, name in _OBJECTS:
        right = Right(resource, name, "", "get")
        if not await _may(api, namespace, right):
            absent.append(right.lacking(namespace))
            continue
        try:
            if resource is MUTATING_POLICY_BINDINGS:
                return await _misled(api, namespace) or Gate.POLICY
            return await _unreachable(api, webhook) or Gate.WEBHOOK
        except NotFound:
            absent.append(f"there is no {resource.kind} {name}")
    return f"{', and '.join(absent)}; docs/how-to/steer.md has the objects to install"


async def seen_gate(api: Api) -> Gate | str:
    """What adds the gate, or a sentence with what is missing; only reads the objects.

    Does not check the rights of the process that evicts.
    """
    for (resource, name), gate in zip(_OBJECTS, Gate, strict=True):
        try:
            await objects.find(api, resource, "", name)
        except NotFound:
            continue
        except Forbidden as error:
            return f"{missing_right(error, resource, ('get',))} to see whether the cluster offers it"
        except ClientError as error:
            return str(error)
        return gate
    absent = " or ".join(f"{resource.kind} {name}" for resource, name in _OBJECTS)
    return f"there is no {absent}; docs/how-to/steer.md has the objects to install"


async def _misled(api: Api, namespace: str) -> str | None:
    """What is wrong if the policy reads another ConfigMap than the one that restow writes."""
    binding = await objects.get(api, MUTATING_POLICY_BINDINGS, "", BINDING, _Binding)
    read, written = binding.spec.param_ref, _ParamRef(CONFIG_MAP, namespace)
    if read == written:
        return None
    return (
        f"the {MUTATING_POLICY_BINDINGS.kind} {BINDING} reads the ConfigMap {read.namespace}/{read.name}, and restow writes "
        f"{written.namespace}/{written.name}: set spec.paramRef, or --leader-elect-resource-namespace"
    )


async def _unreachable(api: Api, webhook: Webhook | None) -> str | None:
    """What is wrong if the API server would not ask restow, or would not trust who answers."""
    configuration = await objects.get(api, MUTATING_WEBHOOKS, "", CONFIGURATION, _Configuration)
    where = f"the {MUTATING_WEBHOOKS.kind} {CONFIGURATION}"
    asked = next((each.client_config for each in configuration.webhooks if each.client_config.path == PATH), None)
    if asked is None:
        return f"{where} has no webhook with the path {PATH}: set clientConfig.service.path"
    if not asked.ca_bundle:
        return f"{where} has no caBundle: write there who signs restow's certificate, as docs/how-to/steer.md says"
    why = None if webhook is None else await webhook.distrust(asked.host, asked.ca_bundle)
    if why is None:
        return None
    return f"{where} asks {asked.host}, and its caBundle and restow's certificate (--tls-cert-file) do not fit: {why}"


async def _may(api: Api, namespace: str, right: Right) -> bool:
    """Whether restow has a right, in a namespace where it is about one object of a namespace; ClientError."""
    resource, name, subresource, verb = right
    asked = {
        "group": resource.group,
        "resource": resource.plural,
        "subresource": subresource,
        "name": name,
        "verb": verb,
    }
    where = {"namespace": namespace} if right.is_of_namespace else {}
    review = await objects.create(api, ACCESS_REVIEWS, "", _Review({"resourceAttributes": asked | where}))
    return bool((review.status or {}).get("allowed"))


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


class _GuardBindingSpec(Struct, frozen=True, rename="camel"):
    policy_name: str = ""
    validation_actions: tuple[str, ...] = ()
    match_resources: _Match = _Match()


class _GuardBinding(Struct, frozen=True):
    """A ValidatingAdmissionPolicyBinding."""

    spec: _GuardBindingSpec


class Guard(Struct, frozen=True):
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


STEERING_GUARD: Final = Guard("restow-steering", "deploy/kubernetes/steering/guarding.yaml", ("pods", "pods/status"))
FENCING_GUARD: Final = Guard("restow-fencing", "deploy/kubernetes/fencing/guarding.yaml", ("nodes", "nodes/status"))


async def missing_for(api: Api, namespace: str, guard: Guard, rights: Iterable[Right]) -> str | None:
    """What restow lacks, in one sentence: a right, or the guard that limits what it may change; None if it has all; ClientError.

    The guard is installed with the rights, so an account that may do everything uses none of them without it.
    """
    for right in (*guard.rights, *rights):
        if not await _may(api, namespace, right):
            return right.lacking(namespace)
    return await missing_of(api, guard)


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
    spec = (await objects.get(api, resource, "", guard.name, _GuardBinding)).spec
    if spec.policy_name != guard.name:
        return f"its policyName is {spec.policy_name}, not {guard.name}"
    if "Deny" not in spec.validation_actions:
        return f"its validationActions are {', '.join(spec.validation_actions) or 'empty'}, without Deny"
    for field in spec.match_resources.narrowed_by():
        return f"matchResources.{field} leaves objects out"
    if spec.match_resources.resource_rules:
        return "matchResources.resourceRules leave objects out"
    return None
