"""A real Pushgateway as a child process."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.binaries import tool
from e2e.child import Child
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until


@contextmanager
def a_gateway(directory: Path) -> Iterator[int]:
    """Its port on this machine. Raises FileNotFoundError if it is not built."""
    (port,) = free_ports(1)
    child = Child([str(tool("pushgateway")), f"--web.listen-address={HOST}:{port}"], directory / "gateway.log")
    child.start()
    try:
        wait_until("the Pushgateway is ready", lambda: page_of(f"http://{HOST}:{port}", "-/ready") is not None, 60)
        yield port
    finally:
        child.kill()


def page_of(url: str, page: str) -> str | None:
    """What it answers; None if nobody does."""
    try:
        with urllib.request.urlopen(f"{url}/{page}", timeout=10) as response:
            return str(response.read().decode())
    except OSError:
        return None
