"""The API server for kopf, which asks it through an aiohttp session: ours, with the credentials that we keep fresh."""

from __future__ import annotations

from typing import Any

import aiohttp

from restow.client.errors import NoCredentials
from restow.client.transport import Api

_UNAUTHORIZED = 401


class Session:
    """As much of an aiohttp session as kopf uses."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.headers: dict[str, str] = {}

    @property
    def closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._api.session.closed

    async def close(self) -> None:
        """Do nothing: whoever opened the session closes it."""

    async def request(
        self, *, method: str, url: str, headers: dict[str, str] | None, **rest: Any
    ) -> aiohttp.ClientResponse:
        """Ask, and once more where a token has just been replaced."""
        response = await self._once(method, url, headers, rest)
        if response.status != _UNAUTHORIZED:
            return response
        response.release()
        self._api.endpoint.credentials.rejected()
        return await self._once(method, url, headers, rest)

    async def _once(
        self, method: str, url: str, headers: dict[str, str] | None, rest: dict[str, Any]
    ) -> aiohttp.ClientResponse:
        endpoint = self._api.endpoint
        try:
            identity = await endpoint.credentials.identity()
        except NoCredentials as error:
            # What kopf tries again.
            raise aiohttp.ClientConnectionError(str(error)) from error
        return await self._api.session.request(
            method,
            url,
            headers=[*self.headers.items(), *(headers or {}).items(), *identity.headers],
            ssl=identity.tls if identity.tls is not None else True,
            server_hostname=endpoint.server_name,
            proxy=endpoint.proxy,
            allow_redirects=False,
            **rest,
        )
