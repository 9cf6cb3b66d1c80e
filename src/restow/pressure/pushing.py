"""Hands a node's memory to a Pushgateway, where Prometheus and its rules find it.

A pushed figure stays until somebody deletes it. So whoever pushes again and again deletes its figure at the end: a node
that nobody measures any more has no sample, rather than an old one. Source: Pushgateway 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol
from urllib.error import HTTPError, URLError

from prometheus_client import CollectorRegistry, Gauge, delete_from_gateway, push_to_gateway
from prometheus_client.exposition import basic_auth_handler

from restow.errors import InputError
from restow.kube.excerpts import excerpt

#: As the rules of dynamic schedulers ask for it.
METRIC: Final = "k8_node_cgroups_mem_available"
JOB: Final = "CollectK8sCgroupsMem"
#: Seconds that a request may take.
_REQUEST: Final = 10.0


@dataclass(slots=True, frozen=True)
class Gateway:
    """A Pushgateway, and for whom figures are pushed to it."""

    #: Without user and password.
    url: str
    #: The node: its address or name.
    instance: str
    #: User and password.
    user: tuple[str, str] | None = None

    def push(self, available: int) -> None:
        """Replace the node's figure (bytes); ConnectionError with a sentence where that fails."""
        registry = CollectorRegistry()
        told = "Memory that the kubelet counts as available, in bytes."
        Gauge(METRIC, told, registry=registry).set(available)
        with self._trouble():
            push_to_gateway(self.url, JOB, registry, self._group(), _REQUEST, self._handler())

    def delete(self) -> None:
        """Delete the node's figure; ConnectionError with a sentence where that fails."""
        with self._trouble():
            delete_from_gateway(self.url, JOB, self._group(), _REQUEST, self._handler())

    def _group(self) -> dict[str, str]:
        return {"instance": self.instance}

    def _handler(self) -> Callable[..., Callable[[], None]]:
        user, password = self.user or (None, None)
        return partial(basic_auth_handler, username=user, password=password)

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            raise ConnectionError(f"{self.url} answered {error.code}: {excerpt(error.reason)}") from error
        except URLError as error:
            raise ConnectionError(f"{self.url} cannot be reached: {excerpt(error.reason)}") from error
        except OSError as error:
            raise ConnectionError(f"{self.url} did not answer: {excerpt(error)}") from error


class Stopping(Protocol):
    """Told when to end; ``threading.Event`` is one."""

    def wait(self, timeout: float) -> bool:
        """Wait for so many seconds at most; whether it is time to end."""
        ...


def keep_pushing(
    gateway: Gateway,
    measured: Callable[[], int],
    seconds: float,
    stopping: Stopping,
    warn: Callable[[str], None],
) -> None:
    """Push what is measured every so many seconds until told to stop, and then delete it.

    Trouble may pass: it is told once, and that it has passed.
    """
    trouble = ""
    while True:
        before, trouble = trouble, _pushed(gateway, measured)
        if trouble and trouble != before:
            warn(trouble)
        elif before and not trouble:
            warn(f"{gateway.url} has the figure of {gateway.instance} again")
        if stopping.wait(seconds):
            break
    try:
        gateway.delete()
    except ConnectionError as error:
        warn(f"the last figure of {gateway.instance} was not deleted: {error}")


def _pushed(gateway: Gateway, measured: Callable[[], int]) -> str:
    """Why nothing could be pushed; empty if it was."""
    try:
        gateway.push(measured())
    except (InputError, ConnectionError) as error:
        return str(error)
    return ""
