"""Usage from the Prometheus that a policy names.

Any failure becomes the ``problem`` of a result, in upstream's words: a strategy that needs it cannot work then, and all
others can. Without a token in the policy, a pod sends that of its service account, and trusts the authorities that come
with it. Source: Descheduler 0.36, prom_client_controller.go; outside a pod, where upstream does not query at all,
Prometheus is queried without a token.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from msgspec import Struct

from restow.client import objects
from restow.client.connection import SERVICE_ACCOUNT, open_session
from restow.client.credentials import Credentials, Endpoint, Fixed, Identity, TokenFile, bearer
from restow.client.prometheus import Authorities, InstantVector, WrongFormError, query, query_history, server_at
from restow.client.proxies import is_http
from restow.client.resources import SECRETS
from restow.client.transport import Api
from restow.cluster.usage_samples import NO_USAGE, QueryResult, UsageQuery, no_client, query_result
from restow.errors import ClientError, InputError
from restow.kube.duration import SECOND
from restow.kube.excerpts import excerpt
from restow.policies.policy import PROMETHEUS, Policy, Prometheus, SecretReference, UsageSettings, prometheus_of
from restow.policies.usage_section import queries_of

#: Seconds for all queries of a cycle, and for one try of one.
_PATIENCE: Final = 60.0
_TRY: Final = 15.0
_ORIGIN: Final = "metricsProviders, Prometheus"
_KEY: Final = "prometheusAuthToken"


class _Secret(Struct, frozen=True):
    data: dict[str, str] | None = None


@dataclass(slots=True, frozen=True)
class PrometheusUsage:
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
            async with asyncio.timeout(_PATIENCE), open_session() as session:
                endpoint = await self._endpoint(prometheus, settings)
                server = Api(endpoint, session, None, time_out=_TRY)
                results = await asyncio.gather(*(_result(server, each.text, settings) for each in queries))
                return dict(zip(queries, results, strict=True))
        except TimeoutError:
            problem = f"{NO_USAGE}: unable to capture prometheus metrics: no answer within {_PATIENCE:.0f} s"
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
