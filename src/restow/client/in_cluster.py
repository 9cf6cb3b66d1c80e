"""The API server as a pod sees it: addresses in the environment, the service account's files, a token that rotates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

from restow.client.credentials import OverTls, TokenFile
from restow.client.endpoint import Endpoint
from restow.client.official import config_modules
from restow.client.proxies import proxy_for
from restow.client.trust import Trust
from restow.errors import InputError

#: Where the kubelet puts the files of a pod's service account.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(environ: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Endpoint:
    """The API server of the cluster that this pod runs in; InputError where this is no pod or its files are missing."""
    token, authorities = directory / "token", directory / "ca.crt"
    loader = config_modules().incluster_config.InClusterConfigLoader(
        token_filename=str(token), cert_filename=str(authorities), environ=environ
    )
    found = SimpleNamespace(api_key={})
    try:
        loader.load_and_set(found)
        credentials = OverTls(
            TokenFile(token),
            [authorities],
            lambda: Trust(authorities.read_bytes(), origin=str(authorities)).context(),
        )
    except (config_modules().failure, OSError) as error:
        raise InputError(f"the service account in {directory} cannot be used: {error}") from error
    return Endpoint(
        server=found.host,
        credentials=credentials,
        proxy=proxy_for(found.host, environ),
        origin=f"service account in {directory}, server {urlsplit(found.host).netloc}",
    )
