"""The policies that Deschedulers in many clusters have, each from the ConfigMap of its cluster: checked like files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from restow.application.clusters import ClusterSource
from restow.application.each_cluster import ask_each
from restow.application.feedback import Feedback
from restow.application.files import NamedText
from restow.application.named_clusters import ClusterNames, NamedCluster, named_clusters
from restow.application.policies import CheckedFiles, check_file, lint
from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import NotFound
from restow.client.resources import CONFIG_MAPS
from restow.documents.findings import Finding
from restow.errors import InputError
from restow.in_thread import in_own_loop
from restow.kube.excerpts import excerpt
from restow.policies.load import policies_in

#: Where the Descheduler's own manifests and its Helm chart put the policy.
CONFIG_MAP: Final = "kube-system/descheduler"


class _ConfigMap(Struct, frozen=True):
    data: Mapping[str, str] | None = None


@dataclass(slots=True, frozen=True)
class _Linting:
    """Lints the policy of one cluster, in the ConfigMap of this namespace and name."""

    namespace: str
    name: str

    def __call__(self, cluster: NamedCluster, feedback: Feedback) -> list[Finding]:
        """What is refused, ignored or odd in it, with the name of the cluster in place of a file's."""
        data = in_own_loop(self._data(cluster.where, feedback))
        found = policies_in(data)
        if len(found) != 1:
            what = (
                f"policies in {' and '.join(map(excerpt, sorted(found)))}, of which one is meant"
                if found
                else "no policy"
            )
            raise InputError(
                f"the ConfigMap {self.namespace}/{self.name} holds {what}; name the policy's with --config-map"
            )
        (text,) = found.values()
        return check_file(NamedText(cluster.name, text.encode()), lint)

    async def _data(self, where: ClusterSource, feedback: Feedback) -> Mapping[str, str]:
        async with connect(where.kubeconfig, where.context) as api:
            feedback.warn(api.endpoint.warnings)
            try:
                found = await objects.get(api, CONFIG_MAPS, self.namespace, self.name, _ConfigMap)
            except NotFound as error:
                raise InputError(
                    f"there is no ConfigMap {self.namespace}/{self.name}; name the policy's with --config-map"
                ) from error
        return found.data or {}


def lint_policies_of_clusters(
    names: ClusterNames, kubeconfig: str | None, config_map: str, feedback: Feedback, processes: int | None = None
) -> CheckedFiles:
    """Lint the policy of each cluster; the names of clusters stand for those of files.

    A cluster that cannot be asked, or has no such ConfigMap, is a finding. ``config_map`` is NAMESPACE/NAME. InputError
    where there are no clusters. ``processes`` is how many are asked at a time (None: one for each core).
    """
    namespace, slash, name = config_map.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise InputError(f"--config-map {excerpt(config_map)} is not of the form NAMESPACE/NAME")
    clusters = named_clusters(names, ClusterSource(kubeconfig=kubeconfig))
    with feedback.working(f"asking {len(clusters)} clusters"):
        answers = ask_each(clusters, _Linting(namespace, name), processes)
    found: list[Finding] = []
    for each in answers:
        feedback.warn(f"{each.name}: {sentence}" for sentence in each.warnings)
        found += each.answer if each.answer is not None else [Finding(each.name, 1, "error", "", each.error)]
    return CheckedFiles(tuple(each.name for each in answers), tuple(found))
