"""How a daemon reaches its cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from restow.client.connection import connect
from restow.client.transport import Api
from restow.daemon.logs import Log
from restow.daemon.settings import ApiSettings


@asynccontextmanager
async def connected(settings: ApiSettings, log: Log) -> AsyncIterator[Api]:
    """Give the API server that settings name, and log which it is; InputError for a configuration that cannot be used."""
    async with connect(settings.kubeconfig, qps=settings.qps, burst=settings.burst) as api:
        for warning in api.endpoint.warnings:
            log.warning(warning)
        log.info(f"The cluster is {api.endpoint.server} ({api.endpoint.origin})")
        yield api
