"""What a rule file would do in many clusters, each asked at a Prometheus of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from restow.application.clusters import ClusterSource
from restow.application.each_cluster import ask_each
from restow.application.feedback import Feedback
from restow.application.files import NamedText, file_bytes, file_name
from restow.application.named_clusters import ClusterNames, NamedCluster, named_clusters
from restow.application.pressure import PressureCheckRequest, PrometheusAccess, check_rules, mark_of, share_of
from restow.errors import InputError
from restow.pressure.rules import read_rules
from restow.pressure.situation import PressureCheck
from restow.reporting.clusters_pressure import ClustersPressure, PressedCluster

#: Stands for the name of the context.
PLACEHOLDER: Final = "{context}"


@dataclass(slots=True, frozen=True)
class _Checking:
    """Tries the rules in one cluster."""

    request: PressureCheckRequest

    def __call__(self, cluster: NamedCluster, feedback: Feedback) -> PressureCheck:
        """What the rules would do there."""
        prometheus = _access_of(self.request.prometheus, cluster.name)
        return check_rules(replace(self.request, prometheus=prometheus, context=cluster.name), feedback)


def check_rules_in_many(
    request: PressureCheckRequest, names: ClusterNames, feedback: Feedback, processes: int | None = None
) -> ClustersPressure:
    """Try the rules in each cluster; InputError for what no cluster could be asked with.

    ``processes`` is how many are asked at a time (None: one for each core); the result is the same.
    """
    _check_placeholder(request.prometheus)
    share_of(request.max_share)
    mark_of(request.label)
    clusters = named_clusters(names, ClusterSource(kubeconfig=request.kubeconfig, context=request.context))
    rules = NamedText(file_name(request.rules), file_bytes(request.rules))
    read_rules(rules.content, rules.name)
    with feedback.working(f"asking {len(clusters)} clusters"):
        answers = ask_each(clusters, _Checking(replace(request, rules=rules)), processes)
    rows = (
        PressedCluster(name=each.name, error=each.error, warnings=each.warnings, check=each.answer) for each in answers
    )
    return ClustersPressure(rules=rules.name, clusters=tuple(rows))


def _check_placeholder(access: PrometheusAccess) -> None:
    """Two clusters have nodes of the same address, so one answer of Prometheus says nothing of both."""
    if not any(PLACEHOLDER in each for each in (access.url, *access.headers)):
        raise InputError(
            f"--contexts asks Prometheus about each cluster by itself: write {PLACEHOLDER} where the name of the context "
            "belongs in --prometheus-url, or in a --prometheus-header",
            f"such as --prometheus-url https://prometheus.{PLACEHOLDER}.example.com",
        )


def _access_of(access: PrometheusAccess, context: str) -> PrometheusAccess:
    token = access.token_file
    return replace(
        access,
        url=access.url.replace(PLACEHOLDER, context),
        headers=tuple(each.replace(PLACEHOLDER, context) for each in access.headers),
        token_file=None if token is None else token.replace(PLACEHOLDER, context),
    )
