"""Who gives the gate: the admission policy before the webhook, and what is wrong with either in one sentence."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from restow.descheduler.prerequisites import Gate, gate_of, seen_gate
from restow.descheduler.webhook import Webhook
from restow.serving.metrics import Metrics

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

ROOT = "/apis/admissionregistration.k8s.io/v1"
BINDING = f"{ROOT}/mutatingadmissionpolicybindings/restow-steering"
CONFIGURATION = f"{ROOT}/mutatingwebhookconfigurations/restow-steering"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NOT_THERE = a_status(404, "NotFound")
SERVICE = {"name": "restow-steering", "namespace": "kube-system", "path": "/admission/steer"}
AUTHORITY = b"-----BEGIN CERTIFICATE-----"


class Trusted(Webhook):
    """A webhook whose certificate somebody looks at."""

    def __init__(self, why: str | None = None) -> None:
        super().__init__(Metrics())
        self.why = why
        self.asked: list[tuple[str, bytes]] = []

    async def distrust(self, host: str, authorities: bytes) -> str | None:
        self.asked.append((host, authorities))
        return self.why


def a_binding(name: str = "restow-steering", namespace: str = "kube-system") -> Answer:
    return an_answer({"spec": {"paramRef": {"name": name, "namespace": namespace}}})


def a_configuration(**config: Any) -> Answer:
    client_config = {"caBundle": base64.b64encode(AUTHORITY).decode(), "service": SERVICE} | config
    return an_answer({"webhooks": [{"name": "steer.restow.dev", "clientConfig": client_config}]})


def may_read(double: Double, *allowed: bool) -> None:
    double.answers("POST", REVIEWS, *(an_answer({"spec": {}, "status": {"allowed": each}}, 201) for each in allowed))


async def found(double: Double, webhook: Webhook | None = None) -> Gate | str:
    async with an_api(double.url) as api:
        return await gate_of(api, "kube-system", webhook)


async def test_the_policy_goes_before_the_webhook() -> None:
    async with a_double() as double:
        may_read(double, True)
        double.answers("GET", BINDING, a_binding())
        double.answers("GET", CONFIGURATION, a_configuration())
        assert await found(double) is Gate.POLICY


async def test_a_policy_that_reads_another_config_map_is_named_and_nothing_else_is_looked_for() -> None:
    async with a_double() as double:
        may_read(double, True)
        double.answers("GET", BINDING, a_binding(namespace="tools"))
        double.answers("GET", CONFIGURATION, a_configuration())
        why = await found(double)
    assert isinstance(why, str)
    assert "reads the ConfigMap tools/restow-steering, and restow writes kube-system/restow-steering" in why


@pytest.mark.parametrize("reads_binding", [True, False])
async def test_without_a_policy_it_is_the_webhook(reads_binding: bool) -> None:
    """A cluster before 1.36 has no such kind, and a role may leave it out."""
    webhook = Trusted()
    async with a_double() as double:
        may_read(double, reads_binding, True)
        double.answers("GET", BINDING, NOT_THERE)
        double.answers("GET", CONFIGURATION, a_configuration())
        assert await found(double, webhook) is Gate.WEBHOOK
    assert webhook.asked == [("restow-steering.kube-system.svc", AUTHORITY)]


async def test_a_webhook_may_be_asked_at_a_url() -> None:
    webhook = Trusted()
    async with a_double() as double:
        may_read(double, True)
        url = "https://steer.example:9443/admission/steer"
        double.answers("GET", CONFIGURATION, a_configuration(service=None, url=url))
        assert await found(double, webhook) is Gate.WEBHOOK
    assert webhook.asked == [("steer.example", AUTHORITY)]


async def test_whoever_answers_no_webhook_does_not_ask_for_its_certificate() -> None:
    async with a_double() as double:
        may_read(double, True)
        double.answers("GET", CONFIGURATION, a_configuration())
        assert await found(double) is Gate.WEBHOOK


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        (a_configuration(caBundle=None), "has no caBundle"),
        (a_configuration(caBundle=""), "has no caBundle"),
        (a_configuration(service=SERVICE | {"path": None}), "has no webhook with the path /admission/steer"),
        (a_configuration(service=None, url="https://steer.example/"), "has no webhook with the path /admission/steer"),
        (a_configuration(service=None, url="https://[::1/admission/steer"), "has no webhook with the path"),
        (an_answer({"webhooks": None}), "has no webhook with the path /admission/steer"),
        (a_configuration(), "asks restow-steering.kube-system.svc, and its caBundle and restow's certificate"),
    ],
    ids=["no authority", "empty authority", "no path", "another path", "no URL", "no webhook", "distrusted"],
)
async def test_what_is_wrong_with_the_webhook_is_named(configuration: Answer, said: str) -> None:
    async with a_double() as double:
        may_read(double, True)
        double.answers("GET", CONFIGURATION, configuration)
        why = await found(double, Trusted("certificate has expired"))
    assert isinstance(why, str)
    assert why.startswith("the MutatingWebhookConfiguration restow-steering ")
    assert said in why
    assert "distrusted" not in said or "certificate has expired" in why


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        ((True,), "there is no MutatingAdmissionPolicyBinding restow-steering, and there is no MutatingWebhookConf"),
        ((False, True), '["mutatingadmissionpolicybindings"], verbs: [get]}, and there is no MutatingWebhookConf'),
        ((True, False), "Binding restow-steering, and restow's roles lack the rule {apiGroups: [\"admissionreg"),
    ],
    ids=["neither", "no right to the policy", "no right to the webhook"],
)
async def test_where_nobody_gives_it_one_sentence_says_what_is_missing(allowed: tuple[bool, ...], said: str) -> None:
    async with a_double() as double:
        may_read(double, *allowed)
        why = await found(double)
    assert isinstance(why, str)
    assert said in why
    assert why.endswith("; docs/how-to/steer.md has the objects to install")


async def test_what_may_not_be_read_is_not_tried() -> None:
    async with a_double() as double:
        may_read(double, False)
        await found(double)
        assert {each.path for each in double.asked} == {REVIEWS}
        asked = [json.loads(each.body)["spec"]["resourceAttributes"] for each in double.asked]
    assert [each["resource"] for each in asked] == ["mutatingadmissionpolicybindings", "mutatingwebhookconfigurations"]
    assert {(each["verb"], each["name"]) for each in asked} == {("get", "restow-steering")}


@pytest.mark.parametrize(
    ("policy", "webhook", "expected"),
    [
        (a_binding(), NOT_THERE, Gate.POLICY),
        (NOT_THERE, a_configuration(), Gate.WEBHOOK),
        (a_binding(namespace="elsewhere"), NOT_THERE, Gate.POLICY),
    ],
    ids=["policy", "webhook", "another namespace"],
)
async def test_anybody_may_see_who_gives_the_gate(policy: Answer, webhook: Answer, expected: Gate) -> None:
    """Without a question about rights, which are those of another account."""
    async with a_double() as double, an_api(double.url) as api:
        double.answers("GET", BINDING, policy)
        double.answers("GET", CONFIGURATION, webhook)
        assert await seen_gate(api) is expected
        assert {each.method for each in double.asked} == {"GET"}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (NOT_THERE, "there is no MutatingAdmissionPolicyBinding restow-steering or MutatingWebhookConfiguration"),
        (
            a_status(403, "Forbidden", 'x is forbidden: User "jane" cannot get resource'),
            "jane may not get mutatingadmissionpolicybindings; add the rule ",
        ),
        (a_status(500, "InternalError", "broken"), "broken"),
    ],
    ids=["nobody", "no right", "trouble"],
)
async def test_what_cannot_be_seen_is_a_sentence(answer: Answer, sentence: str) -> None:
    async with a_double() as double, an_api(double.url) as api:
        double.answers("GET", BINDING, *[answer] * 9)
        double.answers("GET", CONFIGURATION, *[answer] * 9)
        gate = await seen_gate(api)
    assert isinstance(gate, str)
    assert sentence in gate
