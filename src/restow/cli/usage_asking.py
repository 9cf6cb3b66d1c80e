"""``restow snapshot --usage``: what Prometheus has measured of the nodes, as objects of the snapshot."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from restow.cli.inputs import Where
from restow.cli.library_warnings import tell_library_warnings
from restow.cli.pressure_check import listed_nodes
from restow.cli.usage_range import usage_seconds, usage_step
from restow.client.connection import connect, open_session
from restow.client.endpoint import Endpoint
from restow.client.prometheus import Answer, QueryError, prometheus_endpoint, query_history
from restow.client.transport import Api
from restow.cluster.usage_columns import packed, rounded
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.objects import UsageSeries
from restow.pressure.nodes import index_of
from restow.pressure.ranges import NodeRanges, ranges
from restow.reporting.wording import counted

#: Cores that are busy, and bytes that nobody else can have, as node_exporter measures them.
CPU_QUERY: Final = 'sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait"}[$window]))'
MEMORY_QUERY: Final = "sum by (instance) (node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)"

#: In a query it stands for the time between two samples, or five minutes where that is less.
WINDOW: Final = "$window"
#: Amounts in a sample of 1, by resource.
_PER_UNIT: Final = {"cpu": 1000, "memory": 1}
_LEAST_WINDOW: Final = 300
#: Seconds that Prometheus gets for a query: it reads all of a range.
_TIME_OUT: Final = 300.0
#: Instances that a note names.
_NAMED: Final = 5


@dataclass(slots=True, frozen=True)
class UsageQuestion:
    """What Prometheus is asked."""

    prometheus: Endpoint
    #: Seconds back from now, and between two samples.
    seconds: int
    step: int
    #: By resource, as they are sent.
    queries: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class UsageAnswer:
    """The series of a snapshot, and what is to be told about them."""

    series: Sequence[UsageSeries]
    notes: Sequence[str]


def usage_question(
    usage: str, url: str, token_file: str | None, authorities: str | None, queries: Mapping[str, str]
) -> UsageQuestion:
    """What the options ask for; InputError for one that cannot be used."""
    seconds = usage_seconds(usage)
    step = usage_step(seconds)
    window = f"{max(step, _LEAST_WINDOW)}s"
    written = {resource: query.replace(WINDOW, window) for resource, query in queries.items()}
    return UsageQuestion(prometheus_endpoint(url, token_file, authorities, os.environ), seconds, step, written)


def ask_for_usage(question: UsageQuestion, where: Where, nodes: Sequence[str]) -> UsageAnswer:
    """Ask Prometheus; InputError for a query that it refuses, ClientError where it does not answer.

    Samples belong to the nodes whose names and, in a live cluster, addresses their instance labels have.
    """
    tell_library_warnings()
    series: list[UsageSeries] = []
    notes: list[str] = []
    for resource, found in asyncio.run(_ask(question, where, nodes)).items():
        series += [packed(node, resource, rounded(each)) for node, each in found.series.items()]
        notes += _notes(resource, found, len(nodes))
    return UsageAnswer(series, notes)


async def _ask(question: UsageQuestion, where: Where, nodes: Sequence[str]) -> dict[str, NodeRanges]:
    index = await _live_index(where, nodes) if where.is_live else {name: at for at, name in enumerate(nodes)}
    found = {}
    async with open_session() as session:
        prometheus = replace(Api(question.prometheus, session, None), time_out=_TIME_OUT)
        for resource, query in question.queries.items():
            answer = await _history(prometheus, question, resource, query)
            found[resource] = ranges(answer, index, nodes, per_unit=_PER_UNIT[resource], query=query)
    return found


async def _live_index(where: Where, nodes: Sequence[str]) -> dict[str, int]:
    """The position of each node of the snapshot by its names and addresses; some may have come or gone meanwhile."""
    async with connect(where.kubeconfig, where.context) as api:
        listed = await listed_nodes(api)
    position = {name: at for at, name in enumerate(nodes)}
    return {word: position[listed[at].name] for word, at in index_of(listed).items() if listed[at].name in position}


async def _history(prometheus: Api, question: UsageQuestion, resource: str, query: str) -> Answer:
    try:
        return await query_history(prometheus, query, question.seconds, question.step)
    except QueryError as error:
        raise InputError(f"--{resource}-query: {error}") from error


def _notes(resource: str, found: NodeRanges, nodes: int) -> list[str]:
    notes = []
    if len(found.series) < nodes:
        without = counted(nodes - len(found.series), "node")
        notes.append(f"{resource}: Prometheus has no usage of {without} of {nodes:,}; try --{resource}-query in it")
    if found.unmatched:
        named = ", ".join(excerpt(each) or '""' for each in found.unmatched[:_NAMED])
        more = len(found.unmatched) - _NAMED
        notes.append(f"{resource}: instances that are no node: {named}{f' and {more:,} more' if more > 0 else ''}")
    if found.unusable:
        notes.append(
            f"{resource}: {counted(found.unusable, 'sample')} cannot be used and left gaps: no finite value, "
            "or several at one time; aggregate the query by (instance)"
        )
    return notes
