"""The minor version of an API server, from whatever it calls its version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from restow.client.errors import ApiError, Forbidden
from restow.client.version import minor_of, server_minor
from restow.errors import ClientError


class Server:
    """Answers the question for its version."""

    def __init__(self, answer: bytes | ApiError) -> None:
        self._answer = answer

    async def read(self, path: str, params: Any, decode: Callable[[bytes], Any]) -> Any:
        assert (path, params) == ("/version", {})
        if isinstance(self._answer, ApiError):
            raise self._answer
        return decode(self._answer)


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("v1.36.2", 36),
        ("v1.33.9+k3s1", 33),
        ("v1.37.0-alpha.1.12+abc", 37),
        ("v1.9.0", 9),
        ("", None),
        ("1.36", None),
        ("v2.1", None),
        ("v1.٣٦", None),
        ("v1." + "9" * 5000, None),
    ],
)
def test_the_minor_version(text: str, minor: int | None) -> None:
    assert minor_of(text) == minor


@pytest.mark.asyncio
async def test_a_server_that_does_not_say_is_of_no_known_version() -> None:
    assert await server_minor(Server(b'{"gitVersion": "v1.35.1"}')) == 35  # type: ignore[arg-type]
    for answer in (b'{"gitVersion": ""}', b"{}", Forbidden(403, "Forbidden", "no")):
        assert await server_minor(Server(answer)) is None  # type: ignore[arg-type]
    assert issubclass(Forbidden, ClientError)
