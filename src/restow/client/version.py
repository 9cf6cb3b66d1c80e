"""What the API server says of its version."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

from restow.client.transport import Api
from restow.errors import ClientError

_VERSION: Final = re.compile(r"v1\.([0-9]{1,4})(?![0-9])", re.ASCII)


class _Version(Struct, rename="camel"):
    git_version: str = ""


async def git_version(api: Api) -> str:
    """What the server calls its version, such as ``v1.36.2+k3s1``; ClientError where it does not say."""
    version = await api.read("/version", {}, msgspec.json.Decoder(_Version).decode)
    return version.git_version


async def server_minor(api: Api) -> int | None:
    """The minor version of the server; None where it does not say."""
    try:
        return minor_of(await git_version(api))
    except ClientError:
        return None


def minor_of(version: str) -> int | None:
    """The minor version in a version; None where there is none.

    >>> minor_of("v1.36.2+k3s1"), minor_of("unknown")
    (36, None)
    """
    found = _VERSION.match(version)
    return int(found[1]) if found else None
