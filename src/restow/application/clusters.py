"""Where a command's cluster comes from, which pods and nodes of it are named, and which times.

The cluster is what ``-f`` names, or without it the live one. Names that are not there get a similar one in the message. Times
are those of ``--now`` and ``--usage``.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from restow.application.feedback import Feedback
from restow.application.files import NamedFile
from restow.errors import InputError
from restow.kube.duration import parse_duration
from restow.kube.excerpts import excerpt, plural
from restow.kube.timestamps import SECOND, format_time, parse_time
from restow.reporting.wording import counted
from restow.scheduling.framework.minors import assumed_beside, minor_of
from restow.scheduling.loop.missing_data import KINDS
from restow.sources.kubectl import printing
from restow.sources.reading import STDIN

if TYPE_CHECKING:
    from restow.cluster.nodes import Nodes
    from restow.cluster.pods import Pods
    from restow.cluster.snapshot import ClusterSnapshot


class ClusterSource(Struct, frozen=True):
    """Where the cluster is, as it was written: inputs, or how to reach the API server."""

    inputs: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    #: Whether packed and piped inputs may be as large as they are.
    no_size_limit: bool = False
    #: Of the cluster's kube-scheduler, such as ``1.35``; None for that of the API server.
    scheduler_version: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether the API server is to be asked."""
        return not self.inputs


