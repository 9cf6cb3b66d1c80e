"""A guard has to be there, whole, and in force: else its rights are not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from client.double import a_double, a_status, an_answer, an_api
from descheduler.guarded import path_of, shipped
from restow.descheduler import prerequisites
from restow.descheduler.prerequisites import Guard, missing_of

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
BOTH = pytest.mark.parametrize(
    "guard", [prerequisites.STEERING_GUARD, prerequisites.FENCING_GUARD], ids=["steering", "fencing"]
)
#: What the API server adds to both.
DEFAULTS = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
SOME = {"matchLabels": {"team": "a"}}


async def missing(guard: Guard, objects: dict[str, Any]) -> str | None:
    async with a_double() as double, an_api(double.url) as api:
        for kind in (POLICY, BINDING):
            answer = an_answer(objects[kind]) if kind in objects else a_status(404, "NotFound")
            double.answers("GET", path_of(guard, kind), answer)
        return await missing_of(api, guard)


@BOTH
async def test_the_shipped_objects_are_a_guard(guard: Guard) -> None:
    objects = shipped(guard)
    assert await missing(guard, objects) is None
    objects[POLICY]["spec"]["matchConstraints"] |= DEFAULTS
    objects[BINDING]["spec"]["matchResources"] = DEFAULTS
    assert await missing(guard, objects) is None


@BOTH
@pytest.mark.parametrize("kind", [POLICY, BINDING])
async def test_an_object_that_is_missing_is_named_with_its_file(guard: Guard, kind: str) -> None:
    objects = shipped(guard)
    del objects[kind]
    assert await missing(guard, objects) == (
        f"there is no {kind} {guard.name}, which limits what restow may change ({guard.file})"
    )


def policy(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda objects: objects[POLICY]["spec"].update(changes)


def binding(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda objects: objects[BINDING]["spec"].update(changes)


def narrowed(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda objects: objects[POLICY]["spec"]["matchConstraints"].update(changes)


def only(resource: str, **changes: Any) -> Any:
    return [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": ["UPDATE"]} | changes]


@BOTH
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            policy(failurePolicy="Ignore"),
            "Policy {} does not limit what restow may change: its failurePolicy is Ignore",
        ),
        (policy(validations=None), "Policy {} does not limit what restow may change: it has no validations"),
        (narrowed(namespaceSelector=SOME), "matchConstraints.namespaceSelector leaves objects out"),
        (narrowed(objectSelector=SOME), "matchConstraints.objectSelector leaves objects out"),
        (narrowed(excludeResourceRules=only("pods")), "matchConstraints.excludeResourceRules leaves objects out"),
        (narrowed(resourceRules=only("configmaps")), "matchConstraints.resourceRules leave out updates of "),
        (narrowed(resourceRules=only("pods", operations=["CREATE"])), "resourceRules leave out updates of "),
        (binding(policyName="other"), "Binding {} does not limit what restow may change: its policyName is other"),
        (binding(validationActions=["Warn", "Audit"]), "its validationActions are Warn, Audit, without Deny"),
        (binding(validationActions=None), "its validationActions are empty, without Deny"),
        (binding(matchResources={"namespaceSelector": SOME}), "matchResources.namespaceSelector leaves objects out"),
        (binding(matchResources={"objectSelector": SOME}), "matchResources.objectSelector leaves objects out"),
        (binding(matchResources={"resourceRules": only("pods")}), "matchResources.resourceRules leave objects out"),
    ],
)
async def test_a_guard_that_is_not_in_force_is_none(
    guard: Guard, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    objects = shipped(guard)
    change(objects)
    why = await missing(guard, objects)
    assert why is not None
    assert said.format(guard.name) in why
    assert why.endswith(f"; apply {guard.file} again")
