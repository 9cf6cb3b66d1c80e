"""Which URLs can be used, and the password that one may hold."""

from __future__ import annotations

import pytest

from restow.client.urls import is_http, split_user


@pytest.mark.parametrize(
    ("url", "usable"),
    [
        ("https://api:6443", True),
        ("http://[fd00::1]:8080/prefix", True),
        ("https://me:p@ss@api", True),
        ("api:6443", False),
        ("https://", False),
        ("https://:6443", False),
        ("https://api:port", False),
        ("https://api:99999", False),
        ("https://api:0", False),
        ("https://[fd00::1", False),
        ("https://me:pass/word@api", False),
    ],
)
def test_a_url_needs_a_host_and_a_port_that_is_one(url: str, usable: bool) -> None:
    assert is_http(url) is usable


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://api:6443", ("https://api:6443", None)),
        ("https://me:p%40ss@api/x", ("https://api/x", ("me", "p@ss"))),
        ("https://me@[fd00::1]:1", ("https://[fd00::1]:1", ("me", ""))),
    ],
)
def test_user_and_password_are_taken_off(url: str, parts: tuple[str, tuple[str, str] | None]) -> None:
    assert split_user(url) == parts
