"""Requests to a server on this machine, as a kubelet or Prometheus makes them."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import NamedTuple

from restow.serving.server import ListenAddress, serving

HERE = "127.0.0.1"


class Answer(NamedTuple):
    """What was answered, and the certificate that was shown."""

    status: int
    headers: dict[str, str]
    text: str
    certificate: bytes


def unverified() -> ssl.SSLContext:
    """A client that takes any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def get(port, path, *, tls=None, name=None, method="GET", headers=(), body=b"") -> Answer:
    """Ask for one page on a connection of its own."""
    reader, writer = await asyncio.open_connection(HERE, port, ssl=tls or unverified(), server_hostname=name or HERE)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    sent = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *headers, *sent, "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    answer = await reader.read()
    writer.close()
    head, _, text = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in rest)
    return Answer(int(first.split()[1]), fields, text.decode(errors="replace"), certificate)


@asynccontextmanager
async def served(application, tls):
    """Serve an application on a free port of this machine."""
    async with serving(application, ListenAddress(HERE, 0), tls) as port:
        yield port
