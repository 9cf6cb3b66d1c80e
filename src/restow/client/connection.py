"""From ``--kubeconfig`` and ``--context`` to an ``Api``.

Order of search, as for kubectl: the file that is named, KUBECONFIG, ``~/.kube/config``, the pod's service account.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from restow.client.credentials import Endpoint, OverTls, TokenFile
from restow.client.kubeconfig import kubeconfig as read_kubeconfig
from restow.client.proxies import proxy_for
from restow.client.rate_limit import rate_limit
from restow.client.sockets import Sockets
from restow.client.transport import Api
from restow.client.trust import Trust
from restow.errors import InputError
from restow.small_files import read_small_file

#: Seconds for which an idle connection is kept.
_KEEP_ALIVE = 60.0
#: Connections at a time; requests beyond wait for one. The watches keep about thirty, evictions and releases take 16 each.
MOST_CONNECTIONS = 128

#: Where the kubelet puts the files of a pod's service account.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: The kubelet sets these variables to the address of the API server.
_SERVICE = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


@asynccontextmanager
async def connect(
    kubeconfig: str | None = None, context: str | None = None, *, qps: float = 0.0, burst: int = 0
) -> AsyncIterator[Api]:
    """The API server that the configuration names; nothing is asked yet, and no socket of it is open afterwards.

    ``qps`` and ``burst`` as in ``rate_limit``. InputError says in one sentence what is wrong with the configuration.
    """
    endpoint = find_endpoint(kubeconfig, context, os.environ)
    async with open_session() as session:
        yield Api(endpoint, session, rate_limit(qps, burst))


@asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    """HTTP without cookies, over ``MOST_CONNECTIONS`` at most, which are closed at the end."""
    sockets = Sockets()
    connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE, socket_factory=sockets.make)
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # ``bodies`` does it, up to a size.
            auto_decompress=False,
        ) as session:
            yield session
    finally:
        await sockets.end()


def find_endpoint(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of the first configuration that there is; InputError if there is none, or it cannot be used."""
    paths = kubeconfig or environ.get("KUBECONFIG")
    if paths:
        return read_kubeconfig(paths, context, environ)
    own = _own(environ)
    if own.is_file() or context:
        return read_kubeconfig(str(own), context, environ)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ)
    raise InputError(
        f"no cluster: {own} does not exist, and restow does not run in a pod; name a file with --kubeconfig"
    )


def _own(environ: Mapping[str, str]) -> Path:
    """The user's own configuration; a container's user may have no home and no name."""
    try:
        home = Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:
        home = Path("/")
    return home / ".kube" / "config"


def in_cluster(environ: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Endpoint:
    """The API server of the cluster that this pod runs in; InputError where this is no pod or its files are missing."""
    token, authorities = directory / "token", directory / "ca.crt"
    host, port = (environ.get(name) or "" for name in _SERVICE)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        _check_pod(environ, token, authorities)
        credentials = OverTls(
            TokenFile(token),
            [authorities],
            lambda: Trust(read_small_file(str(authorities)), origin=str(authorities)).context(),
        )
    except (InputError, OSError) as error:
        raise InputError(f"the service account in {directory} cannot be used: {error}") from error
    return Endpoint(
        server=f"https://{address}",
        credentials=credentials,
        proxy=proxy_for(f"https://{address}", environ),
        origin=f"service account in {directory}, server {address}",
    )


def _check_pod(environ: Mapping[str, str], *files: Path) -> None:
    """InputError where this is no pod with a service account."""
    problems = [f"{name} is not set" for name in _SERVICE if not environ.get(name)]
    for file in files:
        if not file.is_file():
            problems.append(f"{file.name} does not exist")
        elif not file.stat().st_size:
            problems.append(f"{file.name} is empty")
    if problems:
        raise InputError(problems[0])
