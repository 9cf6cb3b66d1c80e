"""Proxies from the environment, as Go reads them."""

from __future__ import annotations

import pytest

from restow.client.proxies import is_http, proxy_for, split_user
from restow.errors import InputError

SERVER = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        pytest.param(SERVER, {}, None, id="none"),
        pytest.param(SERVER, {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128", id="given"),
        pytest.param(SERVER, {"https_proxy": "p:3128"}, "http://p:3128", id="lower case, without scheme"),
        pytest.param(SERVER, {"HTTP_PROXY": "http://p:3128"}, None, id="for http only"),
        pytest.param("http://127.0.0.1:80", {"HTTP_PROXY": "http://p:3128"}, None, id="never to this machine"),
        pytest.param("http://localhost:80", {"HTTP_PROXY": "http://p:3128"}, None, id="nor by its name"),
    ],
)
def test_which_proxy(server: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(server, environ) == proxy


@pytest.mark.parametrize(
    ("server", "exceptions", "direct"),
    [
        (SERVER, "*", True),
        (SERVER, "example.com", True),
        (SERVER, ".example.com", True),
        (SERVER, "*.example.com", True),
        (SERVER, "ample.com", False),
        (SERVER, "other.com, api.example.com", True),
        (SERVER, "api.example.com:6443", True),
        (SERVER, "api.example.com:443", False),
        ("https://10.96.0.1", "10.96.0.0/12", True),
        ("https://10.96.0.1", "10.97.0.0/16", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        (SERVER, "", False),
    ],
)
def test_exceptions(server: str, exceptions: str, direct: bool) -> None:
    proxy = proxy_for(server, {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": exceptions})

    assert (proxy is None) == direct


def test_other_kinds_of_proxies_are_an_error() -> None:
    with pytest.raises(InputError, match="HTTPS_PROXY: socks5://p:1080 is not an http:// or https:// proxy"):
        proxy_for(SERVER, {"HTTPS_PROXY": "socks5://p:1080"})


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
