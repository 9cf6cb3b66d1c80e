"""Instant queries to Prometheus, or to whatever speaks its HTTP API.

Connections, TLS, tokens that are replaced, and repeated tries are those of the API server's client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from restow.client.credentials import Credentials, Fixed, Identity, OverTls, TokenFile, basic
from restow.client.endpoint import Endpoint
from restow.client.errors import ApiError, BadRequest, ClientError
from restow.client.proxies import proxy_for
from restow.client.transport import Api
from restow.client.trust import Trust
from restow.client.urls import is_http, split_user
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.redaction import without_password

_QUERY: Final = "/api/v1/query"
_ORIGIN: Final = "--prometheus-url"
_FORMS: Final = {
    "matrix": "a range of values, not one value a node; leave out the [...] at its end",
    "scalar": "one number without labels, not one value a node; write ... by (instance)",
    "string": "a text, not one value a node",
}


class QueryError(ClientError):
    """Prometheus cannot evaluate a query, or it comes to something else than values with labels."""


@dataclass(slots=True, frozen=True)
class Sample:
    """One series of an instant vector; ``instance`` is empty where it has no such label."""

    instance: str
    value: float
    #: Seconds since the epoch, by the clock of Prometheus.
    at: float


@dataclass(slots=True, frozen=True)
class Answer:
    """What a query came to; ``at`` is what the clock of Prometheus said then, so that ours does not count."""

    samples: tuple[Sample, ...]
    at: float


class _Series(Struct, frozen=True, gc=False):
    metric: dict[str, str] = {}
    #: Histograms have none.
    value: tuple[float, str] = (0.0, "NaN")


class _Data(Struct, frozen=True, rename="camel"):
    result_type: str
    result: Raw


class _Reply(Struct, frozen=True):
    data: _Data


def prometheus_endpoint(
    url: str, token_file: str | None, authorities: str | None, environ: Mapping[str, str]
) -> Endpoint:
    """Where a Prometheus is; user and password may stand in the URL. InputError where something cannot be used."""
    if not is_http(url):
        shown = excerpt(repr(without_password(url)))
        raise InputError(f"{_ORIGIN} {shown} is not an http:// or https:// URL such as http://prometheus:9090")
    server, password = split_user(url.rstrip("/"))
    own: Credentials = (
        TokenFile(Path(token_file)) if token_file else Fixed(Identity((basic(*password),) if password else ()))
    )
    if server.startswith("https://"):
        files = [Path(authorities)] if authorities else []
        own = OverTls(own, files, lambda: _trust(authorities).context())
    return Endpoint(server=server, credentials=own, proxy=proxy_for(server, environ), origin=_ORIGIN)


async def query(prometheus: Api, promql: str) -> Answer:
    """What a query comes to now; QueryError for one that cannot be used, other ClientErrors for all else."""
    where = f"Prometheus at {prometheus.endpoint.server}"
    try:
        data = await prometheus.read(_QUERY, {"query": promql}, _data)
        if data.result_type != "vector":
            raise QueryError(f"it comes to {_FORMS.get(data.result_type, excerpt(data.result_type))}")
        series = msgspec.json.decode(data.result, type=list[_Series])
        samples = tuple(Sample(each.metric.get("instance", ""), float(each.value[1]), each.value[0]) for each in series)
    except BadRequest as refused:
        raise QueryError(f"{where} refuses the query: {refused.message}") from refused
    except ApiError as refused:
        raise ClientError(f"{where} answered {refused.status}: {refused.message}") from refused
    except (msgspec.DecodeError, ValueError) as error:
        raise ClientError(f"{where} answered what is no instant vector: {excerpt(error)}") from error
    return Answer(samples, prometheus.server_time.now())


def _data(body: bytes) -> _Data:
    return msgspec.json.decode(body, type=_Reply).data


def _trust(authorities: str | None) -> Trust:
    if authorities is None:
        return Trust()
    try:
        return Trust(Path(authorities).read_bytes(), origin=f"--prometheus-ca-file {authorities}")
    except OSError as error:
        raise InputError(f"--prometheus-ca-file {authorities}: {error.strerror or error}") from error
