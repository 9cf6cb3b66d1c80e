"""Usage from Prometheus and the other sources that a policy names: its queries, asked once for each cycle.

The results are stored in ``Cluster.usage``, so that deciding needs no network; a dump may contain results as well. Any
failure becomes the ``problem`` of a result, in upstream's words: a strategy that needs it cannot work then, and all
others can. Without a token in the policy, a pod sends that of its service account to Prometheus, and trusts the
authorities that come with it. Source: Descheduler 0.36, prom_client_controller.go; outside a pod, where upstream does not
query at all, Prometheus is queried without a token.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, Final

import aiohttp
from msgspec import Struct

from restow.client import objects
from restow.client.connection import SERVICE_ACCOUNT
from restow.client.credentials import Credentials, Endpoint, Fixed, Identity, TokenFile, bearer
from restow.client.prometheus import Authorities, InstantVector, WrongFormError, query, query_history, server_at
from restow.client.proxies import is_http
from restow.client.resources import SECRETS
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.cluster.usage_samples import NO_USAGE, QueryResult, UsageQuery, no_client, query_result
from restow.errors import ClientError, InputError
from restow.in_thread import EndlessError, in_thread
from restow.installed_packages import FAULTS
from restow.kube.duration import SECOND
from restow.kube.excerpts import described, excerpt
from restow.policies.policy import Policy, Prometheus, SecretReference, UsageSettings, prometheus_of, provider_of
from restow.policies.usage import queries_of
from restow.usage.sources import PROMETHEUS, Sample, Times, UsageSource, usage_sources

#: Seconds for all queries of a cycle, and for one try of one.
_ALL_QUERIES: Final = 60.0
_ONE_TRY: Final = 15.0
_ORIGIN: Final = "metricsProviders, Prometheus"
_KEY: Final = "prometheusAuthToken"
#: Seconds for a query of a source of an installed package, and the samples that count of its answer.
PATIENCE: Final = 60.0
MOST: Final = 10_000_000
#: What each query of a policy comes to at the moment; it never fails, a result says what is wrong.
AskForUsage = Callable[[Policy], Coroutine[Any, Any, Mapping[UsageQuery, QueryResult]]]


class _Secret(Struct, frozen=True):
    data: dict[str, str] | None = None


class PrometheusUsage(Struct, frozen=True):
    """Runs the queries of policies."""

    #: Of the cluster, for secrets.
    api: Api
    environ: Mapping[str, str]
    service_account: Path = SERVICE_ACCOUNT

    async def results(self, policy: Policy) -> Mapping[UsageQuery, QueryResult]:
        """The current results of a policy's queries; empty if it uses no Prometheus."""
        queries = tuple(each for each in queries_of(policy) if each.source == PROMETHEUS)
        prometheus = prometheus_of(policy)
        if not queries or prometheus is None:
            return {}
        return await self._asked(prometheus, queries, policy.restow.usage)

    async def _asked(
        self, prometheus: Prometheus, queries: tuple[UsageQuery, ...], settings: UsageSettings | None
    ) -> Mapping[UsageQuery, QueryResult]:
        try:
            async with asyncio.timeout(_ALL_QUERIES), open_session() as session:
                endpoint = await self._endpoint(prometheus, settings)
                server = Api(endpoint, session, None, time_out=_ONE_TRY)
                results = await asyncio.gather(*(_result(server, each.text, settings) for each in queries))
                return dict(zip(queries, results, strict=True))
        except TimeoutError:
            problem = f"{NO_USAGE}: unable to capture prometheus metrics: no answer within {PATIENCE:.0f} s"
        except (ClientError, InputError) as error:
            problem = f"{no_client(PROMETHEUS)}: {error}"
        return dict.fromkeys(queries, QueryResult(self.api.server_time.now(), problem=problem))

    async def _endpoint(self, prometheus: Prometheus, settings: UsageSettings | None) -> Endpoint:
        if not is_http(prometheus.url):
            raise InputError(f"{excerpt(repr(prometheus.url))} is not an http:// or https:// URL")
        in_pod = "KUBERNETES_SERVICE_HOST" in self.environ and (self.service_account / "token").is_file()
        token: Credentials | None = TokenFile(self.service_account / "token") if in_pod else None
        if prometheus.auth_token is not None and prometheus.auth_token.secret_reference is not None:
            token = await self._secret_token(prometheus.auth_token.secret_reference)
        authorities = self.service_account / "ca.crt" if in_pod else None
        if settings is not None and settings.ca_file:
            authorities = Path(settings.ca_file)
        trusted = None if authorities is None else Authorities(authorities, str(authorities))
        return server_at(prometheus.url, token, trusted, self.environ, origin=_ORIGIN)

    async def _secret_token(self, reference: SecretReference) -> Credentials:
        name = f"{reference.namespace}/{reference.name}"
        try:
            secret = await objects.get(self.api, SECRETS, reference.namespace, reference.name, _Secret)
        except ClientError as error:
            raise ClientError(f"unable to get {excerpt(name)} secret: {error}") from error
        try:
            token = base64.b64decode((secret.data or {}).get(_KEY, "")).decode()
        except (binascii.Error, UnicodeDecodeError):
            token = ""
        if not token:
            text = f'prometheus authentication token secret missing "{_KEY}" data or empty'
            raise ClientError(f"{text}: {excerpt(name)}")
        return Fixed(Identity((bearer(token.strip(), f"Secret {excerpt(name)}"),)))


