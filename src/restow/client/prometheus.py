"""Queries to Prometheus, or another server with its HTTP API: their results now, or over the last while.

Connections, TLS, rotated tokens and retries are those of the API server's client.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from restow.client import sessions
from restow.client.credentials import (
    Certificate,
    Credentials,
    Endpoint,
    Fixed,
    Identity,
    OverTls,
    TokenFile,
    Trust,
    WithHeaders,
    basic,
)
from restow.client.errors import ApiError, BadRequest
from restow.client.proxies import is_http, proxy_for, split_user
from restow.client.transport import Api
from restow.errors import ClientError, InputError
from restow.kube.excerpts import excerpt
from restow.kube.numbers import parse_float
from restow.plain_text import without_password

_QUERY: Final = "/api/v1/query"
_ORIGIN: Final = "--prometheus-url"
_AUTHORITIES: Final = "--prometheus-ca-file"
_CERTIFICATE: Final = ("--prometheus-cert-file", "--prometheus-key-file")
#: The name of a header. Source: RFC 9110, section 5.1.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORMS: Final = {
    "matrix": "a range of values, not one value a node; leave out the [...] at its end",
    "scalar": "one number without labels, not one value a node; write ... by (instance)",
    "string": "a text, not one value a node",
}


class QueryError(ClientError):
    """Prometheus cannot evaluate a query, or its result is not values with labels."""


class WrongFormError(QueryError):
    """The result of a query is not values with labels; ``form`` is Prometheus' word for what it is."""

    def __init__(self, form: str) -> None:
        super().__init__(f"it comes to {_FORMS.get(form, excerpt(form))}")
        self.form = form


class VectorSample(Struct, frozen=True):
    """One series of an instant vector; ``instance`` is empty where it has no such label, and ``value`` may be NaN."""

    instance: str
    #: NaN where it cannot be read: then this node has no value, and the others have theirs.
    value: float
    #: Seconds since the epoch, by the clock of Prometheus.
    at: float


class LabelledSample(Struct, frozen=True):
    """One series with all of its labels; ``value`` is NaN where it cannot be read."""

    labels: Mapping[str, str]
    value: float


_Found = TypeVar("_Found")


class InstantVector(Struct, frozen=True):
    """The result of a query; ``at`` is the time by the clock of Prometheus, so that ours does not matter."""

    samples: tuple[VectorSample, ...]
    at: float


class Authorities(Struct, frozen=True):
    """A PEM file of certificate authorities, and its name in messages."""

    path: Path
    origin: str


class _Series(Struct, frozen=True, gc=False):
    metric: dict[str, str] = {}
    #: Histograms have none.
    value: Any = (0.0, "NaN")


class _Range(Struct, frozen=True, gc=False):
    metric: dict[str, str] = {}
    values: tuple[Any, ...] = ()


class _Data(Struct, frozen=True, rename="camel"):
    result_type: str
    result: Raw


class _Reply(Struct, frozen=True):
    data: _Data


def prometheus_endpoint(
    url: str,
    token_file: str | None,
    authorities: str | None,
    environ: Mapping[str, str],
    *,
    headers: Sequence[str] = (),
    certificate: tuple[str, str] | None = None,
) -> Endpoint:
    """Where a Prometheus is; user and password may stand in the URL. InputError where something cannot be used.

    ``headers`` are more of them, as ``NAME: VALUE``; ``certificate`` are the files of ours and of its key.
    """
    if not is_http(url):
        shown = excerpt(repr(without_password(url)))
        raise InputError(f"{_ORIGIN} {shown} is not an http:// or https:// URL such as http://prometheus:9090")
    token = TokenFile(Path(token_file)) if token_file else None
    trusted = Authorities(Path(authorities), f"{_AUTHORITIES} {authorities}") if authorities else None
    pair = (Path(certificate[0]), Path(certificate[1])) if certificate else None
    endpoint = server_at(url, token, trusted, environ, origin=_ORIGIN, certificate=pair)
    more = tuple(map(_header, headers))
    return replace(endpoint, credentials=WithHeaders(endpoint.credentials, more)) if more else endpoint


