"""URLs of servers and proxies: whether they can be used, and which proxy leads to a server, from the environment as Go reads it.

aiohttp's own reading takes passwords from ``~/.netrc`` and knows no address ranges in NO_PROXY, which is how clusters
write their service network. Source: golang.org/x/net/http/httpproxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.plain_text import without_password


def proxy_for(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy for a server's URL, or None; InputError for a kind of proxy that is not supported."""
    scheme = urlsplit(server).scheme
    name = f"{scheme.upper()}_PROXY"
    proxy = environ.get(name) or environ.get(name.lower())
    host = urlsplit(server).hostname or ""
    if not proxy or is_loopback(host):
        return None
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_excepts(each.strip().lower(), server) for each in exceptions.split(",") if each.strip()):
        return None
    return checked_proxy(proxy if "://" in proxy else f"http://{proxy}", name)


def checked_proxy(proxy: str, origin: str) -> str:
    """The same proxy; InputError if it is none that can be used."""
    if not is_http(proxy):
        raise InputError(
            f"{origin}: {excerpt(without_password(proxy))} is not an http:// or https:// proxy; other kinds are not supported"
        )
    return proxy


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _excepts(entry: str, server: str) -> bool:
    """Whether one entry of NO_PROXY names a server: ``*``, an address or range, a host with its subdomains; ``:port``."""
    url = urlsplit(server)
    host = (url.hostname or "").lower()
    port = str(url.port or (443 if url.scheme == "https" else 80))
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        pass
    if entry.count(":") == 1 and entry.partition(":")[2] != port:
        return False
    name = entry.partition(":")[0].removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def is_http(url: str) -> bool:
    """Whether a URL names a host, over HTTP or HTTPS, and a port that is a number if any."""
    try:
        parts = urlsplit(url)
        # The port is read only now.
        return parts.scheme in {"http", "https"} and is_host_name(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def is_host_name(text: str) -> bool:
    """Whether a text can be the name or address of a host, to be connected to or found in a certificate."""
    try:
        return bool(text.encode("idna")) and not text.startswith(".") and not any(map(str.isspace, text))
    except ValueError:
        return False


def split_user(url: str) -> tuple[str, tuple[str, str] | None]:
    """A usable URL without user and password, and these two where it has them."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), (user, password)
