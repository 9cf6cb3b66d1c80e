"""The webhook of steering: gates replacements where the API server has no admission policy that could.

Every replica answers, for the API server asks any of them: by what the ConfigMap names, and the one that leads also by what
it has just announced. A replica that ends gates nothing any more.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client.transport import Api
from restow.executing.admission import Announced, answer
from restow.executing.releasing import Awaits
from restow.running.background import background
from restow.running.logs import Log

#: Seconds for a handshake with this process.
_PATIENCE: Final = 1.0
#: Where a server is reached that listens everywhere.
_HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not listened on here


class Counts(Protocol):
    """Takes the figures; ``serving.steering_metrics.SteeringMetrics`` is one."""

    def reviewed(self, *, gated: bool) -> None:
        """A question was answered."""
        ...


@dataclass(slots=True)
class Webhook:
    """The webhook of this process."""

    counts: Counts
    #: Who knows of awaited replacements.
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
        """Ask somebody too which replacements are awaited, while the block runs."""
        self._knowing.append(knows)
        try:
            yield
        finally:
            # Whatever ends first, this process ends: it would not be there to let go what it gates.
            self._knowing.clear()

    async def distrust(self, host: str, authorities: bytes) -> str | None:
        """Why somebody who asks for a host would not trust this process with certificates (PEM) of authorities."""
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
    """A client as the API server is one: it takes a certificate of these authorities, or one of these itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authorities.decode("ascii"))
    return context


@asynccontextmanager
async def informed(webhook: Webhook, api: Api, namespace: str, log: Log) -> AsyncIterator[None]:
    """Have a webhook know what is announced in a namespace, while the block runs."""
    announced = Announced(api, namespace, log.warning)
    async with background(announced.run(), "follow steering"):
        with webhook.asking(announced):
            yield
