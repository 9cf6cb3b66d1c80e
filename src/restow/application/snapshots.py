"""A cluster as one compact file: read it, add what Prometheus has measured, and save it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from restow import garbage
from restow.application.clusters import ClusterSource, check_inputs, origin_of
from restow.application.each_cluster import ClusterAnswer, ask_each
from restow.application.feedback import Feedback
from restow.application.files import check_target, prepare_directory, write_file
from restow.application.named_clusters import ClusterNames, NamedCluster, file_name_of, named_clusters
from restow.application.past_runs import milliseconds_of
from restow.cluster.left_out import left_out_notes
from restow.cluster.usage_series import KIND as USAGE
from restow.errors import InputError
from restow.kube.duration import MILLISECOND
from restow.kube.timestamps import format_time
from restow.recordings.lines import RECORDED
from restow.recordings.reading import is_recording, read_moment
from restow.reporting.wording import counted
from restow.sources.compact import CompactCluster
from restow.sources.documents import check_complete, read_objects, take_objects
from restow.sources.reading import InputDocument

if TYPE_CHECKING:
    from restow.application.usage_asking import UsageRequest

_PACKED = ".gz"
_PACKED_JSON = ".json.gz"


@dataclass(slots=True, frozen=True)
class SnapshotRequest:
    """Which cluster to save, and what to ask Prometheus about it; as a user writes it."""

    where: ClusterSource
    #: The file that it is to be saved in, if it is one.
    output: str | None = None
    #: How far back to ask for usage, such as 24h; None: not at all.
    usage: str | None = None
    #: Where Prometheus is.
    url: str | None = None
    token_file: str | None = None
    authorities: str | None = None
    cpu_query: str | None = None
    memory_query: str | None = None
    #: The path of a policy, whose queries to Prometheus are asked too.
    policy: str | None = None
    #: Of a recording, the moment.
    at: str | None = None


@dataclass(slots=True, frozen=True)
class Snapshot:
    """A cluster that can be saved."""

    cluster: CompactCluster
    #: Where it came from, in a word or two.
    origin: str

    def save(self, path: str) -> str:
        """Write it to a file, and return a sentence about the file; errors as ``write_file``."""
        write_file(path, self.cluster.write_gzip if path.endswith(_PACKED) else self.cluster.write)
        # Devices and pipes have no size.
        size = f", {Path(path).stat().st_size:,} bytes" * Path(path).is_file()
        return f"{path}: {_content(self.cluster.counts())} of {self.origin}{size}"


def read_snapshot(request: SnapshotRequest, feedback: Feedback) -> Snapshot:
    """Read a cluster; InputError and ClientError as ``read_cluster``, and InputError for a file that cannot be written."""
    where = request.where
    check_inputs(where, request.policy)
    wanted = _usage_request(request)
    if request.output is not None:
        check_target(request.output)
    with garbage.paused(), feedback.working("reading the cluster"):
        moment = _recorded(where, request.at)
        snapshot = _read(where, feedback) if moment is None else moment
    if wanted is not None:
        _add_usage(snapshot.cluster, wanted, where, feedback)
    return snapshot


def _recorded(where: ClusterSource, at: str | None) -> Snapshot | None:
    """The cluster at a moment of a recording; None where the inputs are none."""
    if len(where.inputs) != 1 or not is_recording(where.inputs[0]):
        if at is not None:
            raise InputError("--at goes with a recording: -f DIRECTORY, as restow record has written it")
        return None
    (path,) = where.inputs
    moment = read_moment(path, None if at is None else milliseconds_of("--at", at))
    cluster = CompactCluster()
    for kind in RECORDED:
        if kind not in moment.unknown:
            cluster.add(kind, ())
    items = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": moment.objects})
    take_objects(InputDocument(path, items), cluster)
    return Snapshot(cluster, f"{path} at {format_time(moment.at * MILLISECOND)}")


def _read(where: ClusterSource, feedback: Feedback) -> Snapshot:
    cluster = CompactCluster()
    if where.is_live:
        from restow.application.live_clusters import live_origin, read_into
        from restow.live.reading import METRICS, READ

        api_server, notes = read_into(cluster, (*READ, *METRICS), where.kubeconfig, where.context)
        feedback.warn([*notes, *left_out_notes(cluster.left_out)])
        return Snapshot(cluster, live_origin(api_server))
    report = read_objects(where.inputs, cluster, limited=not where.no_size_limit)
    check_complete(cluster.counts(), report)
    return Snapshot(cluster, origin_of(where, report.origin()))


def _content(counts: Mapping[str, int]) -> str:
    """What a snapshot holds, in a few words."""
    others = sum(counts.values()) - counts["Node"] - counts["Pod"] - counts.get(USAGE, 0)
    what = f"{counted(counts['Node'], 'node')}, {counted(counts['Pod'], 'pod')}, {counted(others, 'other object')}"
    return what if USAGE not in counts else f"{what}, {counted(counts[USAGE], 'series', 'series')} of usage"


def _usage_request(request: SnapshotRequest) -> UsageRequest | None:
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
    from restow.application.usage_asking import CPU_QUERY, MEMORY_QUERY, usage_request
    from restow.client.prometheus import prometheus_endpoint

    queries = {"cpu": request.cpu_query or CPU_QUERY, "memory": request.memory_query or MEMORY_QUERY}
    prometheus = prometheus_endpoint(request.url, request.token_file, request.authorities, os.environ)
    return usage_request(request.usage, prometheus, queries, request.policy)


def _add_usage(cluster: CompactCluster, wanted: UsageRequest, where: ClusterSource, feedback: Feedback) -> None:
    """Ask for usage and add it; InputError and ClientError as ``ask_for_usage``."""
    from restow.application.usage_asking import ask_for_usage

    with feedback.working("asking Prometheus"):
        answer = ask_for_usage(wanted, where, cluster.names("Node"), feedback)
    feedback.warn(answer.notes)
    cluster.add(USAGE, answer.series)


@dataclass(slots=True, frozen=True)
class _Saving:
    """Saves a cluster to a file of its own."""

    #: The path for each cluster.
    files: Mapping[str, str]

    def __call__(self, cluster: NamedCluster, feedback: Feedback) -> str:
        """Save one cluster; returns a sentence about the file."""
        return read_snapshot(SnapshotRequest(cluster.where), feedback).save(self.files[cluster.name])


def save_many(
    names: ClusterNames, where: ClusterSource, directory: str, feedback: Feedback, processes: int | None = None
) -> list[ClusterAnswer[str]]:
    """Save each cluster to a file of a directory; InputError where there are no clusters, or it cannot be used.

    The answers are sentences about the files. ``processes`` is how many are saved at a time (None: one for each core).
    """
    clusters, place = named_clusters(names, where), prepare_directory(directory, "-o")
    taken: set[str] = set()
    files = {each.name: str(place / f"{file_name_of(each.name, taken)}{_PACKED_JSON}") for each in clusters}
    with feedback.working(f"saving {len(clusters)} clusters"):
        return ask_each(clusters, _Saving(files), processes)
