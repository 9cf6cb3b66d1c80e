"""URLs of servers and proxies in a configuration: whether they can be used, and the password that one may hold."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


def is_http(url: str) -> bool:
    """Whether a URL names a host, over HTTP or HTTPS, and a port that is a number if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # The port is read only now.
        return False


def split_user(url: str) -> tuple[str, tuple[str, str] | None]:
    """A usable URL without user and password, and these two where it has them."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), (user, password)
