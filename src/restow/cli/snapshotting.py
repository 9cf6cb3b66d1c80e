"""From the arguments of ``restow snapshot`` to its file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from restow.application.clusters import ClusterSource, check_inputs, origin_of
from restow.cli.feedback import working
from restow.cli.options import STDIN
from restow.cli.streams import warn
from restow.cluster.left_out import left_out_notes
from restow.cluster.usage_columns import KIND as USAGE
from restow.errors import InputError
from restow.reporting.wording import counted
from restow.sources.compact import CompactCluster
from restow.sources.documents import check_complete, garbage_collection_paused, read_objects

if TYPE_CHECKING:
    from restow.cli.usage_asking import UsageRequest

_PACKED = ".gz"

#: Writes the whole content.
Write = Callable[[BinaryIO], None]


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
    wanted = _usage_request(request)
    if output is not None and output != STDIN:
        _check_target(output)
    with garbage_collection_paused(), working("reading the cluster"):
        cluster, origin = _read(where)
    if wanted is not None:
        _add_usage(cluster, wanted, where)
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
        from restow.application.live_clusters import live_origin, read_into
        from restow.live.kinds import METRICS, READ

        api_server, notes = read_into(cluster, (*READ, *METRICS), where.kubeconfig, where.context)
        warn([*notes, *left_out_notes(cluster.left_out)])
        return cluster, live_origin(api_server)
    report = read_objects(where.inputs, cluster, limited=not where.no_size_limit)
    check_complete(cluster.counts(), report)
    return cluster, origin_of(where, report.origin())


def _others(counts: Mapping[str, int]) -> int:
    return sum(counts.values()) - counts["Node"] - counts["Pod"] - counts.get(USAGE, 0)


def _usage_request(request: Request) -> UsageRequest | None:
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
    from restow.cli.usage_asking import CPU_QUERY, MEMORY_QUERY, usage_request
    from restow.client.prometheus import prometheus_endpoint

    queries = {"cpu": request.cpu_query or CPU_QUERY, "memory": request.memory_query or MEMORY_QUERY}
    prometheus = prometheus_endpoint(request.url, request.token_file, request.authorities, os.environ)
    return usage_request(request.usage, prometheus, queries, request.policy)


def _add_usage(cluster: CompactCluster, wanted: UsageRequest, where: ClusterSource) -> None:
    """Ask for usage and add it; InputError and ClientError as ``ask_for_usage``."""
    from restow.cli.usage_asking import ask_for_usage

    with working("asking Prometheus"):
        answer = ask_for_usage(wanted, where, cluster.names("Node"))
    warn(answer.notes)
    cluster.add(USAGE, answer.series)


# A regular file is replaced as a whole, so that nobody ever sees half of it, and keeps its mode and its owner. A link
# is followed to what it names. Anything else - a device, a pipe - is opened and written, never replaced.
def _check_target(path: str) -> None:
    """Raise InputError where the file that ``-o`` names cannot be written: a folder, a read-only file, no such place."""
    try:
        found = _stat(path)
        if found is None and not path.endswith(os.sep):
            os.scandir(_real(path).parent).close()
        elif found is None or stat.S_ISDIR(found.st_mode):
            raise InputError(f"-o {path}: is a directory; name a file in it")
        elif stat.S_ISREG(found.st_mode) and not (found.st_mode & 0o222 and os.access(path, os.W_OK)):
            raise InputError(f"-o {path}: the file is read-only; name another one, or make it writable")
    except OSError as error:
        raise _unusable(path, error) from error


def write_file(path: str, write: Write) -> None:
    """Write a file; InputError as ``_check_target``, OSError with the file's name where writing fails halfway."""
    _check_target(path)
    found = _stat(path)
    if found is None or stat.S_ISREG(found.st_mode):
        _replace(path, found, write)
    else:
        _write_through(path, write)


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _unusable(path: str, error: OSError) -> InputError:
    return InputError(f"-o {path}: {error.strerror or error}")


def _failed(path: str, error: OSError) -> OSError:
    return OSError(error.errno, f"-o {path}: {error.strerror or error}")


def _write_through(path: str, write: Write) -> None:
    try:
        stream = Path(path).open("wb")  # noqa: SIM115 - that it cannot be opened is another error than that it is full
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        with stream:
            write(stream)
    except OSError as error:
        raise _failed(path, error) from error


def _replace(path: str, found: os.stat_result | None, write: Write) -> None:
    """Write beside the file and put it there whole."""
    target = _real(path)
    try:
        stream = NamedTemporaryFile(dir=target.parent, prefix=".restow-", delete=False)  # noqa: SIM115 - as above
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        with stream:
            write(stream)  # type: ignore[arg-type]
        _dress(stream.name, found)
        Path(stream.name).replace(target)
    except BaseException as error:
        with suppress(OSError):
            Path(stream.name).unlink()
        if isinstance(error, OSError):
            raise _failed(path, error) from error
        raise


def _dress(name: str, found: os.stat_result | None) -> None:
    """Give a temporary file, which is for its owner alone, the mode and owner of the file before, or of a new file."""
    if found is None:
        os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101
        return
    with suppress(OSError):
        os.chown(name, found.st_uid, found.st_gid)
    os.chmod(name, stat.S_IMODE(found.st_mode))  # noqa: PTH101


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
