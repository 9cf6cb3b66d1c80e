"""What ``restow pressure`` is given, as it is used, and what its rules would do now."""

from __future__ import annotations

import os
from dataclasses import dataclass

from restow.application.feedback import Feedback
from restow.application.files import NamedFile, file_bytes, file_name
from restow.client.connection import connect
from restow.client.credentials import Endpoint
from restow.client.prometheus import InstantVector, QueryError, prometheus_endpoint, query
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.errors import InputError
from restow.in_thread import in_own_loop
from restow.kube.excerpts import excerpt
from restow.kube.validation import key_problems, value_problems
from restow.pressure.marking import Mark
from restow.pressure.nodes import MarkedNode, list_nodes
from restow.pressure.rules import Rule, RuleFile, read_rules
from restow.pressure.situation import PressureCheck, check


@dataclass(slots=True, frozen=True, kw_only=True)
class PrometheusAccess:
    """Where Prometheus is and who we are to it, as it was written."""

    url: str
    token_file: str | None
    authorities: str | None
    certificate: str | None
    key: str | None
    headers: tuple[str, ...]

    def endpoint(self) -> Endpoint:
        """Return how it is reached; InputError where it cannot be."""
        if bool(self.certificate) != bool(self.key):
            raise InputError("--prometheus-cert-file and --prometheus-key-file go together: one of them is missing")
        pair = (self.certificate, self.key) if self.certificate and self.key else None
        return prometheus_endpoint(
            self.url, self.token_file, self.authorities, os.environ, headers=self.headers, certificate=pair
        )


def mark_of(label: str) -> Mark:
    """Return the mark of ``--label``; InputError where it is none."""
    key, equals, value = label.partition("=")
    problems = [*key_problems(key), *value_problems(value)] if equals else ["it must have the form KEY=VALUE"]
    if problems:
        raise InputError(f"--label {excerpt(repr(label))}: {problems[0]}")
    return Mark(key, value)


def share_of(most: float) -> float:
    """Return the share of ``--max-share``; InputError where it is none."""
    if not 0 < most <= 1:
        raise InputError("--max-share must be above 0, up to 1, where 1 is all nodes")
    return most


@dataclass(slots=True, frozen=True)
class PressureCheckRequest:
    """Which rules to try, and where; as a user writes it."""

    rules: NamedFile
    prometheus: PrometheusAccess
    #: KEY=VALUE.
    label: str
    #: The share of nodes that one rule may mark.
    max_share: float
    kubeconfig: str | None = None
    context: str | None = None


def check_rules(request: PressureCheckRequest, feedback: Feedback) -> PressureCheck:
    """Ask Prometheus and the cluster what the rules would do; InputError for anything in the request that cannot be used."""
    most, mark = share_of(request.max_share), mark_of(request.label)
    file = read_rules(file_bytes(request.rules), file_name(request.rules))
    endpoint = request.prometheus.endpoint()
    feedback.warn(file.warnings)
    answers, nodes = in_own_loop(_ask(request, endpoint, file, feedback))
    return check(file.rules, answers, nodes, mark, most)


async def _ask(
    request: PressureCheckRequest, endpoint: Endpoint, file: RuleFile, feedback: Feedback
) -> tuple[list[InstantVector], list[MarkedNode]]:
    async with connect(request.kubeconfig, request.context) as api, open_session() as session:
        feedback.warn(api.endpoint.warnings)
        prometheus = Api(endpoint, session, None)
        answers = [await _query(prometheus, rule, file) for rule in file.rules]
        nodes, unreadable = await list_nodes(api)
        feedback.warn(unreadable)
        return answers, nodes


async def _query(prometheus: Api, rule: Rule, file: RuleFile) -> InstantVector:
    try:
        return await query(prometheus, rule.query)
    except QueryError as error:
        raise file.query_refused(rule, str(error)) from error
