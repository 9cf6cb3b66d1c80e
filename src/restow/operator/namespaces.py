"""Whose pods may be evicted: the namespaces that a resource includes or excludes, and those that are always protected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from restow.kube.excerpts import excerpt
from restow.operator.problems import Problem
from restow.operator.resource import NamespaceSelection

#: Protected in every cluster, in the order in which policies name them.
_ALWAYS: Final = ("kube-system", "hypershift", "openshift")
_PREFIXES: Final = ("openshift-", "hypershift")


def is_protected(namespace: str) -> bool:
    """Whether no resource may have the pods of a namespace evicted, whether or not it is there yet."""
    return namespace in _ALWAYS or namespace.startswith(_PREFIXES)


def protected(namespaces: Iterable[str]) -> tuple[str, ...]:
    """Return the protected namespaces of a cluster by name, after those that every cluster has."""
    return (*_ALWAYS, *sorted({each for each in namespaces if is_protected(each)} - set(_ALWAYS)))


@dataclass(slots=True, frozen=True)
class Scope:
    """The arguments of strategies about namespaces."""

    #: Of strategies that can include namespaces as well as exclude them.
    namespaces: dict[str, Any]
    #: Of the utilisation strategies, which can only exclude.
    evictable: dict[str, Any]


def scope_of(selection: NamespaceSelection, namespaces: Iterable[str]) -> Scope:
    """Return the arguments for a selection in a cluster.

    What cannot include at least excludes the protected namespaces, which are never evictable.
    """
    closed = protected(namespaces)
    if selection.included:
        return Scope({"include": [*selection.included]}, {"exclude": [*closed]})
    excluded = {"exclude": [*closed, *selection.excluded]}
    return Scope(excluded, excluded)


def check_selection(selection: NamespaceSelection, namespaces: Iterable[str]) -> Iterator[Problem]:
    """Yield why namespaces cannot be selected like this."""
    if selection.included and selection.excluded:
        yield Problem(
            "NamespacesIncludedAndExcluded", "It is forbidden to combine both included and excluded namespaces"
        )
    wrong = [each for each in selection.included if is_protected(each)]
    closed = " ".join(protected((*namespaces, *wrong)))
    for namespace in wrong:
        yield Problem(
            "ProtectedNamespaceIncluded",
            f"Protected namespace {excerpt(namespace)} included. It is forbidden to include any of the protected "
            f"namespaces from [{closed}]",
        )
