"""Credentials from a program that the kubeconfig names, kept until they expire.

The official package runs the program and checks its answer; keeping the answer, and certificates as an answer, are
added here. Source: client.authentication.k8s.io/v1.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from restow.client.credentials import Identity, bearer
from restow.client.errors import NoCredentials
from restow.client.official import config_modules
from restow.client.trust import Certificate, Trust
from restow.errors import InputError
from restow.kube.timestamps import parse_time

#: Seconds before their end in which credentials are no longer used.
_MARGIN = 30.0
#: Seconds for the program, which may wait for somebody to log in.
_PATIENCE = 300.0
_NANO = 1_000_000_000


@dataclass(slots=True)
class ExecPlugin:
    """Runs the program when there is nothing, or nothing fresh, to show."""

    #: The official provider, ready to run.
    provider: Any
    #: None for a server without TLS.
    trust: Trust | None
    #: File and user, for errors.
    origin: str
    _known: Identity | None = field(init=False, default=None)
    #: Seconds since the epoch.
    _until: float = field(init=False, default=float("inf"))
    _running: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def identity(self) -> Identity:
        """What the program said last, or says now; NoCredentials where it fails."""
        async with self._running:
            if self._known is None or time.time() >= self._until - _MARGIN:
                status = await self._run()
                self._known, self._until = self._identity(status), self._end(status)
            return self._known

    def rejected(self) -> None:
        """Run the program again before the next request."""
        self._known = None

    async def _run(self) -> Mapping[str, Any]:
        command = self.provider.args[0]
        try:
            async with asyncio.timeout(_PATIENCE):
                status = await self.provider.run()
        except FileNotFoundError as error:
            raise NoCredentials(f"{self.origin}: the credential plugin {command} is not installed") from error
        except TimeoutError as error:
            raise NoCredentials(f"{self.origin}: {command} gave no answer within {_PATIENCE:.0f} s") from error
        except (config_modules().failure, OSError) as error:
            raise NoCredentials(f"{self.origin}: the credential plugin {command} failed: {error}") from error
        if not isinstance(status, dict):
            raise NoCredentials(f"{self.origin}: the credential plugin {command} answered without a status")
        return status

    def _identity(self, status: Mapping[str, Any]) -> Identity:
        token, chain, key = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
        if not token and not (chain and key):
            raise NoCredentials(
                f"{self.origin}: the credential plugin {self.provider.args[0]} gave neither a token nor a certificate"
            )
        certificate = Certificate(str(chain).encode(), str(key).encode(), self.origin) if chain and key else None
        try:
            tls = self.trust.context(certificate) if self.trust is not None else None
        except InputError as error:
            raise NoCredentials(str(error)) from error
        return Identity((bearer(str(token)),) if token else (), tls)

    def _end(self, status: Mapping[str, Any]) -> float:
        stated = status.get("expirationTimestamp")
        if not stated:
            return float("inf")
        try:
            return parse_time(str(stated)) / _NANO
        except ValueError as error:
            raise NoCredentials(f"{self.origin}: expirationTimestamp of the credential plugin: {error}") from error


def exec_plugin(settings: Any, trust: Trust | None, origin: str) -> ExecPlugin:
    """The plugin of a user's ``exec`` section (an official ConfigNode); InputError for one without a command."""
    try:
        provider = config_modules().exec_provider.ExecProvider(settings)
    except config_modules().failure as error:
        raise InputError(f"{origin}: {error}") from error
    # A path is relative to the kubeconfig; a bare name is looked up in PATH.
    command = str(provider.args[0])
    if os.sep in command:
        provider.args[0] = os.path.join(os.path.dirname(os.path.abspath(settings.path)), command)  # noqa: PTH118, PTH120, PTH100
    return ExecPlugin(provider, trust, origin)
