"""Random vetoes of other controllers on the objects of a cluster, and the same cluster without them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any

from descheduling.harness import Object
from restow.cluster.closed_nodes import LEAVING, VIRTUAL

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
#: Annotations of pods that forbid their eviction, whatever the pod is.
FORBIDDING: tuple[Object, ...] = (
    {DO_NOT_DISRUPT: "true"},
    {DO_NOT_DISRUPT: "1000000h"},
    {_SAFE: "false"},
    {_IN_PROGRESS: ""},
)
#: Annotations that forbid nothing.
HARMLESS: tuple[Object, ...] = ({DO_NOT_DISRUPT: "1ns"}, {DO_NOT_DISRUPT: "false"}, {_SAFE: "true"}, {_SAFE: "no"})
ALL_OFF: Object = {
    "karpenter": False,
    "clusterAutoscaler": False,
    "kubeVirt": False,
    "leavingNodes": False,
    "virtualNodes": False,
}
_NEUTRAL = "example.com/neutral"


def with_vetoes(objects: Iterable[Object], seed: int) -> list[Object]:
    """The objects, some pods and nodes of which have vetoes."""
    choice = Random(seed)
    made: list[Object] = json.loads(json.dumps(list(objects)))
    for each in made:
        if each["kind"] == "Pod" and choice.random() < 0.3:
            each["metadata"].setdefault("annotations", {}).update(choice.choice((*FORBIDDING, *HARMLESS)))
            # Without a start a pod is protected for ever.
            each.setdefault("status", {}).setdefault("startTime", "2025-12-01T00:00:00Z")
        elif each["kind"] == "Node":
            _mark(each, choice)
    return made


def _mark(node: Object, choice: Random) -> None:
    match choice.randrange(8):
        case 0:
            taint = {"key": choice.choice(list(LEAVING)), "effect": choice.choice(("NoSchedule", "PreferNoSchedule"))}
            node["spec"].setdefault("taints", []).append(taint)
        case 1:
            key, value = choice.choice(VIRTUAL)
            node["metadata"].setdefault("labels", {})[key] = value
        case 2:
            node["metadata"].setdefault("annotations", {})[DO_NOT_DISRUPT] = "true"


def neutral(objects: Iterable[Object]) -> list[Object]:
    """The same cluster for a scheduler, in which nobody forbids anything: no annotations, other keys of taints and labels."""
    made: list[Object] = json.loads(json.dumps(list(objects)))
    for each in made:
        annotations: dict[str, Any] = each["metadata"].get("annotations") or {}
        for key in (DO_NOT_DISRUPT, _SAFE, _IN_PROGRESS):
            annotations.pop(key, None)
        if each["kind"] == "Node":
            labels = each["metadata"].get("labels") or {}
            for key, value in VIRTUAL:
                if labels.get(key) == value:
                    labels[_NEUTRAL] = labels.pop(key)
            for taint in each["spec"].get("taints") or ():
                taint["key"] = _NEUTRAL if taint["key"] in LEAVING else taint["key"]
    return made


def forbidden_pods(objects: Iterable[Object]) -> set[str]:
    """Namespace and name of the pods that must stay. One that is over need not."""
    known = list(objects)
    kept = {each["metadata"]["name"] for each in known if each["kind"] == "Node" and _forbids(each)}
    pods = (each for each in known if each["kind"] == "Pod" and not _is_over(each))
    return {
        f"{each['metadata'].get('namespace', 'default')}/{each['metadata']['name']}"
        for each in pods
        if _forbids(each) or each["spec"].get("nodeName") in kept
    }


def _is_over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _forbids(each: Object) -> bool:
    annotations = (each["metadata"].get("annotations") or {}).items()
    return any(veto.items() <= annotations for veto in FORBIDDING)


def closed_nodes(objects: Iterable[Object]) -> set[str]:
    """The names of the nodes that receive nothing."""
    return {
        each["metadata"]["name"]
        for each in objects
        if each["kind"] == "Node"
        and (
            any(taint["key"] in LEAVING for taint in each["spec"].get("taints") or ())
            or any((each["metadata"].get("labels") or {}).get(key) == value for key, value in VIRTUAL)
        )
    }