def server_at(
    url: str,
    token: Credentials | None,
    authorities: Authorities | None,
    environ: Mapping[str, str],
    *,
    origin: str,
    certificate: tuple[Path, Path] | None = None,
) -> Endpoint:
    """The server of an ``http`` or ``https`` URL; a user and a password in it count where there is no token.

    ``authorities`` None are those of the system; ``origin`` says in errors who named the server; ``certificate`` are the
    files of ours and of its key.
    """
    server, password = split_user(url.rstrip("/"))
    own = token or Fixed(Identity((basic(*password),) if password else ()))
    if server.startswith("https://"):
        files = [each for each in (authorities and authorities.path, *(certificate or ())) if each]
        own = OverTls(own, files, lambda: _trust(authorities).context(_certificate(certificate)))
    return Endpoint(server=server, credentials=own, proxy=proxy_for(server, environ), origin=origin)


async def query(prometheus: Api, promql: str) -> InstantVector:
    """The current result of a query; QueryError for an unusable one, other ClientErrors for all else."""
    return InstantVector(*await _asked(prometheus, promql, "vector", _newest))


async def query_labelled(prometheus: Api, promql: str) -> tuple[LabelledSample, ...]:
    """The same with all labels."""
    samples, _ = await _asked(prometheus, promql, "vector", _labelled)
    return samples


async def query_history(prometheus: Api, promql: str, seconds: int, step: int) -> InstantVector:
    """The results of a query every ``step`` seconds over the last ``seconds``, the samples of each series in order; errors as ``query``.

    It is sent as a subquery, so that the clock of Prometheus says when now is; a query may end in a comment.
    """
    return InstantVector(*await _asked(prometheus, f"({promql}\n)[{seconds}s:{step}s]", "matrix", _all))


async def _asked(
    prometheus: Api, promql: str, form: str, samples: Callable[[Raw], Iterator[_Found]]
) -> tuple[tuple[_Found, ...], float]:
    """The samples of a query's result, and the time by the clock of Prometheus."""
    where = f"Prometheus at {prometheus.endpoint.server}"
    try:
        data = await prometheus.up_to(sessions.QUERY).read(_QUERY, {"query": promql}, _data)
        if data.result_type != form:
            raise WrongFormError(data.result_type)
        return tuple(samples(data.result)), prometheus.server_time.now()
    except BadRequest as refused:
        raise QueryError(f"{where} refuses the query: {refused.message}") from refused
    except ApiError as refused:
        raise ClientError(f"{where} answered {refused.status}: {refused.message}") from refused
    except (msgspec.DecodeError, ValueError) as error:
        raise ClientError(f"{where} answered what is no instant {form}: {excerpt(error)}") from error


def _newest(result: Raw) -> Iterator[VectorSample]:
    for each in msgspec.json.decode(result, type=list[_Series]):
        yield _sample(each.metric.get("instance", ""), each.value)


def _labelled(result: Raw) -> Iterator[LabelledSample]:
    for each in msgspec.json.decode(result, type=list[_Series]):
        yield LabelledSample(each.metric, _sample("", each.value).value)


def _all(result: Raw) -> Iterator[VectorSample]:
    for series in msgspec.json.decode(result, type=list[_Range]):
        instance = series.metric.get("instance", "")
        yield from (_sample(instance, each) for each in series.values)


def _sample(instance: str, point: Any) -> VectorSample:
    """A pair of time and text as a sample."""
    match point:
        case (int() | float() as at, str(value)):
            try:
                return VectorSample(instance, parse_float(value), float(at))
            except (ValueError, OverflowError):
                pass
    return VectorSample(instance, math.nan, 0.0)


def _data(body: bytes) -> _Data:
    return msgspec.json.decode(body, type=_Reply).data


def _trust(authorities: Authorities | None) -> Trust:
    if authorities is None:
        return Trust()
    return Trust(_read(authorities.path, authorities.origin), origin=authorities.origin)


def _certificate(files: tuple[Path, Path] | None) -> Certificate | None:
    if files is None:
        return None
    chain, key = (_read(file, f"{option} {file}") for file, option in zip(files, _CERTIFICATE, strict=True))
    return Certificate(chain, key, f"{_CERTIFICATE[0]} {files[0]}")


def _read(file: Path, origin: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{origin}: {error.strerror or error}") from error


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not (value.isascii() and value.strip().isprintable()):
        raise InputError(f"--prometheus-header {excerpt(repr(name))} is no header such as X-Scope-OrgID: team-a")
    return name, value.strip()
