"""A real Pushgateway as a child process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.answering import answering
from e2e.binaries import tool
from e2e.ports import HOST, free_ports


@contextmanager
def a_gateway(directory: Path) -> Iterator[int]:
    """Its port on this machine. Raises FileNotFoundError if it is not built."""
    (port,) = free_ports(1)
    command = [str(tool("pushgateway")), f"--web.listen-address={HOST}:{port}"]
    with answering(command, directory / "gateway.log", f"http://{HOST}:{port}", "-/ready"):
        yield port
