"""Arguments about resources that several plugins share: which ones count, and how full a node should be.

Field names are upstream's. Source: kube-scheduler configuration API v1 and the validation of its arguments, Kubernetes
1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, structs

from restow.documents.findings import Issue, Path
from restow.kube.objects import Int32, Int64
from restow.scheduling.framework.argument_problems import forbidden, invalid, not_supported, out_of_range, required

_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", _RATIO)


class ResourceSpec(Struct, frozen=True):
    """A resource and its weight among the others."""

    name: str = ""
    weight: Int64 = 1


class UtilizationShapePoint(Struct, frozen=True):
    """One point of a broken line: a score of 0 to 10 at a utilisation in percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(Struct, frozen=True):
    """The line of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


DEFAULT_RESOURCES: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ScoringStrategy(Struct, frozen=True, rename="camel"):
    """How NodeResourcesFit scores: type and resources; ``type`` is not restricted here."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


def weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Resources with defaults: an empty list and a weight of 0 are no choice."""
    return tuple(structs.replace(each, weight=each.weight or 1) for each in resources) or DEFAULT_RESOURCES


def strategy_problems(strategy: ScoringStrategy, path: Path) -> list[Issue]:
    """What is wrong with a scoring strategy that stands at a path."""
    ratio, ratio_path = strategy.requested_to_capacity_ratio, (*path, "requestedToCapacityRatio")
    problems: list[Issue] = []
    if strategy.type not in _STRATEGIES:
        problems.append(not_supported((*path, "type"), strategy.type, _STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            problems.append(invalid((*path, "resources", index, "weight"), resource.weight, detail))
    if strategy.type == _RATIO:
        if ratio is None:
            problems.append(required(ratio_path, f"must be specified when type is {_RATIO}"))
        else:
            problems += _shape_problems(ratio.shape, (*ratio_path, "shape"))
    elif ratio is not None:
        problems.append(forbidden(ratio_path, f"must be nil when type is not {_RATIO}"))
    return problems


def _shape_problems(shape: Sequence[UtilizationShapePoint], path: Path) -> list[Issue]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    problems: list[Issue] = []
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            place = (*path, index, "utilization")
            problems.append(invalid(place, point.utilization, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        problems += out_of_range((*path, index, "utilization"), point.utilization, 0, 100)
        problems += out_of_range((*path, index, "score"), point.score, 0, 10)
    return problems
