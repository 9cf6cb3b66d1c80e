"""A synthetic cluster, as if it had been read from a dump."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from restow.application.clusters import ClusterSource, LoadedCluster, read_cluster
from restow.application.feedback import Collected
from restow.sources.synthetic import generate, write_list


def generated(profile: str, nodes: int, pods: int, seed: int) -> LoadedCluster:
    """Generate a cluster and read it; InputError as ``generate``.

    Its source is a dump in the folder for temporary files. The caller deletes it when no simulation needs it any more.
    """
    objects = generate(profile, nodes, pods, seed)
    with NamedTemporaryFile(prefix="restow-", suffix=".json", delete=False) as file:
        write_list(objects, file)  # type: ignore[arg-type]
    try:
        found = read_cluster(ClusterSource((file.name,)), Collected())
    except BaseException:
        Path(file.name).unlink()
        raise
    return replace(found, origin=f"generated, profile {profile}, seed {seed}")


def delete(source: ClusterSource) -> None:
    """Delete the dump of a generated cluster, if it is still there."""
    for path in source.inputs:
        Path(path).unlink(missing_ok=True)
