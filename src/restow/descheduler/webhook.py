"""The webhook of steering: gates replacements where the API server has no admission policy that can.

The API server may ask any replica, so each answers by the entries of the ConfigMap; the leader also by its newest entries.
A replica that ends gates no more pods.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from restow.client.transport import Api
from restow.daemon.background import background
from restow.daemon.logs import Log
from restow.executing.admission import Announced, answer
from restow.executing.steering import Awaits
from restow.serving.figures import SteeringMetrics

#: Seconds for a handshake with this process.
_PATIENCE: Final = 1.0
#: Where a server is reached that listens everywhere.
_HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not listened on here


@dataclass(slots=True)
class Webhook:
    """The webhook of this process."""

    counts: SteeringMetrics
    #: Sources of awaited replacements.
    _knowing: list[Awaits] = field(default_factory=list, init=False)
    #: Address and port of the server; None while there is none.
    _served: tuple[str, int] | None = field(default=None, init=False)

    def answer(self, review: bytes) -> bytes:
        """Answer an AdmissionReview."""
        answered = answer(review, self._awaits)
        self.counts.reviewed(gated=answered.is_gating)
        return answered.review

    def is_served(self, address: str, port: int) -> None:
        """Note where the server is."""
        self._served = _HERE.get(address, address), port

    @contextmanager
    def asking(self, knows: Awaits) -> Iterator[None]:
        """Add a source of awaited replacements while the block runs."""
        self._knowing.append(knows)
        try:
            yield
        finally:
            # As soon as one source ends, the process ends, and could not release the pods that it gates.
            self._knowing.clear()

    async def distrust(self, host: str, authorities: bytes) -> str | None:
        """Why a client of a host that trusts these authorities (PEM) would reject this process's certificate."""
        if self._served is None:
            return "restow serves nothing (--secure-port)"
        try:
            async with asyncio.timeout(_PATIENCE):
                _, writer = await asyncio.open_connection(
                    *self._served, ssl=_trusting(authorities), server_hostname=host
                )
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        except ssl.SSLError as error:
            return error.reason or str(error)
        except (OSError, ValueError) as error:
            return str(error) or "no answer"
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return None

    def _awaits(self, owner: str) -> bool:
        return any(each.awaits(owner) for each in self._knowing)


def _trusting(authorities: bytes) -> ssl.SSLContext:
    """The TLS context of a client like the API server, which trusts these authorities."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authorities.decode("ascii"))
    return context


@asynccontextmanager
async def informed(webhook: Webhook, api: Api, namespace: str, log: Log) -> AsyncIterator[None]:
    """Let a webhook follow the ConfigMap of a namespace while the block runs."""
    announced = Announced(api, namespace, log.warning)
    async with background(announced.run(), "follow steering"):
        with webhook.asking(announced):
            yield
