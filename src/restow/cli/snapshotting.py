"""From the arguments of ``restow snapshot`` to its file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from restow.cli.inputs import Where, check_inputs, origin_of
from restow.cli.options import STDIN
from restow.cli.progress import working
from restow.cli.streams import tell
from restow.cluster.left_out import left_out_notes
from restow.errors import InputError
from restow.reporting.wording import counted
from restow.sources.compact import CompactCluster
from restow.sources.documents import check_complete, garbage_collection_paused, read_objects

_PACKED = ".gz"


def write_snapshot(where: Where, output: str | None) -> None:
    """Read a cluster and write it; InputError and ClientError as ``read_cluster``."""
    check_inputs(where)
    with garbage_collection_paused(), working("reading the cluster"):
        cluster, origin = _read(where)
    with working("writing the snapshot"):
        if output is None or output == STDIN:
            sys.stdout.flush()
            cluster.write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        _write(cluster, Path(output))
    counts = cluster.counts()
    what = f"{counted(counts['Node'], 'node')}, {counted(counts['Pod'], 'pod')}, {counted(_others(counts), 'other object')}"
    tell([f"{output}: {what} of {origin}, {Path(output).stat().st_size:,} bytes"])


def _read(where: Where) -> tuple[CompactCluster, str]:
    cluster = CompactCluster()
    if where.is_live:
        from restow.cli.live_inputs import read_into
        from restow.live.kinds import METRICS, READ

        origin, notes = read_into(cluster, (*READ, *METRICS), where.kubeconfig, where.context)
        tell([*notes, *left_out_notes(cluster.left_out)])
        return cluster, origin
    report = read_objects(where.inputs, cluster)
    check_complete(cluster.counts(), report)
    return cluster, origin_of(where, report.origin())


def _others(counts: Mapping[str, int]) -> int:
    return sum(counts.values()) - counts["Node"] - counts["Pod"]


def _write(cluster: CompactCluster, file: Path) -> None:
    """Write beside the file and put it there whole, so that nobody ever sees half of it."""
    try:
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as stream:
            try:
                (cluster.write_gzip if file.name.endswith(_PACKED) else cluster.write)(stream)  # type: ignore[arg-type]
                stream.flush()
                # A temporary file is for its owner alone; this one is as the user's other files.
                os.chmod(stream.name, 0o666 & ~_umask())  # noqa: PTH101
                Path(stream.name).replace(file)
            except BaseException:
                with suppress(OSError):
                    Path(stream.name).unlink()
                raise
    except OSError as error:
        raise InputError(f"-o {file}: {error.strerror or error}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
