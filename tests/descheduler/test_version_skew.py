"""The version of the API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from descheduler.hearing import Heard
from restow.client.errors import ApiError, ServerTrouble, TooManyRequests, Unauthorized
from restow.descheduler.descheduler import check_version

pytestmark = pytest.mark.asyncio


class Server:
    """An API server of a version."""

    def __init__(self, version: str) -> None:
        self._version = version

    async def read(self, path: str, params: Any, decode: Callable[[bytes], Any]) -> Any:
        assert path == "/version"
        return decode(b'{"major": "1", "gitVersion": "%s"}' % self._version.encode())


@pytest.mark.parametrize(
    ("version", "is_far"),
    [
        ("v1.36.0", False),
        ("v1.32.0", True),
        ("v1.40.0-alpha.1", True),
        ("v1.9.0", True),
        ("", True),
        ("unknown", True),
    ],
)
async def test_more_than_three_minor_versions_away_there_is_a_warning(version: str, is_far: bool) -> None:
    heard = Heard(0)
    await check_version(Server(version), heard.log)  # type: ignore[arg-type]
    expected = f"descheduler version 0.36.0 may not be supported on your version of Kubernetes {version}."
    assert [each.startswith(expected) for each in heard.messages] == [True] * is_far


@pytest.mark.parametrize(
    ("version", "minor", "is_said"), [("v1.33.9", 33, False), ("v1.37.1", 37, False), ("v1.39.0+k3s1", 39, True)]
)
async def test_a_minor_version_is_returned_and_said_if_its_scheduler_is_not_known(
    version: str, minor: int, *, is_said: bool
) -> None:
    heard = Heard(0)
    assert await check_version(Server(version), heard.log) == minor  # type: ignore[arg-type]
    begin = f"The API server is Kubernetes 1.{minor}, and restow knows the scheduler of 1.33 to 1.37"
    assert [each.startswith(begin) for each in heard.messages] == [True] * is_said


class Refusing(Server):
    """An API server that answers every question with an error."""

    def __init__(self, error: ApiError) -> None:
        self._error = error

    async def read(self, path: str, params: Any, decode: Callable[[bytes], Any]) -> Any:
        raise self._error


@pytest.mark.parametrize("error", [TooManyRequests(429, "TooManyRequests", "later"), ServerTrouble(503, "", "later")])
async def test_a_server_that_has_no_time_for_the_question_is_no_reason_to_end(error: ApiError) -> None:
    heard = Heard(0)
    await check_version(Refusing(error), heard.log)  # type: ignore[arg-type]
    (told,) = heard.messages
    assert told == f"The version of the API server is not known ({error}); restow goes on without checking it"


async def test_who_is_not_let_in_is_told_so() -> None:
    with pytest.raises(Unauthorized):
        await check_version(Refusing(Unauthorized(401, "Unauthorized", "who?")), Heard(0).log)  # type: ignore[arg-type]
