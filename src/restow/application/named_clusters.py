"""Many clusters by name: contexts of a kubeconfig by patterns, or the dumps in a directory; and a file name for each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from restow.application.clusters import ClusterSource
from restow.errors import InputError
from restow.kube.excerpts import excerpt

#: The file that stands for all clusters.
INDEX: Final = "index"
#: What the names of files of one cluster each end with.
_SUFFIXES: Final = (".gz", ".json", ".yaml", ".yml")
#: What does not stay of a name in the name of a file.
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(slots=True, frozen=True)
class ClusterNames:
    """Which clusters are meant, as it was written."""

    #: Patterns of contexts, such as prod-*.
    contexts: tuple[str, ...] = ()
    #: A directory with a file or a directory for each cluster.
    snapshots: str | None = None


class NamedCluster(NamedTuple):
    """A cluster, and where it is."""

    name: str
    where: ClusterSource


def named_clusters(names: ClusterNames, where: ClusterSource) -> list[NamedCluster]:
    """Return the clusters, by name; InputError where there are none, or ``where`` names a cluster too."""
    if names.snapshots is None and not names.contexts:
        raise InputError("--pages goes with --contexts or --snapshots, which name the clusters")
    if where.inputs or where.context:
        given = "-f" if where.inputs else "--context"
        raise InputError(f"{given} names one cluster, --contexts and --snapshots name many; leave one of them out")
    if names.snapshots is None:
        return [NamedCluster(each, structs.replace(where, context=each)) for each in _contexts(names.contexts, where)]
    if names.contexts:
        raise InputError("--contexts names live clusters and --snapshots dumps; leave one of them out")
    return [NamedCluster(name, structs.replace(where, inputs=(path,))) for name, path in _snapshots(names.snapshots)]


def file_name_of(cluster: str, taken: set[str]) -> str:
    """Return a name for files of a cluster that none of the taken ones is, and take it."""
    plain = _UNSAFE.sub("-", cluster).strip(".-") or "cluster"
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    found = next(each for each in (plain, *numbered) if each not in taken)
    taken.add(found)
    return found


def _contexts(patterns: Iterable[str], where: ClusterSource) -> list[str]:
    from restow.client.connection import context_names

    known = context_names(where.kubeconfig, os.environ)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            names = ", ".join(map(excerpt, known)) or "no contexts"
            raise InputError(f"--contexts {excerpt(pattern)}: no context has such a name; the kubeconfig has {names}")
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _snapshots(directory: str) -> list[tuple[str, str]]:
    """The clusters of a directory, by name, with their paths."""
    try:
        entries = sorted(each for each in Path(directory).iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise InputError(f"--snapshots {directory}: {error.strerror or error}") from error
    if not entries:
        raise InputError(f"--snapshots {directory}: is empty; restow snapshot --contexts fills it")
    return [(_stem(each), str(each)) for each in entries]


def _stem(path: Path) -> str:
    name = path.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name or path.name
