"""URLs of servers and proxies in a configuration: whether they can be used, and the password that one may hold."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


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
