"""Does to the objects of a cluster, and to a policy, what a sentence of ``restow explain`` says, knowing only its words."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from builders import Object
from restow.explaining.explanation import PodExplanation, Step
from restow.kube.quantity import NANO_PER_MILLI, parse_quantity
from restow.policies.codes import SteeringMode

_SIZES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_ZONE = "topology.kubernetes.io/zone"
_OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
_SWITCHES = {
    "PodsWithLocalStorage": "evictLocalStoragePods",
    "SystemCriticalPods": "evictSystemCriticalPods",
}
_EXTRA_SWITCHES = {"PodsWithPVC": "ignorePvcPods", "PodsWithoutPDB": "ignorePodsWithoutPDB"}


@dataclass(frozen=True)
class Question:
    """What ``restow plan`` is asked with."""

    objects: list[Object]
    policy: Object
    now: str
    steering: SteeringMode = "none"

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """The object of a name."""
        return next(
            each
            for each in self.objects
            if each["kind"] == kind
            and each["metadata"]["name"] == name
            and (namespace is None or each["metadata"].get("namespace", "default") == namespace)
        )


def changed(question: Question, explanation: PodExplanation, ref: tuple[str, str], step: Step) -> Question:
    """The question after one step, for the sake of a strategy (its profile and its name)."""
    question = deepcopy(question)
    message = step.message
    pod = question.find("Pod", explanation.pod.name, explanation.pod.namespace)
    if step.kind in {"resources", "uncordon", "label"}:
        _change_node(question.find("Node", str(step.node)), step)
    elif step.kind == "toleration":
        _tolerate(pod, message)
    elif step.kind == "volume":
        _reach(question, explanation, step)
    elif step.kind == "pod":
        gone = set(re.findall(r"[\w.-]+/[\w.-]+", message.partition(" (")[0]))
        return replace(question, objects=[each for each in question.objects if not _is_pod(each, gone)])
    else:
        return _allow(question, pod, ref, step)
    return question


def _change_node(node: Object, step: Step) -> None:
    if step.kind == "resources":
        _enlarge(node, step.amounts)
    elif step.kind == "uncordon":
        _uncordon(node)
    else:
        _label(node, step.message)


def _allow(question: Question, pod: Object, ref: tuple[str, str], step: Step) -> Question:
    if step.kind == "budget":
        return _disrupt(question, pod, step.message)
    if step.kind == "protection":
        return _lift(question, pod, ref, step.message)
    if step.kind == "limit":
        _limit(question.policy, ref, step.message)
    elif step.kind == "steering":
        assert step.message == "with --steering nominate"
        return replace(question, steering="nominate")
    else:
        assert step.kind == "certainty"
        (setting,) = re.findall(r"certainty: (\S+)", step.message)
        question.policy.setdefault("restow", {})["certainty"] = setting if setting.isalpha() else float(setting)
    return question


def less(step: Step, now: int) -> list[Step]:
    """The same step with smaller amounts, as long as that is a step at all; ``now`` is the limit as it is."""
    if step.kind == "resources":
        amounts = [step.amounts | {name: amount - 1} for name, amount in step.amounts.items()]
        amounts.append({name: amount // 2 for name, amount in step.amounts.items()})
        return [Step("resources", step.message, step.node, each) for each in amounts if any(each.values())]
    number = re.search(r"\b(\d+)( more disruptions?)?$", step.message)
    if step.kind not in {"limit", "budget"} or number is None or int(number[1]) - 1 <= now:
        return []
    return [Step(step.kind, re.sub(r"\d+", str(int(number[1]) - 1), step.message))]


def as_worded(step: Step) -> Step:
    """The same step with the amounts that its words name."""
    if step.kind != "resources":
        return step
    found = re.findall(r"([\d.,]+)(m|[KMGTP]i)? more (\S+)", step.message)
    amounts = dict(_amount(*each) for each in found)
    assert amounts.keys() == step.amounts.keys()
    return Step("resources", step.message, step.node, amounts)


def _amount(number: str, unit: str, name: str) -> tuple[str, int]:
    resource = {"CPU": "cpu", "pod": "pods"}.get(name, name)
    value = Decimal(number.replace(",", ""))
    factor = 1000 if resource == "cpu" and not unit else _SIZES.get(unit, 1)
    return resource, int(value * factor)


def _enlarge(node: Object, amounts: dict[str, int]) -> None:
    for name, amount in amounts.items():
        for side in ("allocatable", "capacity"):
            known = node.setdefault("status", {}).setdefault(side, {})
            now = parse_quantity(known.get(name, 0))
            known[name] = f"{-(-now.nano // NANO_PER_MILLI) + amount}m" if name == "cpu" else str(now.value() + amount)


def _uncordon(node: Object) -> None:
    spec = node["spec"]
    spec.pop("unschedulable", None)
    spec["taints"] = [each for each in spec.get("taints", []) if each["key"] != "node.kubernetes.io/unschedulable"]


def _tolerate(pod: Object, message: str) -> None:
    wanted = message.removeprefix("with a toleration of ").rpartition(" (")[0]
    tolerations = pod["spec"].setdefault("tolerations", [])
    for taint in wanted.split(" and "):
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        tolerations.append({"key": key, "operator": "Equal", "value": value, "effect": effect})


def _label(node: Object, message: str) -> None:
    labels = node["metadata"].setdefault("labels", {})
    more, _, fewer = message.rpartition(" on ")[0].partition("without the label")
    for pair in re.findall(r"the label (\S+)", more):
        key, _, value = pair.partition("=")
        labels[key] = value
    for key in fewer.removeprefix("s").split():
        labels.pop(key, None)


def _reach(question: Question, explanation: PodExplanation, step: Step) -> None:
    node = question.find("Node", str(step.node))
    for name in re.findall(r"pvc/([\w.-]+)", step.message):
        claim = question.find("PersistentVolumeClaim", name, explanation.pod.namespace)
        volume = question.find("PersistentVolume", claim["spec"]["volumeName"])
        labels = volume["metadata"].get("labels") or {}
        for key, value in labels.items():
            place = node["metadata"]["labels"].get(key) or node["metadata"]["labels"].get(_today(key))
            labels[key] = f"{value}__{place}" if place and "failure-domain" in _today(key, back=True) else value
        required = (volume["spec"].get("nodeAffinity") or {}).get("required")
        if required is not None:
            required["nodeSelectorTerms"].append(_here(node))


def _today(key: str, *, back: bool = False) -> str:
    old = "failure-domain.beta.kubernetes.io/"
    if back:
        return key.replace("topology.kubernetes.io/", old)
    return key.replace(old, "topology.kubernetes.io/")


def _here(node: Object) -> Object:
    labels = node["metadata"].get("labels") or {}
    for key in (_ZONE, _OLD_ZONE):
        if key in labels:
            return {"matchExpressions": [{"key": key, "operator": "In", "values": [labels[key]]}]}
    name = {"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}
    return {"matchFields": [name]}


def _is_pod(each: Object, names: set[str]) -> bool:
    meta = each["metadata"]
    return each["kind"] == "Pod" and f"{meta.get('namespace', 'default')}/{meta['name']}" in names


def _limit(policy: Object, ref: tuple[str, str], message: str) -> None:
    field, number = message.removeprefix("with ").split(" of ")
    if field == "evictionLimits.node":
        _args(policy, ref[0], ref[1])["evictionLimits"]["node"] = int(number)
    else:
        assert field in policy
        policy[field] = int(number)


def _disrupt(question: Question, pod: Object, message: str) -> Question:
    more = re.fullmatch(r"if (\S+)/(\S+) allowed (\d+) more disruptions?", message)
    if more is not None:
        status = question.find("PodDisruptionBudget", more[2], more[1])["status"]
        status["disruptionsAllowed"] = status.get("disruptionsAllowed", 0) + int(more[3])
        return question
    if message.startswith("without the budget"):
        gone = set(re.findall(r"\S+/\S+", message))
        left = [
            each for each in question.objects if not (each["kind"] == "PodDisruptionBudget" and _name(each) in gone)
        ]
        return replace(question, objects=left)
    assert message == "with a podFailurePolicy of its Job that ignores DisruptionTarget first"
    owner = next(each for each in pod["metadata"]["ownerReferences"] if each["kind"] == "Job")
    job = question.find("Job", owner["name"], pod["metadata"].get("namespace", "default"))
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    policy = job["spec"].setdefault("podFailurePolicy", {})
    policy["rules"] = [rule, *policy.get("rules", [])]
    return question


def _name(each: Object) -> str:
    return f"{each['metadata'].get('namespace', 'default')}/{each['metadata']['name']}"


def _lift(question: Question, pod: Object, ref: tuple[str, str], message: str) -> Question:
    args = _args(question.policy, ref[0], "DefaultEvictor")
    if message == "without nodeFit":
        args["nodeFit"] = False
    elif message == "with noEvictionPolicy: Preferred":
        args["noEvictionPolicy"] = "Preferred"
    elif message.startswith("without the evictor's "):
        del args[message.removeprefix("without the evictor's ")]
    elif message.startswith("with a minReplicas of "):
        args["minReplicas"] = int(message.rpartition(" ")[2])
    elif message.startswith("with a priorityThreshold of "):
        args["priorityThreshold"] = {"value": int(message.rpartition(" ")[2])}
    elif message.startswith("without the protection "):
        _unprotect(args, message.rpartition(" ")[2])
    elif when := re.fullmatch(r"at (\S+), when it is older than minPodAge", message):
        return replace(question, now=when[1])
    else:
        return _lift_veto(question, pod, message)
    return question


def _lift_veto(question: Question, pod: Object, message: str) -> Question:
    if when := re.fullmatch(r"at (\S+), when its annotation \S+ ends", message):
        return replace(question, now=when[1])
    if gone := re.fullmatch(r"without its annotation (\S+)", message):
        del pod["metadata"]["annotations"][gone[1]]
    elif gone := re.fullmatch(r"without the annotation (\S+) of (\S+)", message):
        del question.find("Node", gone[2])["metadata"]["annotations"][gone[1]]
    elif switch := re.fullmatch(r"with vetoes.(\S+): false in the policy's restow section", message):
        question.policy.setdefault("restow", {}).setdefault("vetoes", {})[switch[1]] = False
    else:
        _opt_out(question.find("Namespace", pod["metadata"].get("namespace", "default")), message)
    return question


def _opt_out(namespace: Object, message: str) -> None:
    annotations = namespace["metadata"].setdefault("annotations", {})
    if message.startswith("without"):
        del annotations["restow.dev/eviction"]
    else:
        assert message == "with the annotation restow.dev/eviction: enabled on its namespace"
        annotations["restow.dev/eviction"] = "enabled"


def _unprotect(args: Object, name: str) -> None:
    chosen = args.get("podProtections") or {}
    if name in chosen.get("extraEnabled", []):
        chosen["extraEnabled"].remove(name)
        # Without any other choice the deprecated switches decide, and none of them is on.
    elif name in _EXTRA_SWITCHES and args.get(_EXTRA_SWITCHES[name]):
        args[_EXTRA_SWITCHES[name]] = False
    elif chosen.get("extraEnabled") or chosen.get("defaultDisabled"):
        chosen["defaultDisabled"] = [*chosen.get("defaultDisabled", []), name]
    else:
        args[_SWITCHES[name]] = True


def _args(policy: Object, profile: str, plugin: str) -> Any:
    found = next(each for each in policy["profiles"] if each["name"] == profile)
    entry = next((each for each in found["pluginConfig"] if each["name"] == plugin), None)
    if entry is None:
        entry = {"name": plugin}
        found["pluginConfig"].append(entry)
    return entry.setdefault("args", {})
