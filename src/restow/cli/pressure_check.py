"""From the arguments of ``restow pressure check`` to its output."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from restow.application.named_files import file_bytes, file_name
from restow.cli.output import write_bytes
from restow.cli.pressure_inputs import PrometheusAccess, mark_of, share_of
from restow.cli.streams import warn
from restow.client.connection import connect, open_session
from restow.client.credentials import Endpoint
from restow.client.prometheus import Answer, QueryError, query
from restow.client.transport import Api
from restow.pressure.checking import check
from restow.pressure.known_nodes import list_nodes
from restow.pressure.nodes import MarkedNode
from restow.pressure.rules import Rule, RuleFile, read_rules
from restow.reporting.json import indented_json
from restow.reporting.pressure_table import check_warnings, print_check
from restow.reporting.terminal import console


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    rules: str
    prometheus: PrometheusAccess
    label: str
    most: float
    output: Literal["table", "json"]
    kubeconfig: str | None
    context: str | None


def answer(request: Request) -> None:
    """Ask Prometheus and the cluster, and write what the rules would do; InputError for whatever cannot be used."""
    most, mark = share_of(request.most), mark_of(request.label)
    file = read_rules(file_bytes(request.rules), file_name(request.rules))
    endpoint = request.prometheus.endpoint()
    warn(file.warnings)
    answers, nodes = asyncio.run(_ask(request, endpoint, file))
    found = check(file.rules, answers, nodes, mark, most)
    warn(check_warnings(found))
    if request.output == "json":
        write_bytes(indented_json(found) + b"\n")
    else:
        print_check(found, console())


async def _ask(request: Request, endpoint: Endpoint, file: RuleFile) -> tuple[list[Answer], list[MarkedNode]]:
    async with connect(request.kubeconfig, request.context) as api, open_session() as session:
        warn(api.endpoint.warnings)
        prometheus = Api(endpoint, session, None)
        answers = [await _query(prometheus, rule, file) for rule in file.rules]
        nodes, unreadable = await list_nodes(api)
        warn(unreadable)
        return answers, nodes


async def _query(prometheus: Api, rule: Rule, file: RuleFile) -> Answer:
    try:
        return await query(prometheus, rule.query)
    except QueryError as error:
        raise file.query_refused(rule, str(error)) from error
