"""From the arguments of ``restow snapshot`` to its file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from restow.cli.inputs import Where, check_inputs, origin_of
from restow.cli.options import STDIN
from restow.cli.progress import working
from restow.cli.streams import tell
from restow.cli.written_files import check_target, write_file
from restow.cluster.left_out import left_out_notes
from restow.reporting.wording import counted
from restow.sources.compact import CompactCluster
from restow.sources.documents import check_complete, garbage_collection_paused, read_objects

_PACKED = ".gz"


def write_snapshot(where: Where, output: str | None) -> None:
    """Read a cluster and write it; InputError and ClientError as ``read_cluster``, errors as ``write_file``."""
    check_inputs(where)
    if output is not None and output != STDIN:
        check_target(output)
    with garbage_collection_paused(), working("reading the cluster"):
        cluster, origin = _read(where)
    with working("writing the snapshot"):
        if output is None or output == STDIN:
            sys.stdout.flush()
            cluster.write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        write_file(output, cluster.write_gzip if output.endswith(_PACKED) else cluster.write)
    counts = cluster.counts()
    what = f"{counted(counts['Node'], 'node')}, {counted(counts['Pod'], 'pod')}, {counted(_others(counts), 'other object')}"
    # Devices and pipes have no size.
    size = f", {Path(output).stat().st_size:,} bytes" * Path(output).is_file()
    tell([f"{output}: {what} of {origin}{size}"])


def _read(where: Where) -> tuple[CompactCluster, str]:
    cluster = CompactCluster()
    if where.is_live:
        from restow.cli.live_inputs import read_into
        from restow.live.kinds import METRICS, READ

        origin, notes = read_into(cluster, (*READ, *METRICS), where.kubeconfig, where.context)
        tell([*notes, *left_out_notes(cluster.left_out)])
        return cluster, origin
    report = read_objects(where.inputs, cluster, limited=not where.no_size_limit)
    check_complete(cluster.counts(), report)
    return cluster, origin_of(where, report.origin())


def _others(counts: Mapping[str, int]) -> int:
    return sum(counts.values()) - counts["Node"] - counts["Pod"]
