"""Sources of usage: what a package declares to be one, and how it is found.

To add a source: an entry point of the group ``restow.usage_sources`` in another package
(``docs/how-to/write-a-usage-source.md``). It is imported when a policy names it, checked, and asked in ``live.usage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Struct

from restow.installed_packages import FAULTS, Extensible, UnusablePackageError, taken, unusable
from restow.kube.excerpts import described

T = TypeVar("T")

#: Other packages register a ``UsageSource`` under this entry point group, by the name that policies use.
ENTRY_POINTS: Final = "restow.usage_sources"

#: The sources that restow has itself, as policies name them.
KUBERNETES_METRICS: Final = "KubernetesMetrics"
PROMETHEUS: Final = "Prometheus"

#: The name of a node, seconds since the epoch, and how much of the node was used then, 0 to 1.
Sample = tuple[str, float, float]


@dataclass(slots=True, frozen=True)
class Times:
    """For which times usage is wanted, in seconds."""

    #: Since the epoch, by the clock of the API server.
    now: float
    #: How far back from now; 0: the newest value of each node is enough.
    reach: int
    #: Between two values.
    step: int


@dataclass(slots=True, frozen=True)
class UsageSourceSchema:
    """One source as the policy sees it."""

    name: str
    #: What ``metricsProviders[].args`` decodes to; unknown keys in it are refused.
    args: type[Struct]
    #: What is wrong with arguments, in sentences.
    validate: Callable[[Any], list[str]] = lambda _given: []
    #: What is wrong with the text of a query, in sentences.
    check_query: Callable[[str], list[str]] = lambda _given: []


@dataclass(slots=True, frozen=True)
class UsageSource:
    """A source of usage: how its arguments read in a policy, and what answers its queries.

    ``samples`` is given the arguments, the text of a query and the times, and returns samples in any order. It is
    called once a cycle for each query, in a thread of its own, and may raise any exception: it is reported, and
    strategies that depend on the query move nothing then.
    """

    schema: UsageSourceSchema
    samples: Callable[[Any, str, Times], Iterable[Sample]]


#: The sources that a policy may name besides Kubernetes' metrics and Prometheus.
UsageSources = Mapping[str, UsageSourceSchema]
NO_SOURCES: Final[UsageSources] = {}


def usage_sources() -> Mapping[str, UsageSource]:
    """The sources of installed packages; looking one up raises UnusablePackageError where its package is at fault."""
    return Extensible(ENTRY_POINTS, {}, "", _source_of_a_package)


def usage_schemas() -> Mapping[str, UsageSourceSchema]:
    """What a policy may name besides Kubernetes' metrics and Prometheus; looked up as ``usage_sources``."""
    return Extensible(ENTRY_POINTS, {}, "", lambda name, offered: _source_of_a_package(name, offered).schema)


def _source_of_a_package(name: str, offered: object) -> UsageSource:
    if name in (KUBERNETES_METRICS, PROMETHEUS):
        raise taken(ENTRY_POINTS, name, "a source of restow itself")
    problem = _problem(name, offered)
    if problem or not isinstance(offered, UsageSource):
        raise unusable(ENTRY_POINTS, name, problem)
    schema = offered.schema
    return UsageSource(
        replace(
            schema,
            validate=partial(_sentences, name, schema.validate),
            check_query=partial(_sentences, name, schema.check_query),
        ),
        offered.samples,
    )


def _problem(name: str, offered: object) -> str:
    """Why a declaration is unusable; empty if it is usable."""
    if not isinstance(offered, UsageSource):
        return "is no restow.usage.sources.UsageSource"
    if not isinstance(offered.schema, UsageSourceSchema):
        return "has a schema that is no restow.usage.sources.UsageSourceSchema"
    if offered.schema.name != name:
        return f'declares the source "{offered.schema.name}"; name the entry point like the source'
    if not (isinstance(offered.schema.args, type) and issubclass(offered.schema.args, Struct)):
        return "has args that are no msgspec.Struct"
    return "" if callable(offered.samples) else "has samples that are no function"


def _sentences(name: str, check: Callable[[T], list[str]], given: T) -> list[str]:
    """The problems that a package finds in its arguments; UnusablePackageError if it fails."""
    try:
        found = list(check(given))
    except FAULTS as error:
        raise UnusablePackageError(f'usage source "{name}": a policy cannot be checked: {described(error)}') from error
    if not all(isinstance(each, str) for each in found):
        raise UnusablePackageError(f'usage source "{name}": what is wrong with a policy must be told in sentences')
    return found
