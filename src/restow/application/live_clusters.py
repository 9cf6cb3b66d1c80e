"""A live cluster as the input of a command: one list of each kind, nothing is watched and nothing written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from restow import garbage
from restow.client.connection import connect
from restow.client.version import server_minor
from restow.cluster.left_out import left_out_notes
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.errors import InputError
from restow.in_thread import in_own_loop
from restow.live.reading import METRICS, READ, REQUIRED, ListSink, Unlisted, read_kinds
from restow.policies.codes import SteeringMode
from restow.policies.policy import Policy
from restow.scheduling.framework.minors import not_followed
from restow.sources.kubectl import DUMP


def read_live_cluster(
    kubeconfig: str | None, context: str | None, scheduler_minor: int | None, *, usage: bool
) -> tuple[ClusterSnapshot, str, list[str]]:
    """The cluster as it is now, its API server, and sentences about it: refused kinds with the rule that adds them.

    ``scheduler_minor`` is that of its scheduler; None for that of the API server.
    Refused kinds are missing from the cluster, so that nothing is planned that ``restow run`` would not do.
    InputError where no configuration leads to a cluster, ClientError where the API server does not answer.
    """
    store = ClusterStore()
    kinds = (*READ, *METRICS) if usage else READ
    with garbage.paused():
        api_server, notes, minor = _read_with_version(store, kinds, kubeconfig, context)
        cluster = store.snapshot()
        cluster = cluster.without({kind for kind in kinds if kind not in REQUIRED and not cluster.has_list(kind)})
        minor = minor if scheduler_minor is None else scheduler_minor
        cluster = replace(cluster, server_minor=minor)
    if other := not_followed(minor):
        notes.append(f"{live_origin(api_server)}: {other}; what depends on scores is likely at most")
    notes += left_out_notes(cluster.left_out)
    unknown = cluster.pods.on_unknown_nodes()
    if unknown:
        notes.append(f"{live_origin(api_server)}: pods on nodes that are not there any more: {unknown}")
    return cluster, api_server, notes


def live_origin(api_server: str) -> str:
    """Where a live cluster came from, in a word or two."""
    return f"the cluster at {api_server}"


def ask_for_steering(kubeconfig: str | None, context: str | None) -> tuple[SteeringMode, str]:
    """How the cluster lets replacements be brought to their targets, as far as we may see, and a sentence about it."""
    from restow.descheduler.prerequisites import Gate, seen_gate

    async def seen() -> Gate | str:
        async with connect(kubeconfig, context) as api:
            return await seen_gate(api)

    gate = in_own_loop(seen())
    if isinstance(gate, Gate):
        return SteeringMode.NOMINATE, f"replacements are steered, behind a scheduling gate that {gate.value}"
    return SteeringMode.NONE, f"replacements are not steered: {gate}"


def read_usage(kubeconfig: str | None, context: str | None, policy: Policy) -> Mapping[UsageQuery, QueryResult]:
    """What the queries for usage come to that a policy asks."""
    from restow.live.usage import QueriedUsage

    async def results() -> Mapping[UsageQuery, QueryResult]:
        async with connect(kubeconfig, context) as api:
            return await QueriedUsage(api, os.environ).results(policy)

    return in_own_loop(results())


def read_into(
    sink: ListSink, kinds: Sequence[str], kubeconfig: str | None, context: str | None
) -> tuple[str, list[str]]:
    """Pass all objects of these kinds to ``sink``; returns host and port of the API server, and sentences about it."""
    api_server, notes, _ = _read_with_version(sink, kinds, kubeconfig, context)
    return api_server, notes


def _read_with_version(
    sink: ListSink, kinds: Sequence[str], kubeconfig: str | None, context: str | None
) -> tuple[str, list[str], int | None]:
    """What ``read_into`` returns, and the server's minor version."""
    read = in_own_loop(_read(sink, kinds, kubeconfig, context))
    return (
        urlsplit(read.server).netloc,
        [*read.warnings, *(each.why for each in read.unlisted)],
        read.minor,
    )


class _Read(NamedTuple):
    """Where objects came from, and what is to be said of it."""

    server: str
    warnings: tuple[str, ...]
    unlisted: tuple[Unlisted, ...]
    minor: int | None


async def _read(sink: ListSink, kinds: Sequence[str], kubeconfig: str | None, context: str | None) -> _Read:
    entered = False
    try:
        async with connect(kubeconfig, context) as api:
            entered = True
            unlisted = await read_kinds(api, kinds, sink)
            return _Read(api.endpoint.server, api.endpoint.warnings, unlisted, await server_minor(api))
    except InputError as error:
        if entered or kubeconfig or context or os.environ.get("KUBECONFIG"):
            raise
        piped = "" if sys.stdin.isatty() else ", or pipe it in with -f -"
        raise InputError(f"{error}, or a dump: {DUMP}, then -f cluster.json{piped}") from error
