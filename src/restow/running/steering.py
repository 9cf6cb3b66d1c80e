"""Whether a cluster lets replacements be steered, and the care that nothing stays behind a gate.

Steering needs objects that somebody else has installed (``deploy/kubernetes/steering``) and rights that restow may be
without. Either may come and go, so the cluster is asked before each cycle. What is missing is one sentence in the log;
replacements then land where the scheduler puts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from restow.client import objects
from restow.client.errors import ClientError, NotFound
from restow.client.permitted_body import Permit
from restow.client.resources import CONFIG_MAPS, RESOURCES, Resource
from restow.client.transport import Api
from restow.executing.releasing import REQUEST, Gated, Releasing
from restow.executing.steering import BINDING, BINDINGS, CONFIG_MAP, Steering
from restow.policies.policy import Policy
from restow.running.logs import Log
from restow.serving.metrics import Metrics

#: Seconds between two tries to write what could not be written.
_REPAIR: Final = 5.0
_STEERED: Final = "replacements are steered: nominated for the node that the plan chooses, behind a scheduling gate"
_TO_INSTALL: Final = "docs/how-to/steer.md has the objects to install"
#: What steering does, beside evicting: resource, name of the one object that it is about, subresource, verb.
_RIGHTS: Final = (
    (BINDINGS, BINDING, "", "get"),
    (CONFIG_MAPS, CONFIG_MAP, "", "patch"),
    (RESOURCES["Pod"], "", "", "patch"),
    (RESOURCES["Pod"], "", "status", "patch"),
)
_REVIEWS = Resource(
    kind="SelfSubjectAccessReview",
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)


class _Review(Struct, frozen=True, rename="camel"):
    """A SelfSubjectAccessReview, there and back."""

    spec: dict[str, Any]
    status: dict[str, Any] | None = None
    api_version: str = "authorization.k8s.io/v1"
    kind: str = "SelfSubjectAccessReview"


class _ParamRef(Struct, frozen=True):
    """Which object a policy reads."""

    name: str = ""
    namespace: str = ""


class _BindingSpec(Struct, frozen=True, rename="camel"):
    """What is asked of the binding of an admission policy."""

    param_ref: _ParamRef = _ParamRef()


class _Binding(Struct, frozen=True):
    """A MutatingAdmissionPolicyBinding."""

    spec: _BindingSpec


async def missing_for_steering(steering: Steering) -> str | None:
    """What a cluster lacks for steering, in one sentence; None where it offers it and restow may do it.

    To see whether it may write the ConfigMap, it takes all out that is left there; so call it while nothing is awaited.
    """
    try:
        for resource, name, subresource, verb in _RIGHTS:
            if not await _may(steering, resource, name, subresource, verb):
                rule = resource.rule((verb,), subresource)
                where = f" in the namespace {steering.namespace}" if name and resource.namespaced else ""
                return f"restow's roles lack the rule {rule}{where}; {_TO_INSTALL}"
        misled = await _misled(steering)
        if misled is None:
            await steering.clear()
    except NotFound as error:
        return f"{error.message}; {_TO_INSTALL}"
    except ClientError as error:
        return str(error)
    return misled


async def _may(steering: Steering, resource: Resource, name: str, subresource: str, verb: str) -> bool:
    """Whether restow has a right. The server is asked for it and not tried, so that it has nothing to refuse."""
    where = {"namespace": steering.namespace} if name and resource.namespaced else {}
    asked = {
        "group": resource.group,
        "resource": resource.plural,
        "subresource": subresource,
        "name": name,
        "verb": verb,
    }
    review = await objects.create(steering.api, _REVIEWS, "", _Review({"resourceAttributes": asked | where}))
    return bool((review.status or {}).get("allowed"))


async def _misled(steering: Steering) -> str | None:
    """What is wrong if the policy reads another ConfigMap than the one that restow writes."""
    binding = await objects.get(steering.api, BINDINGS, "", BINDING, _Binding)
    read, written = binding.spec.param_ref, _ParamRef(CONFIG_MAP, steering.namespace)
    if read == written:
        return None
    return (
        f"the {BINDINGS.kind} {BINDING} reads the ConfigMap {read.namespace}/{read.name}, and restow writes "
        f"{written.namespace}/{written.name}: set spec.paramRef, or --leader-elect-resource-namespace"
    )


@dataclass(slots=True)
class Offer:
    """What the cluster offers, and the policy wants, at this moment."""

    steering: Steering
    log: Log
    #: Whether the cluster has ever offered it to this process, so that something may be left behind.
    was_made: bool = field(default=False, init=False)
    #: What was told last.
    _told: str = field(default="", init=False)

    async def now(self, policy: Policy) -> Steering | None:
        """Steering, or None where there is none; to be asked before each cycle, and told when it has changed."""
        wanted = policy.restow.steering
        if wanted == "none":
            self._told = ""
            return None
        missing = await missing_for_steering(self.steering)
        if missing is None:
            self.was_made = True
            self._tell(self.log.say, _STEERED)
            return self.steering
        self._tell(
            self.log.caution if wanted == "nominate" else self.log.say, f"replacements are not steered: {missing}"
        )
        return None

    def _tell(self, tell: Callable[[str], None], sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            tell(sentence)


@asynccontextmanager
async def releasing(api: Api, cluster: Gated, log: Log, metrics: Metrics) -> AsyncIterator[Releasing]:
    """Let go what waits behind the gate for too long, as long as the context lasts; whoever leads or not."""
    keeper = Releasing(_hurried(api), cluster, _once_each(log.caution), metrics)
    task = asyncio.create_task(keeper.run(), name="release gates")
    try:
        yield keeper
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def steering(api: Api, namespace: str, permit: Permit, keeper: Releasing, log: Log) -> AsyncIterator[Offer]:
    """Steering while we lead; nothing is left behind after it."""
    found = Steering(_hurried(api), permit, namespace, log.caution)
    keeper.steering = found
    repairing = asyncio.create_task(_repair(found), name="repair steering")
    offer = Offer(found, log)
    try:
        yield offer
    finally:
        repairing.cancel()
        keeper.steering = None
        # Whoever leads after us begins a while after our permission has ended: it is not in their way.
        if offer.was_made:
            with suppress(TimeoutError):
                async with asyncio.timeout(REQUEST):
                    await asyncio.gather(_cleared(found, log), keeper.let_all_go())


async def _repair(found: Steering) -> None:
    while True:
        await asyncio.sleep(_REPAIR)
        await found.repair()


async def _cleared(found: Steering, log: Log) -> None:
    try:
        await found.clear()
    except NotFound:
        return
    except ClientError as error:
        log.caution(f"new pods may still be gated, and are let go: {error}")


def _hurried(api: Api) -> Api:
    """For requests that pods wait for. There are a few for each eviction, and those have a limit."""
    return api.without_limit().within(REQUEST)


def _once_each(warn: Callable[[str], None]) -> Callable[[str], None]:
    """Say the same thing once."""
    said: set[str] = set()

    def once(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            warn(sentence)

    return once
