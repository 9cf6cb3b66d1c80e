"""From the arguments of ``restow snapshot`` to its file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.inputs import ClusterSource, check_inputs, origin_of
from restow.cli.options import STDIN
from restow.cli.progress import working
from restow.cli.streams import warn
from restow.cli.written_files import check_target, write_file
from restow.cluster.left_out import left_out_notes
from restow.cluster.usage_columns import KIND as USAGE
from restow.errors import InputError
from restow.reporting.wording import counted
from restow.sources.compact import CompactCluster
from restow.sources.documents import check_complete, garbage_collection_paused, read_objects

if TYPE_CHECKING:
    from restow.cli.usage_asking import UsageQuestion

_PACKED = ".gz"


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    where: ClusterSource
    output: str | None
    usage: str | None
    url: str | None
    token_file: str | None
    authorities: str | None
    cpu_query: str | None
    memory_query: str | None
    policy: str | None


def write_snapshot(request: Request) -> None:
    """Read a cluster and write it; InputError and ClientError as ``read_cluster``, errors as ``write_file``."""
    where, output = request.where, request.output
    check_inputs(where, request.policy)
    question = _usage_question(request)
    if output is not None and output != STDIN:
        check_target(output)
    with garbage_collection_paused(), working("reading the cluster"):
        cluster, origin = _read(where)
    if question is not None:
        _add_usage(cluster, question, where)
    with working("writing the snapshot"):
        if output is None or output == STDIN:
            sys.stdout.flush()
            cluster.write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        write_file(output, cluster.write_gzip if output.endswith(_PACKED) else cluster.write)
    counts = cluster.counts()
    what = f"{counted(counts['Node'], 'node')}, {counted(counts['Pod'], 'pod')}, {counted(_others(counts), 'other object')}"
    if USAGE in counts:
        what += f", {counted(counts[USAGE], 'series', 'series')} of usage"
    # Devices and pipes have no size.
    size = f", {Path(output).stat().st_size:,} bytes" * Path(output).is_file()
    warn([f"{output}: {what} of {origin}{size}"])


def _read(where: ClusterSource) -> tuple[CompactCluster, str]:
    cluster = CompactCluster()
    if where.is_live:
        from restow.cli.live_inputs import read_into
        from restow.live.kinds import METRICS, READ

        origin, notes = read_into(cluster, (*READ, *METRICS), where.kubeconfig, where.context)
        warn([*notes, *left_out_notes(cluster.left_out)])
        return cluster, origin
    report = read_objects(where.inputs, cluster, limited=not where.no_size_limit)
    check_complete(cluster.counts(), report)
    return cluster, origin_of(where, report.origin())


def _others(counts: Mapping[str, int]) -> int:
    return sum(counts.values()) - counts["Node"] - counts["Pod"] - counts.get(USAGE, 0)


def _usage_question(request: Request) -> UsageQuestion | None:
    """What Prometheus is asked; None if nothing."""
    options = {
        "--prometheus-url": request.url,
        "--prometheus-token-file": request.token_file,
        "--prometheus-ca-file": request.authorities,
        "--cpu-query": request.cpu_query,
        "--memory-query": request.memory_query,
        "--policy-config-file": request.policy,
    }
    given = next((option for option, value in options.items() if value is not None), None)
    if request.usage is None:
        if given is not None:
            raise InputError(f"{given} goes with --usage: add --usage 24h to store what nodes used")
        return None
    if request.url is None:
        raise InputError("--usage needs --prometheus-url: where to ask, such as http://prometheus:9090")
    from restow.cli.usage_asking import CPU_QUERY, MEMORY_QUERY, usage_question
    from restow.client.prometheus import prometheus_endpoint

    queries = {"cpu": request.cpu_query or CPU_QUERY, "memory": request.memory_query or MEMORY_QUERY}
    prometheus = prometheus_endpoint(request.url, request.token_file, request.authorities, os.environ)
    return usage_question(request.usage, prometheus, queries, request.policy)


def _add_usage(cluster: CompactCluster, question: UsageQuestion, where: ClusterSource) -> None:
    """Ask for usage and add it; InputError and ClientError as ``ask_for_usage``."""
    from restow.cli.usage_asking import ask_for_usage

    with working("asking Prometheus"):
        answer = ask_for_usage(question, where, cluster.names("Node"))
    warn(answer.notes)
    cluster.add(USAGE, answer.series)
