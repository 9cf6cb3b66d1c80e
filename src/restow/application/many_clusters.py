"""One policy in many clusters: contexts of a kubeconfig, or a directory of snapshots, each planned by itself.

Clusters are planned on several processes. One that cannot be reached, or whose dump cannot be read, is a row of the result
and keeps no other from being planned. Credentials stay where they are: each cluster is asked with those of its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

import restow
from restow.application.clusters import ClusterSource, instant
from restow.application.feedback import Collected, Feedback
from restow.application.files import NamedText, file_bytes, file_name, prepare_directory, replace_file
from restow.application.named_clusters import INDEX, ClusterNames, NamedCluster, file_name_of, named_clusters
from restow.application.planning import PlanRequest, make, rendered
from restow.application.policies import read_policy_file, read_scheduler_config
from restow.engines.registry import RunFeedback, in_processes, make_all
from restow.engines.work import Tick
from restow.errors import ClientError, InputError
from restow.kube.timestamps import format_time
from restow.reporting.clusters_result import ClusterRow, ClustersMetadata, ClustersPlan, cluster_row
from restow.sources.reading import STDIN


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
class _Plans:
    """The plans to make, a piece of work for each cluster."""

    clusters: Sequence[NamedCluster]
    request: PlanRequest
    #: Whether pages are wanted.
    has_pages: bool

    def __len__(self) -> int:
        return len(self.clusters)

    def make(self, number: int, tick: Tick) -> _Planned:
        """Plan one cluster; what goes wrong is in the row."""
        name, where = self.clusters[number]
        try:
            return self._plan(name, where)
        except (InputError, ClientError, OSError) as error:
            return _Planned(ClusterRow(name=name, error=str(error)))
        finally:
            tick(1)

    def _plan(self, name: str, where: ClusterSource) -> _Planned:
        feedback = Collected()
        planned = make(replace(self.request, where=where), feedback)
        row = cluster_row(name, planned.plan, tuple(feedback.warnings))
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
    plan = _read_once(request.plan)
    pages = None if request.pages is None else prepare_directory(request.pages, "--pages")
    work = _Plans(clusters, plan, pages is not None)
    with feedback.timings.phase("plan"), feedback.working(f"planning {len(clusters)} clusters"):
        found: list[_Planned] = make_all(work, in_processes(processes), RunFeedback())
    name = "" if plan.policy is None else file_name(plan.policy)
    metadata = ClustersMetadata(name or "bundled policy", str(plan.now), restow.__version__)
    if pages is None:
        return ClustersPlan(metadata=metadata, clusters=tuple(each.row for each in found))
    return _saved(metadata, found, pages)


def _read_once(request: PlanRequest) -> PlanRequest:
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
    return replace(request, policy=policy, configuration=configuration, now=format_time(instant(request.now)))


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
