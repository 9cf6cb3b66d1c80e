"""What is read of a refusal."""

from __future__ import annotations

import json
import pickle

import pytest

from restow.client.errors import ApiError, Gone, StatusCause, TooManyRequests, refusal

STATUS = b"""{"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "no",
              "details": {"retryAfterSeconds": 10, "causes": [{"reason": "DisruptionBudget", "message": "web"}]}}"""


def test_a_status_is_read_whole() -> None:
    error = refusal(429, STATUS, {}, 0)

    assert isinstance(error, TooManyRequests)
    assert (error.status, error.reason, error.message, error.retry_after) == (429, "TooManyRequests", "no", 10)
    assert error.causes == (StatusCause("DisruptionBudget", "web"),)
    assert str(error) == "the API server answered 429 TooManyRequests: no"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param("5", 5, id="seconds go before the body"),
        pytest.param("Sat, 21 Nov 2026 00:00:30 GMT", 30, id="a date"),
        pytest.param("Sat, 21 Nov 2026 00:00:30 -0000", 30, id="a date without a zone"),
        pytest.param("Fri, 20 Nov 2026 00:00:00 GMT", 0, id="a date in the past"),
        pytest.param("soon", 10, id="nonsense: the body's"),
        pytest.param("²", 10, id="a digit that is no number"),
        pytest.param("\u0661", 10, id="a digit of another script"),
        pytest.param(f"Mon, {'9' * 20} Oct 2026 00:00:00 GMT", 10, id="a date beyond all calendars"),
    ],
)
def test_retry_after(header: str, seconds: float) -> None:
    assert refusal(429, STATUS, {"Retry-After": header}, 1_795_219_200).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"Bad gateway\n", "Bad gateway"),
        (b"", "(no text)"),
        (b"\xff" * 300, "\ufffd" * 200),
        (b'{"details":' * 30_000, '{"details":' * 18 + '{"'),
    ],
)
def test_a_reply_that_is_no_status_is_quoted(body: bytes, message: str) -> None:
    assert refusal(502, body, {}, 0).message == message


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(refusal(410, STATUS, {}, 0)))

    assert isinstance(error, Gone)
    assert isinstance(error, ApiError)
    assert error.message == "no"


def test_a_long_answer_is_quoted_by_its_beginning_and_read_whole() -> None:
    """The words that tell one refusal from another may come after a long name."""
    told = f'pods is forbidden: User "{"q" * 300}" cannot list resource "pods"'
    error = refusal(403, json.dumps({"code": 403, "message": told}).encode(), {}, 0.0)
    assert error.answer == told
    assert len(error.message) <= 201
    assert len(str(error)) < 250
