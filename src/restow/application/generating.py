"""Synthetic clusters: written for ``restow generate``, or read as if they were a dump."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from msgspec import structs

from restow.errors import InputError
from restow.sources.synthetic import PROFILES, generate, policy_for, write_list

if TYPE_CHECKING:
    from restow.application.clusters import ClusterSource, LoadedCluster
    from restow.sources.synthetic.names import Object


@dataclass(slots=True, frozen=True)
class GenerateRequest:
    """Which cluster to make; as a user writes it."""

    profile: str
    nodes: int
    pods: int
    seed: int
    #: How far back nodes were measured, such as 24h; None: not at all.
    usage: str | None = None

    def __post_init__(self) -> None:
        """InputError, with all profiles, for one that is unknown."""
        if self.profile not in PROFILES:
            listed = (f"  {name:<28} {each.description}" for name, each in PROFILES.items())
            raise InputError(f"--profile: there is no profile {self.profile}; choose one of:", *listed)

    def policy(self) -> str:
        """Return the policy that has something to do in such a cluster, as YAML."""
        return policy_for(self.profile)

    def objects(self) -> Iterator[Object]:
        """Yield the cluster's objects; InputError where there cannot be so many, or for a ``usage`` that is no duration."""
        objects = generate(self.profile, self.nodes, self.pods, self.seed)
        if self.usage is None:
            return objects
        from restow.application.clusters import usage_seconds, usage_step
        from restow.sources.synthetic.usage import with_usage

        seconds = usage_seconds(self.usage)
        return with_usage(objects, seconds, usage_step(seconds), self.seed)


def generated(profile: str, nodes: int, pods: int, seed: int) -> LoadedCluster:
    """Generate a cluster and read it; InputError as ``generate``.

    Its source is a dump in the folder for temporary files. The caller deletes it when no simulation needs it any more.
    """
    from restow.application.clusters import ClusterSource, read_cluster
    from restow.application.feedback import Collected

    objects = generate(profile, nodes, pods, seed)
    with NamedTemporaryFile(prefix="restow-", suffix=".json", delete=False) as file:
        write_list(objects, file)  # type: ignore[arg-type]
    try:
        found = read_cluster(ClusterSource((file.name,)), Collected())
    except BaseException:
        Path(file.name).unlink()
        raise
    return structs.replace(found, origin=f"generated, profile {profile}, seed {seed}")


def delete(source: ClusterSource) -> None:
    """Delete the dump of a generated cluster, if it is still there."""
    for path in source.inputs:
        Path(path).unlink(missing_ok=True)
