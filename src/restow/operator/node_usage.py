"""What nodes are used for, as the Prometheus of a policy says it: one figure from 0 to 1 for each node.

A pod shows the token of its service account, and trusts the authorities that come with it, as the descheduler does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from restow.client.connection import open_session
from restow.client.credentials import TokenFile
from restow.client.endpoint import Endpoint
from restow.client.errors import ClientError
from restow.client.in_cluster import SERVICE_ACCOUNT
from restow.client.prometheus import Authorities, query, server_at
from restow.client.transport import Api
from restow.kube.excerpts import excerpt
from restow.policies.policy import Policy, prometheus_of

_ORIGIN: Final = "metricsProviders, Prometheus"
#: Seconds for one try of a query.
_TRY: Final = 15.0


async def node_usage(policy: Policy, promql: str, environ: Mapping[str, str]) -> Mapping[str, float]:
    """Return what a query comes to by ``instance``; ClientError where it cannot be had or is no share of 1."""
    prometheus = prometheus_of(policy)
    if prometheus is None:
        raise ClientError("the policy names no Prometheus (metricsProviders)")
    async with open_session() as session:
        answer = await query(Api(_endpoint(prometheus.url, environ), session, None, time_out=_TRY), promql)
    for sample in answer.samples:
        # Not a number is in no interval.
        if not 0 <= sample.value <= 1:
            raise ClientError(
                f'the collected metrics sample for "{excerpt(sample.instance)}" has value {sample.value:g} outside of '
                "<0; 1> interval"
            )
    return {sample.instance: sample.value for sample in answer.samples}


def _endpoint(url: str, environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Endpoint:
    token, authorities = service_account / "token", service_account / "ca.crt"
    is_pod = "KUBERNETES_SERVICE_HOST" in environ and token.is_file()
    trusted = Authorities(authorities, str(authorities)) if is_pod else None
    return server_at(url, TokenFile(token) if is_pod else None, trusted, environ, origin=_ORIGIN)