class LoadedCluster(Struct, frozen=True):
    """A cluster that was read."""

    cluster: ClusterSnapshot
    #: Where it came from, in a word or two.
    origin: str
    #: What else was found, in sentences.
    notes: Sequence[str]
    #: Host and port that it was read from; None where files were read.
    api_server: str | None = None
    #: How it was read.
    source: ClusterSource = ClusterSource()
    #: A sentence where the scheduler's version is assumed and may be another one; empty otherwise.
    assumed: str = ""

    @property
    def is_live(self) -> bool:
        """Whether the API server was asked."""
        return self.api_server is not None

    def with_usage_at(self, now: int) -> LoadedCluster:
        """The same, with the usage that a stored history knows of a time in nanoseconds; metrics of the input count first."""
        from restow.usage.stored import with_usage_at

        found = with_usage_at(self.cluster, now // SECOND)
        if not found.nodes:
            return self
        since = format_time(found.oldest * SECOND)
        note = f"usage of {counted(found.nodes, 'node')} is from the stored history, last measured at {since} or later"
        note += "; of pods it is estimated: their share of their node's requests" * found.estimated
        return structs.replace(self, cluster=found.cluster, notes=(*self.notes, note))

    def of_version(self, minor: int | None) -> LoadedCluster:
        """The same with the scheduler's minor that a policy names, unless a ``--scheduler-version`` says otherwise."""
        if minor is None or self.source.scheduler_version is not None:
            return self
        return structs.replace(self, cluster=replace(self.cluster, server_minor=minor), assumed="")

    def missing_warning(self, kinds: Collection[str], what: str) -> list[str]:
        """One sentence where ``what`` (moves, answers) depend on kinds that were not read, and what adds them."""
        return _missing_on_the_api_server(kinds, what) if self.is_live else _missing_warning(kinds, what)


def check_inputs(where: ClusterSource | LoadedCluster, *others: NamedFile | None) -> None:
    """Raise InputError where a cluster is named twice, or standard input; ``others`` are other files."""
    if isinstance(where, LoadedCluster):
        return
    if where.inputs and (where.kubeconfig or where.context):
        given = "--kubeconfig" if where.kubeconfig else "--context"
        raise InputError(f"-f names a dump and {given} a live cluster; leave one of them out")
    if [*where.inputs, *others].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once; put the other input into a file")


def read_cluster(where: ClusterSource | LoadedCluster, feedback: Feedback, *, usage: bool = False) -> LoadedCluster:
    """The cluster, unless it is read already; with ``usage`` also what metrics.k8s.io serves of a live one.

    InputError for what cannot be read or reached, ClientError for what goes wrong between here and the API server.
    """
    if isinstance(where, LoadedCluster):
        return where
    minor = None if where.scheduler_version is None else scheduler_minor(where.scheduler_version)
    if where.is_live:
        from restow.application.live_clusters import live_origin, read_live_cluster

        with feedback.working("reading the live cluster"):
            cluster, api_server, notes = read_live_cluster(where.kubeconfig, where.context, minor, usage=usage)
        return LoadedCluster(cluster, live_origin(api_server), notes, api_server, where)

    from restow.sources.documents import load_cluster

    with feedback.working("reading the cluster"):
        cluster, report = load_cluster(where.inputs, limited=not where.no_size_limit)
    origin, assumed = origin_of(where, report.origin()), "" if minor else assumed_beside(report.kubelets)
    cluster = replace(cluster, server_minor=minor)
    return LoadedCluster(cluster, origin, report.notes(), source=where, assumed=assumed)


def scheduler_minor(version: str) -> int:
    """The minor of a ``--scheduler-version``; InputError where restow does not know that scheduler."""
    try:
        return minor_of(version)
    except ValueError as error:
        raise InputError(f"--scheduler-version: {error}") from error


def instant(now: str | None) -> int:
    """The time of ``--now``, or the clock's: nanoseconds since the epoch. InputError where it is none."""
    if now is None:
        return time.time_ns()
    try:
        return parse_time(now)
    except ValueError as error:
        raise InputError(f"--now: {error}") from error


def origin_of(where: ClusterSource, found: str) -> str:
    """Where a dump came from, in a word or two."""
    return where.inputs[0] if len(where.inputs) == 1 and where.inputs[0] != STDIN else found


def _missing_warning(kinds: Collection[str], what: str) -> list[str]:
    """One sentence where ``what`` (moves, answers) depend on kinds that the input lacks; nothing otherwise."""
    if not kinds:
        return []
    names, adding = _listed(kinds), printing(kinds, "more.json")
    return [f"{what} depend on {names}, which the input lacks; to add them: {adding}, then -f more.json"]


def _missing_on_the_api_server(kinds: Collection[str], what: str) -> list[str]:
    """Likewise for a live cluster; which rights are missing was reported when it was read."""
    return [f"{what} depend on {_listed(kinds)}, which could not be listed"] if kinds else []


def _listed(kinds: Collection[str]) -> str:
    """Kinds for people, in one order: ``Services, ReplicaSets and StatefulSets``."""
    *names, last = (plural(kind) for kind in KINDS if kind in kinds)
    return f"{', '.join(names)} and {last}" if names else last


#: Comparing names takes a while; of a namespace with more pods only the first are compared.
_MOST_COMPARED = 5000


class NotFoundError(InputError):
    """The input holds no object of a name."""


def find_pod(pods: Pods, name: str, where: str) -> int:
    """The pod of that name; NotFoundError, which begins with ``where``, names a similar one where there is none."""
    namespace, slash, short = name.partition("/")
    found = _named(pods, short) if slash else []
    for pod in found:
        if pods.full_name(pod) == name:
            return pod
    if not slash:
        hint = _hint(pods, _named(pods, name), [])
        raise InputError(f"{where}: {name} is not of the form NAMESPACE/NAME{hint}")
    raise NotFoundError(f"{where}: the input holds no pod {name}{_hint(pods, found, _similar(pods, namespace, short))}")


def _named(pods: Pods, short: str) -> list[int]:
    return [pod for pod, each in enumerate(pods.names) if each == short]


def _hint(pods: Pods, same_name: list[int], similar: list[str]) -> str:
    near = pods.full_name(same_name[0]) if same_name else next(iter(similar), "")
    return f"; did you mean {near}?" if near else ""


def _similar(pods: Pods, namespace: str, short: str) -> list[str]:
    """The pods in the namespace (or in that of the most similar name) of that workload, and of the most similar name."""
    for near in get_close_matches(namespace, pods.tables.namespaces, n=1):
        inside = (pods.namespace == pods.tables.namespaces.index(near)).nonzero()[0].tolist()
        names = [pods.names[pod] for pod in inside[:_MOST_COMPARED]]
        of_workload = (each for each in names if each.startswith(f"{short}-"))
        return [f"{near}/{each}" for each in (*of_workload, *get_close_matches(short, names, n=1))]
    return []


def find_node(nodes: Nodes, name: str, where: str) -> int:
    """The node of that name; NotFoundError, which begins with ``where``, names a similar one where there is none."""
    found = nodes.index.get(name)
    if found is not None:
        return found
    short = [each for each in nodes.names if each.partition(".")[0] == name]
    near = next(iter(short or get_close_matches(name, nodes.names, n=1)), "")
    raise NotFoundError(f"{where}: the input holds no node {name}{f'; did you mean {near}?' if near else ''}")


#: A day in five minutes: no series has more samples.
_MOST_SAMPLES: Final = 288
_MINUTE: Final = 60
_LONGEST: Final = 366 * 24 * 3600


def usage_seconds(text: str) -> int:
    """Return how many seconds a range has; InputError where it cannot be used."""
    try:
        seconds = parse_duration(text) // SECOND
    except ValueError as error:
        raise InputError(f"--usage {excerpt(text)}: {error}; write a duration such as 24h") from error
    if not _MINUTE <= seconds <= _LONGEST:
        raise InputError(f"--usage {excerpt(text)}: must be from 1m to {_LONGEST // 3600}h")
    return seconds


def usage_step(seconds: int) -> int:
    """Return the seconds between two samples of a range: whole minutes, as few as keep it small."""
    return -(-seconds // (_MOST_SAMPLES * _MINUTE)) * _MINUTE
