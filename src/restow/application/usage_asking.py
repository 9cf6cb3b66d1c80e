"""``restow snapshot --usage``: what Prometheus has measured of the nodes, as objects of the snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from restow.application.clusters import ClusterSource, usage_seconds, usage_step
from restow.application.feedback import Feedback
from restow.application.policies import read_policy_file
from restow.client.connection import connect
from restow.client.credentials import Endpoint
from restow.client.prometheus import InstantVector, QueryError, query_history
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.cluster.usage_series import PER_SHARE, SHARE, SampleSeries, packed, rounded
from restow.errors import InputError
from restow.in_thread import in_own_loop
from restow.kube.excerpts import excerpt
from restow.kube.objects import UsageSeries
from restow.plain_text import some
from restow.policies.fallbacks import Fallbacks
from restow.policies.usage import queries_of
from restow.pressure.nodes import index_of, list_nodes
from restow.pressure.samples import NodeRanges, ranges
from restow.reporting.wording import counted
from restow.usage.sources import PROMETHEUS

#: Cores that are busy, and bytes that are not available, as node_exporter measures them.
CPU_QUERY: Final = 'sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait"}[$window]))'
MEMORY_QUERY: Final = "sum by (instance) (node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)"

#: In a query it stands for the time between two samples, or five minutes where that is less.
WINDOW: Final = "$window"
#: Amounts in a sample of 1, by resource.
_PER_UNIT: Final = {"cpu": 1000, "memory": 1, SHARE: PER_SHARE}
_LEAST_WINDOW: Final = 300
#: Seconds that Prometheus gets for a query: it reads all of a range.
_TIME_OUT: Final = 300.0
#: Instances that a note names.
_NAMED: Final = 5


@dataclass(slots=True, frozen=True)
class RangeQuery:
    """One query for a range of time, as it is sent."""

    resource: str
    promql: str
    #: Where it was written.
    origin: str


@dataclass(slots=True, frozen=True)
class UsageRequest:
    """What to ask Prometheus for."""

    prometheus: Endpoint
    #: Seconds back from now, and between two samples.
    seconds: int
    step: int
    queries: Sequence[RangeQuery]


@dataclass(slots=True, frozen=True)
class UsageAnswer:
    """The series of a snapshot, and sentences about them."""

    series: Sequence[UsageSeries]
    notes: Sequence[str]


def usage_request(
    usage: str, prometheus: Endpoint, queries: Mapping[str, str], policy: str | None = None
) -> UsageRequest:
    """What the options ask for: queries by resource, and those of the policy at a path; InputError for one that cannot be used."""
    seconds = usage_seconds(usage)
    step = usage_step(seconds)
    window = f"{max(step, _LEAST_WINDOW)}s"
    asked = [RangeQuery(each, query.replace(WINDOW, window), f"--{each}-query") for each, query in queries.items()]
    asked += _policy_queries(policy)
    return UsageRequest(prometheus, seconds, step, asked)


def _policy_queries(path: str | None) -> list[RangeQuery]:
    """The queries that a policy asks Prometheus; InputError where it asks none."""
    if path is None:
        return []
    file = read_policy_file(path, Fallbacks())
    queries = [each for each in queries_of(file.loaded.policy) if each.source == PROMETHEUS]
    if not queries:
        raise InputError(f"{file.name}: no strategy asks Prometheus; leave --policy-config-file out")
    return [RangeQuery(SHARE, each.text, f"{file.name}: metricsUtilization.prometheus.query") for each in queries]


def ask_for_usage(wanted: UsageRequest, where: ClusterSource, nodes: Sequence[str], feedback: Feedback) -> UsageAnswer:
    """Ask Prometheus; InputError for a query that it refuses, ClientError where it does not answer.

    Samples belong to the nodes whose names and, in a live cluster, addresses their instance labels have.
    """
    series: list[UsageSeries] = []
    notes: list[str] = []
    for query, found in zip(wanted.queries, in_own_loop(_ask(wanted, where, nodes, feedback)), strict=True):
        series += [packed(node, query.resource, _stored(query, each)) for node, each in found.series.items()]
        notes += _notes(query, found, len(nodes))
    return UsageAnswer(series, notes)


def _stored(query: RangeQuery, series: SampleSeries) -> SampleSeries:
    """The series as it is kept: shares are compared with whole percents, so they are not rounded."""
    return series if query.resource == SHARE else rounded(series)


async def _ask(
    wanted: UsageRequest, where: ClusterSource, nodes: Sequence[str], feedback: Feedback
) -> list[NodeRanges]:
    index = await _live_index(where, nodes, feedback) if where.is_live else {name: at for at, name in enumerate(nodes)}
    found = []
    async with open_session() as session:
        prometheus = replace(Api(wanted.prometheus, session, None), time_out=_TIME_OUT)
        for query in wanted.queries:
            answer = await _history(prometheus, wanted, query)
            found.append(ranges(answer, index, nodes, per_unit=_PER_UNIT[query.resource], query=query.promql))
    return found


async def _live_index(where: ClusterSource, nodes: Sequence[str], feedback: Feedback) -> dict[str, int]:
    """The position of each node of the snapshot by its names and addresses; some may be new or gone by now."""
    async with connect(where.kubeconfig, where.context) as api:
        listed, unreadable = await list_nodes(api)
        feedback.warn(unreadable)
    position = {name: at for at, name in enumerate(nodes)}
    return {word: position[listed[at].name] for word, at in index_of(listed).items() if listed[at].name in position}


async def _history(prometheus: Api, wanted: UsageRequest, query: RangeQuery) -> InstantVector:
    try:
        return await query_history(prometheus, query.promql, wanted.seconds, wanted.step)
    except QueryError as error:
        raise InputError(f"{query.origin}: {error}") from error


def _notes(query: RangeQuery, found: NodeRanges, nodes: int) -> list[str]:
    notes, resource = [], query.resource
    if len(found.series) < nodes:
        without = counted(nodes - len(found.series), "node")
        notes.append(f"{resource}: Prometheus has no usage of {without} of {nodes:,}; try {query.origin} in it")
    if found.unmatched:
        named = some([excerpt(each) or '""' for each in found.unmatched], _NAMED)
        notes.append(f"{resource}: instances that are no node: {named}")
    if found.unusable:
        notes.append(
            f"{resource}: {counted(found.unusable, 'sample')} cannot be used and left gaps: no finite value, "
            "or several at one time; aggregate the query by (instance)"
        )
    return notes