async def _result(server: Api, promql: str, settings: UsageSettings | None) -> QueryResult:
    try:
        answer = await _answer(server, promql, settings)
    except WrongFormError as error:
        text = f'expected query results to be of type "vector", got "{excerpt(error.form)}" instead'
    except (ClientError, aiohttp.ClientError) as error:
        text = f"unable to capture prometheus metrics: {error}"
    else:
        return query_result(((each.instance, each.at, each.value) for each in answer.samples), answer.at)
    return QueryResult(server.server_time.now(), problem=f"{NO_USAGE}: {text}")


async def _answer(server: Api, promql: str, settings: UsageSettings | None) -> InstantVector:
    if settings is None or not settings.reach:
        return await query(server, promql)
    return await query_history(server, promql, settings.reach // SECOND, settings.spacing // SECOND)


async def no_usage(_: Policy) -> Mapping[UsageQuery, QueryResult]:
    """No results."""
    return {}


@dataclass(slots=True)
class QueriedUsage:
    """Runs the queries of policies, and remembers the results of earlier cycles."""

    #: Of the cluster, for secrets and the time.
    api: Api
    environ: Mapping[str, str]
    _before: dict[UsageQuery, QueryResult] = field(default_factory=dict)
    #: Queries whose thread has not come to its end.
    _running: set[UsageQuery] = field(default_factory=set)

    async def results(self, policy: Policy) -> Mapping[UsageQuery, QueryResult]:
        """What each query of a policy comes to now; empty where it asks none."""
        asked = [each for each in queries_of(policy) if each.source != PROMETHEUS]
        of_prometheus, others = await asyncio.gather(
            PrometheusUsage(self.api, self.environ).results(policy),
            asyncio.gather(*(self._result(each, policy) for each in asked)),
        )
        found = {**of_prometheus, **dict(zip(asked, others, strict=True))}
        cycles = policy.restow.usage.cycles_in_all if policy.restow.usage is not None else 1
        self._before = {each: result.after(self._before.get(each), cycles) for each, result in found.items()}
        return self._before

    async def _result(self, query: UsageQuery, policy: Policy) -> QueryResult:
        """What a query of a package's source comes to."""
        provider, now = provider_of(policy, query.source), self.api.server_time.now()
        try:
            source = usage_sources().get(query.source)
        except InputError as error:
            return QueryResult(now, problem=f"{no_client(query.source)}: {error}")
        if source is None or provider is None:
            return QueryResult(now, problem=no_client(query.source))
        answer = await self._answer(query, source, provider.args, _times(policy, now))
        if isinstance(answer, str):
            return QueryResult(now, problem=f"{NO_USAGE}: {query.source} {answer}")
        return query_result(answer, now)

    async def _answer(self, query: UsageQuery, source: UsageSource, args: Any, times: Times) -> list[Sample] | str:
        """The samples of a query; why there are none, in words."""
        if query in self._running:
            return "is still busy with the query of a cycle before"

        def ask() -> list[Sample] | str:
            try:
                return _sound(source.samples(args, query.text, times))
            except FAULTS as error:
                return f"raised {described(error)}"
            finally:
                self._running.discard(query)

        self._running.add(query)
        try:
            return await in_thread(ask, PATIENCE)
        except EndlessError:
            return f"has not answered within {PATIENCE:.0f} s"


def _times(policy: Policy, now: float) -> Times:
    settings = policy.restow.usage
    if settings is None or not settings.reach:
        return Times(now, 0, 0)
    return Times(now, settings.reach // SECOND, settings.spacing // SECOND)


def _sound(samples: Iterable[Any]) -> list[Sample] | str:
    """The samples as plain values; what is wrong with one that is none, or with their number."""
    found: list[Sample] = []
    for each in islice(samples, MOST + 1):
        sample = _sample(each)
        if sample is None:
            return f"gave {excerpt(repr(each))} instead of a node, a time and a value"
        found.append(sample)
    return found if len(found) <= MOST else f"gave more than {MOST:,} samples"


def _sample(given: Any) -> Sample | None:
    if not isinstance(given, tuple | list) or len(given) != 3:
        return None
    node, time, value = given
    if not isinstance(node, str) or not _is_number(time) or not _is_number(value) or not math.isfinite(time):
        return None
    return node, float(time), float(value)


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)
