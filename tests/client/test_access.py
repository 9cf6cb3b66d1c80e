"""Whether whoever shows a token may get a page, as the API server says."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

import pytest

from client.double import Answer, Double, a_status, an_answer
from restow.client.access import AccessReviews
from restow.client.transport import Api
from restow.errors import ClientError

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
USER = {"username": "prometheus", "uid": "u1", "groups": ["system:authenticated"], "extra": {"k": ["v"]}}
KNOWN = an_answer({"status": {"authenticated": True, "user": USER}}, 201)
FORBIDDEN = 'tokenreviews is forbidden: User "system:serviceaccount:dev:s" cannot create resource "tokenreviews"'


def allowed(is_so: bool) -> Answer:
    return an_answer({"status": {"allowed": is_so}}, 201)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("known", "may", "answer"),
    [
        pytest.param(KNOWN, allowed(True), HTTPStatus.OK, id="may"),
        pytest.param(KNOWN, allowed(False), HTTPStatus.FORBIDDEN, id="may not"),
        pytest.param(an_answer({"status": {"error": "expired"}}, 201), None, HTTPStatus.UNAUTHORIZED, id="nobody"),
        pytest.param(an_answer({}, 201), None, HTTPStatus.UNAUTHORIZED, id="no word"),
    ],
)
async def test_answers(api: Api, double: Double, known: Answer, may: Answer | None, answer: HTTPStatus) -> None:
    double.answers("POST", TOKENS, known)
    if may is not None:
        double.answers("POST", ACCESS, may)

    assert await AccessReviews(api).review("secret", "/metrics") is answer


async def test_the_api_server_is_asked_about_the_user_and_the_path(api: Api, double: Double) -> None:
    double.answers("POST", TOKENS, KNOWN)
    double.answers("POST", ACCESS, allowed(True))

    await AccessReviews(api).review("secret", "/metrics")

    token, access = (each.json for each in double.asked)
    assert token["spec"] == {"token": "secret"}
    assert access["spec"] == {
        "user": "prometheus",
        "uid": "u1",
        "groups": ["system:authenticated"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_an_answer_counts_for_ten_seconds_for_its_token_and_its_path(api: Api, double: Double) -> None:
    double.answers("POST", TOKENS, KNOWN)
    double.answers("POST", ACCESS, allowed(True), allowed(False))
    clock = Clock()
    reviews = AccessReviews(api, clock)

    assert await reviews.review("secret", "/metrics") is HTTPStatus.OK
    clock.now = 9.9
    assert await reviews.review("secret", "/metrics") is HTTPStatus.OK
    assert await reviews.review("secret", "/configz") is HTTPStatus.FORBIDDEN
    clock.now = 10.0
    assert await reviews.review("secret", "/metrics") is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        pytest.param(
            a_status(403, message=FORBIDDEN),
            "system:serviceaccount:dev:s may not create tokenreviews; add the rule "
            '{apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: [create]} to its ClusterRole',
            id="no right",
        ),
        pytest.param(a_status(500, message="no"), "the API server answered 500: no", id="trouble"),
        pytest.param(an_answer([], 201), "the response does not match the API", id="nonsense"),
    ],
)
async def test_without_an_answer_nothing_is_kept(api: Api, double: Double, refusal: Answer, told: str) -> None:
    double.answers("POST", TOKENS, refusal, KNOWN)
    double.answers("POST", ACCESS, allowed(True))
    reviews = AccessReviews(api)

    with pytest.raises(ClientError) as raised:
        await reviews.review("secret", "/metrics")
    assert told in str(raised.value)
    assert await reviews.review("secret", "/metrics") is HTTPStatus.OK
