"""The cluster that a plan predicts, as API objects: what a new plan would be made on."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from restow.descheduling.cycle import Cycle
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity

Object = dict[str, Any]

#: The marks of a pod's own history.
_HISTORY = ("startTime", "reason", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def predicted(objects: Sequence[Object], cycle: Cycle, now: str) -> list[Object]:
    """The objects after a proven cycle: each moved pod is new, healthy and where the plan says; pods cleared are gone."""
    pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    landings = {pods.full_name(each.pod): each for each in cycle.record.evictions}
    result = []
    for each in objects:
        landing = landings.get(_full_name(each)) if each["kind"] == "Pod" else None
        if landing is None:
            result.append(deepcopy(each))
        elif landing.landing.target >= 0:
            result.append(_replaced(each, nodes[landing.landing.target], now))
    moved = [each for each in result if each["kind"] == "Pod" and _full_name(each) in landings]
    claims = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in _claims(result)}
    for pod in moved:
        _renew_claims(pod, claims)
    landed = [each for each in landings.values() if each.landing.target >= 0]
    _carry_usage(result, [(pods.full_name(each.pod), nodes[each.node], nodes[each.landing.target]) for each in landed])
    return result


def _full_name(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


def _replaced(pod: Object, node: str, now: str) -> Object:
    new = deepcopy(pod)
    new["metadata"] |= {"uid": pod["metadata"]["uid"] + "'", "creationTimestamp": now}
    new["metadata"].pop("deletionTimestamp", None)
    new["spec"]["nodeName"] = node
    status = {key: value for key, value in new.get("status", {}).items() if key not in _HISTORY}
    ready = [{"type": "Ready", "status": "True"}]
    new["status"] = status | {"phase": "Running", "startTime": now, "conditions": ready}
    return new


def _claims(objects: Sequence[Object]) -> list[Object]:
    return [each for each in objects if each["kind"] == "PersistentVolumeClaim"]


def _renew_claims(pod: Object, claims: dict[tuple[str, str], Object]) -> None:
    """A pod comes with claims of its own for its ephemeral volumes; their volumes are being made on its node."""
    for volume in pod["spec"].get("volumes") or ():
        metadata = pod["metadata"]
        claim = claims.get((metadata["namespace"], f"{metadata['name']}-{volume['name']}"))
        if "ephemeral" not in volume or claim is None:
            continue
        claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": pod["spec"]["nodeName"]}
        claim["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "uid": metadata["uid"], "name": metadata["name"], "controller": True}
        ]
        claim["spec"].pop("volumeName", None)
        claim["status"] = {"phase": "Pending"}


def _carry_usage(objects: list[Object], moves: list[tuple[str, str, str]]) -> None:
    """What a moved pod uses is measured on its new node."""
    measured = {_full_name(each): each for each in objects if each["kind"] == "PodMetrics"}
    of_node = {each["metadata"]["name"]: each for each in objects if each["kind"] == "NodeMetrics"}
    for pod, source, target in moves:
        for container in measured.get(pod, {}).get("containers", []):
            for name, amount in container.get("usage", {}).items():
                _add(of_node.get(source), name, -parse_quantity(amount).nano)
                _add(of_node.get(target), name, parse_quantity(amount).nano)


def _add(metrics: Object | None, name: str, nano: int) -> None:
    if metrics is not None:
        now = parse_quantity(metrics["usage"].get(name, "0")).nano + nano
        metrics["usage"][name] = f"{now}n" if now % NANO_PER_UNIT else str(now // NANO_PER_UNIT)
