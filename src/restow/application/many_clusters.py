"""One policy in many clusters: contexts of a kubeconfig, or a directory of snapshots, each planned by itself.

Clusters are planned on several processes. One that cannot be reached, or whose dump cannot be read, is a row of the result
and keeps no other from being planned. Credentials stay where they are: each cluster is asked with those of its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from restow.application.clusters import ClusterSource, instant
from restow.application.each_cluster import ClusterAnswer, ask_each
from restow.application.feedback import Feedback
from restow.application.files import NamedText, file_bytes, file_name, prepare_directory, replace_file
from restow.application.named_clusters import INDEX, ClusterNames, NamedCluster, file_name_of, named_clusters
from restow.application.planning import PlanRequest, make, rendered
from restow.application.policies import read_policy_file, read_scheduler_config
from restow.errors import InputError
from restow.kube.timestamps import format_time
from restow.reporting.clusters_result import ClusterRow, ClustersMetadata, ClustersPlan, cluster_row
from restow.sources.reading import STDIN
from restow.version import __version__


@dataclass(slots=True, frozen=True)
class ManyClustersRequest:
    """Which clusters to plan, as it was written."""

    #: How each is planned; which cluster it names does not count.
    plan: PlanRequest
    clusters: ClusterNames
    #: A directory for a page and a plan of each cluster, and an index.
    pages: str | None = None


class _Planned(NamedTuple):
    """The row of a cluster, and its files."""

    row: ClusterRow
    page: bytes = b""
    document: bytes = b""


@dataclass(slots=True, frozen=True)
class _Planning:
    """Plans a cluster as it was asked for."""

    request: PlanRequest
    #: Whether pages are wanted.
    has_pages: bool

    def __call__(self, cluster: NamedCluster, feedback: Feedback) -> _Planned:
        """Make the plan of one cluster."""
        planned = make(structs.replace(self.request, where=cluster.where), feedback)
        row = cluster_row(cluster.name, planned.plan)
        if not self.has_pages:
            return _Planned(row)
        return _Planned(row, rendered(planned, "html"), rendered(planned, "json"))


def plan_many(request: ManyClustersRequest, feedback: Feedback, processes: int | None = None) -> ClustersPlan:
    """Plan each cluster; InputError for what no cluster could be planned with, OSError where files cannot be written.

    ``processes`` is how many clusters are planned at a time (None: one for each core); the result is the same.
    """
    where = request.plan.where
    assert isinstance(where, ClusterSource)
    clusters = named_clusters(request.clusters, where)
    plan = read_once(request.plan)
    pages = None if request.pages is None else prepare_directory(request.pages, "--pages")
    with feedback.timings.phase("plan"), feedback.working(f"planning {len(clusters)} clusters"):
        found = [_told(each) for each in ask_each(clusters, _Planning(plan, pages is not None), processes)]
    if pages is None:
        return ClustersPlan(metadata=metadata_of(plan), clusters=tuple(each.row for each in found))
    return _saved(metadata_of(plan), found, pages)


def _told(found: ClusterAnswer[_Planned]) -> _Planned:
    """The answer of a cluster, with what was said in its row."""
    if found.answer is None:
        return _Planned(ClusterRow(name=found.name, error=found.error))
    return found.answer._replace(row=structs.replace(found.answer.row, warnings=found.warnings))


def metadata_of(request: PlanRequest) -> ClustersMetadata:
    """What all clusters are planned with, of a request that ``read_once`` has returned."""
    name = "" if request.policy is None else file_name(request.policy)
    return ClustersMetadata(name or "bundled policy", str(request.now), __version__)


def read_once(request: PlanRequest) -> PlanRequest:
    """The same request with what all clusters share: the texts of files, and the time. What is wrong with them is said now."""
    policy = request.policy
    if policy is not None:
        policy = NamedText(file_name(policy), file_bytes(policy))
        read_policy_file(policy, request.fallbacks)
    if request.kubedescheduler == STDIN:
        raise InputError("--kubedescheduler - is read for each cluster; put it into a file")
    configuration = request.configuration
    if configuration is not None:
        configuration = NamedText(file_name(configuration), file_bytes(configuration))
        read_scheduler_config(configuration)
    return structs.replace(request, policy=policy, configuration=configuration, now=format_time(instant(request.now)))


def _saved(metadata: ClustersMetadata, found: Sequence[_Planned], pages: Path) -> ClustersPlan:
    """Write the pages; returns the rows with the names of their files."""
    from restow.reporting.html.clusters import render_clusters

    rows, taken = [], {INDEX}
    for row, page, document in found:
        file = "" if row.error else file_name_of(row.name, taken)
        if file:
            replace_file(pages / f"{file}.html", page)
            replace_file(pages / f"{file}.json", document)
        rows.append(structs.replace(row, file=file))
    result = ClustersPlan(metadata=metadata, clusters=tuple(rows))
    replace_file(pages / f"{INDEX}.html", render_clusters(result).encode())
    return result
