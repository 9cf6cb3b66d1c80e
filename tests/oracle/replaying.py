"""A plan replayed on the real kube-scheduler, move by move: where each replacement would really land.

The victim is marked as terminating and its replacement put beside it: a new pod of the same spec and labels, with the
claims of its own ephemeral volumes. Where that fits nowhere, or where there can be only one (StatefulSet, DaemonSet),
the victim goes first. In large clusters the scheduler is started at every node. Then the replacement is put where the
plan says, and the next move is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from builders import NOW, Object
from oracle.scheduler_process import Outcome, SchedulerProcess
from restow.descheduling.arbiter import Eviction
from restow.descheduling.cycle import Cycle
from restow.scheduling.loop.missing_data import MissingData

#: From so many nodes on the scheduler looks at some of them only.
WINDOWED = 100
#: Owners that create a pod again only when the old one is gone.
_ONE_AT_A_TIME = ("StatefulSet", "DaemonSet")
#: The status of a new pod.
_FRESH = {"phase": "Pending"}


@dataclass(slots=True, frozen=True)
class Landed:
    """One move of a plan beside what the real scheduler says of its replacement."""

    eviction: Eviction
    source: str
    target: str
    candidates: tuple[str, ...]
    #: Where the scheduler could put it.
    best: frozenset[str]
    message: str
    #: Whether the input holds all that scores depend on; otherwise every node that fits is a candidate.
    is_known: bool

    def difference(self) -> str:
        """What is wrong about the move; empty if nothing is."""
        told = sorted(self.candidates)
        if self.target not in told:
            return f"it goes from {self.source} to {self.target}, which is none of {told}"
        if not self.best or not (self.best == set(told) if self.is_known else self.best <= set(told)):
            return f"from {self.source} it could land on {told}, really on {sorted(self.best)} {self.message}"
        return ""


class Replay:
    """The objects of a cluster while a plan is carried out."""

    def __init__(self, objects: Sequence[Object], scheduler: SchedulerProcess) -> None:
        nodes = sum(each["kind"] == "Node" for each in objects)
        #: Where the search for nodes may start, if that makes a difference.
        self._starts = range(nodes) if nodes >= WINDOWED else None
        self._scheduler = scheduler
        self._others = [each for each in objects if each["kind"] != "Pod"]
        self._pods = {_name(each): each for each in objects if each["kind"] == "Pod"}
        #: Replacements with claims that are bound when they are placed.
        self._binding: dict[str, str] = {}

    def moves(self, cycle: Cycle) -> Iterator[Landed]:
        """Each move that has a landing place, and what the scheduler says of it."""
        nodes, missing_data = cycle.state.cluster.nodes.names, MissingData(cycle.state.cluster)
        for eviction, victim in self.steps(cycle):
            landing = eviction.landing
            outcomes = self.outcomes(victim)
            best = frozenset(node for outcome in outcomes for node in outcome.best)
            candidates = tuple(nodes[node] for node in landing.candidates)
            target = nodes[landing.target]
            is_known = not missing_data.scoring(eviction.pod)
            yield Landed(eviction, nodes[eviction.node], target, candidates, best, outcomes[0].message, is_known)

    def steps(self, cycle: Cycle) -> Iterator[tuple[Eviction, str]]:
        """Each move that has a landing place, and its pod, on the cluster as the moves before it leave it."""
        pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
        for eviction in cycle.record.evictions:
            victim = pods.full_name(eviction.pod)
            if eviction.landing.target < 0:
                self._delete(victim)
                continue
            yield eviction, victim
            self._carry_out(victim, nodes[eviction.landing.target])

    def outcomes(self, victim: str, starts: Sequence[int] | None = None) -> tuple[Outcome, ...]:
        """What the scheduler says of the replacement of a pod now, once for each node where it may start to search.

        ``starts`` are some of these nodes; without it all, if where it starts makes a difference.
        """
        starts = self._starts if starts is None else starts
        leaving = deepcopy(self._pods[victim])
        leaving["metadata"]["deletionTimestamp"] = NOW
        if not _must_be_gone(leaving):
            outcomes = self._decided(victim, leaving, starts)
            if outcomes[0].feasible:
                return outcomes
        return self._decided(victim, None, starts)

    def _decided(self, victim: str, leaving: Object | None, starts: Sequence[int] | None) -> tuple[Outcome, ...]:
        new, claims = _replacement(self._pods[victim], self._others)
        pods = [each for name, each in self._pods.items() if name != victim]
        cluster = [*self._others, *claims, *pods, *([leaving] if leaving else []), new]
        if starts is None:
            answer = self._scheduler.ask(cluster, place=[*self._binding.items(), (_name(new), "")])
        else:
            answer = self._scheduler.ask(cluster, pod=_name(new), starts=starts)
        assert not answer.error, answer.error
        return answer.pods[-1:] if starts is None else answer.pods

    def _carry_out(self, victim: str, node: str) -> None:
        new, claims = _replacement(self._pods[victim], self._others)
        self._delete(victim)
        self._others += claims
        if claims or _unbound_claims(new, self._others):
            self._binding[_name(new)] = node
        else:
            new["spec"]["nodeName"] = node
        self._pods[_name(new)] = new

    def _delete(self, victim: str) -> None:
        uid = self._pods.pop(victim)["metadata"]["uid"]
        self._others = [
            each for each in self._others if each["kind"] != "PersistentVolumeClaim" or not _owns(uid, each)
        ]


def _name(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def _must_be_gone(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    controlling = [each for each in owners if each.get("controller")] or owners
    return bool(controlling) and controlling[0]["kind"] in _ONE_AT_A_TIME


def _replacement(pod: Object, others: Sequence[Object]) -> tuple[Object, list[Object]]:
    """The pod that is created for one that goes, and the claims of its ephemeral volumes."""
    new, metadata = deepcopy(pod), pod["metadata"]
    new["metadata"] |= {"name": f"{metadata['name']}-new", "uid": f"{metadata['uid']}-new", "creationTimestamp": NOW}
    new["metadata"].pop("deletionTimestamp", None)
    new["spec"].pop("nodeName", None)
    new["status"] = dict(_FRESH)
    claims = []
    for volume in pod["spec"].get("volumes") or ():
        if "ephemeral" in volume:
            old = _claim(others, pod, f"{metadata['name']}-{volume['name']}")
            claims += [_of_its_own(old, new, volume["name"])] if old else []
    return new, claims


def _of_its_own(old: Object, pod: Object, volume: str) -> Object:
    claim, metadata = deepcopy(old), pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    name = f"{metadata['name']}-{volume}"
    claim["metadata"] = {"name": name, "namespace": metadata.get("namespace", "default"), "uid": f"{name}-uid"}
    claim["metadata"]["ownerReferences"] = [owner]
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    return claim


def _claim(others: Sequence[Object], pod: Object, name: str) -> Object | None:
    place = pod["metadata"].get("namespace", "default")
    found = (each for each in others if each["kind"] == "PersistentVolumeClaim" and each["metadata"]["name"] == name)
    return next((each for each in found if each["metadata"].get("namespace", "default") == place), None)


def _unbound_claims(pod: Object, others: Sequence[Object]) -> bool:
    named = (each.get("persistentVolumeClaim", {}).get("claimName") for each in pod["spec"].get("volumes") or ())
    claims = (_claim(others, pod, name) for name in named if name)
    return any(claim is not None and "volumeName" not in claim["spec"] for claim in claims)


def _owns(uid: str, claim: Object) -> bool:
    return any(uid and each.get("uid") == uid for each in claim["metadata"].get("ownerReferences") or ())
