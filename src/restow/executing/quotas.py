"""Whether the ResourceQuotas of a namespace have room for one pod more.

Where one has not, the controller cannot make the pod, and a surge would wait for it in vain. Objects are as the API has
them, in JSON. Source: the admission plugin ResourceQuota and its evaluator of pods, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from restow.kube.excerpts import excerpt
from restow.kube.objects import ResourceRequirements
from restow.kube.quantity import Quantity, parse_quantity
from restow.kube.requests import ContainerRequests, pod_requests, qos_class

_ONE: Final = Quantity(1_000_000_000)
#: The resources that quotas name without ``requests.`` too.
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")


def without_room(quotas: Iterable[Mapping[str, Any]], pod: Mapping[str, Any]) -> str | None:
    """Return why no other pod like this one may come: the first quota without room, and of what; None if all have it."""
    amounts = _amounts(pod["spec"])
    for quota in quotas:
        if all(_holds(*each, pod["spec"]) for each in _scopes(quota.get("spec") or {})):
            for what in _lacking(quota.get("status") or {}, amounts):
                return f"ResourceQuota {quota['metadata']['name']} has no room for one pod more: {what}"
    return None


def _lacking(status: Mapping[str, Any], amounts: Mapping[str, Quantity]) -> Iterator[str]:
    """Of what there is too little."""
    hard, used = status.get("hard") or {}, status.get("used") or {}
    for name in sorted(hard.keys() & amounts.keys()):
        limit, there = parse_quantity(hard[name]), parse_quantity(used.get(name, "0"))
        if amounts[name].nano and there.nano + amounts[name].nano > limit.nano:
            yield f"{there} of {limit} {excerpt(name)} are used, and it takes {amounts[name]}"


def _amounts(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """What a pod counts, by the names that quotas have for it."""
    requests, limits = (amounts_of(spec, which) for which in ("requests", "limits"))
    counted = {f"requests.{name}": amount for name, amount in requests.items()}
    counted |= {name: amount for name, amount in requests.items() if name in _PLAIN or name.startswith("hugepages-")}
    counted |= {f"limits.{name}": amount for name, amount in limits.items()}
    return counted | {"pods": _ONE, "count/pods": _ONE}


def amounts_of(spec: Mapping[str, Any], which: str) -> dict[str, Quantity]:
    """Return the ``requests`` or the ``limits`` of a pod, by resource."""
    pod_level = (spec.get("resources") or {}).get(which) or {}
    running, first = _of_containers(spec, "containers", which), _of_containers(spec, "initContainers", which)
    return pod_requests(running, first, pod_level, spec.get("overhead") or {})


def _of_containers(spec: Mapping[str, Any], name: str, which: str) -> Iterator[ContainerRequests]:
    for each in spec.get(name) or ():
        amounts = (each.get("resources") or {}).get(which) or {}
        yield ContainerRequests(amounts, sidecar=each.get("restartPolicy") == "Always")


def _scopes(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """What restricts a quota to some pods: scope, operator and values."""
    for scope in spec.get("scopes") or ():
        yield scope, "Exists", []
    for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield each["scopeName"], each["operator"], each.get("values") or []


def _holds(scope: str, operator: str, values: list[str], pod: Mapping[str, Any]) -> bool:
    """Whether a pod is in a scope. It is in none that is not known here: then the controller finds out."""
    if scope == "PriorityClass":
        name = pod.get("priorityClassName") or ""
        asked = {"In": name in values, "NotIn": name not in values, "Exists": bool(name), "DoesNotExist": not name}
        return asked.get(operator, False)
    is_bounded, is_best = pod.get("activeDeadlineSeconds") is not None, _is_best_effort(pod)
    known = {
        "Terminating": is_bounded,
        "NotTerminating": not is_bounded,
        "BestEffort": is_best,
        "NotBestEffort": not is_best,
    }
    return known.get(scope, False)


def _is_best_effort(pod: Mapping[str, Any]) -> bool:
    containers = (each for name in ("containers", "initContainers") for each in pod.get(name) or ())
    return qos_class(msgspec.convert(each.get("resources") or {}, ResourceRequirements) for each in containers) == (
        "BestEffort"
    )
