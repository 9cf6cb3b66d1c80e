"""Proxies from the environment, as Go reads them."""

from __future__ import annotations

import pytest

from restow.client.proxies import proxy_for
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
