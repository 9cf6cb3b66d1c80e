"""Nothing that is kept while a plan is made has one entry for each pod that was there at first.

Pods come while a plan is made (``workloads.replacements``). So what is kept by pod is a column that follows them
(``cluster.pod_columns``), or goes by what pods have in common. An array, list or mapping of all pods that was computed
once is wrong from the first move on, at best with an IndexError. Here a cluster has a number of pods that nothing else
has, and everything that decides is searched for something of that length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pytest

from builders import NOW, Object, a_node, a_pdb, a_pod
from builders.metadata import Owner
from descheduling.harness import a_cluster
from oracle.random_policies import BALANCE, STRATEGIES
from proving.proven import TOLD, read_policy
from restow.cluster import pods as pod_rows
from restow.cluster.pod_columns import PodColumn, PodGroups, PodIndex
from restow.cluster.pods import Pods
from restow.cluster.state import ClusterState
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.proving import search
from restow.proving.proof import Prover

#: How many pods there are: a number that nothing else comes to.
PODS = 223
#: Classes that follow the pods that come; what they ask is searched all the same.
FOLLOWERS = (Pods, ClusterState, PodColumn, PodGroups, PodIndex)
#: Arguments with which each strategy finds something.
ARGUMENTS: Mapping[str, Object] = {
    "HighNodeUtilization": {"thresholds": {"pods": 10}},
    "LowNodeUtilization": {"thresholds": {"pods": 20}, "targetThresholds": {"pods": 30}},
    "PodLifeTime": {"maxPodLifeTimeSeconds": 60},
    "RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 1},
    "RemovePodsViolatingNodeAffinity": {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]},
}
EVICTOR: Object = {
    "namespaceLabelSelector": {"matchLabels": {"team": "red"}},
    "minPodAge": "1s",
    "minReplicas": 1,
    "nodeFit": True,
    "podProtections": {"extraEnabled": ["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"]},
}


def test_nothing_has_an_entry_for_each_pod_of_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searched with all rows in use, and with spare rows; of the plan's search itself and of its last prover."""
    assert kept_by_pod(1, monkeypatch) == []
    assert kept_by_pod(64, monkeypatch) == []


def test_the_search_finds_what_is_kept_by_pod() -> None:
    class Keeper:
        __slots__ = ("known",)

        def __init__(self, known: object) -> None:
            self.known = known

    kept = np.zeros(PODS)
    found = [
        Keeper(kept),
        Keeper([*range(PODS)]),
        Keeper(lambda: kept),
        Keeper(partial(print, {1: dict.fromkeys(range(PODS))})),
    ]
    assert [len(list(_lengthy(each, {PODS}))) for each in found] == [1] * len(found)


def kept_by_pod(step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where something has as many entries as there were pods at some time, after a plan with moves."""
    monkeypatch.setattr(pod_rows, "SPARE_ROWS", step)
    provers: list[Prover] = []
    lengths = {PODS}

    class Seen(Prover):
        def move(self, *args: Any) -> Any:
            if self not in provers:
                provers.append(self)
            landed = super().move(*args)
            lengths.update((len(self._pods), self._pods.used))
            return landed

    proofs: list[search._Proof] = []
    monkeypatch.setattr(search, "Prover", Seen)
    make = search._Proof.__init__

    def made(self: search._Proof, *args: Any, **given: Any) -> None:
        proofs.append(self)
        make(self, *args, **given)

    monkeypatch.setattr(search._Proof, "__init__", made)
    cycle = search.prove_cycle(a_cluster(*objects()), read_policy(policy()), strategies(), parse_time(NOW))
    assert len({each.ref.profile for each in cycle.record.evictions}) == 2, "both profiles move pods"
    assert min(lengths) == PODS
    return sorted({found for root in (*proofs, *provers) for found in _lengthy(root, lengths)})


def objects() -> list[Object]:
    """Two full nodes and an empty one; all pods but a few may go."""
    pods = [
        a_pod(
            f"p{number}",
            node=f"n{number % 2}",
            cpu="30m",
            labels={"app": "web" if number else "other", "part": "first" if number < 12 else "second"},
            owner=Owner("ReplicaSet", f"rs-{number % 5}") if number else None,
            started="2025-06-01T00:00:00Z",
        )
        for number in range(PODS)
    ]
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "red"}}}
    nodes = [a_node(f"n{number}", cpu="4", memory="64Gi", pods=400) for number in range(3)]
    return [*nodes, *pods, a_pdb("all", selector={}, disruptions_allowed=40), namespace, *TOLD]


def policy() -> Object:
    """Two profiles with all strategies."""
    names = {
        "deschedule": [each for each in STRATEGIES if each not in BALANCE],
        "balance": [each for each in STRATEGIES if each in BALANCE and each != "HighNodeUtilization"],
    }
    enabled = {point: {"enabled": each} for point, each in names.items()}
    configs = [{"name": each, "args": ARGUMENTS.get(each, {})} for point in names.values() for each in point]
    evictors = {name: EVICTOR | {"labelSelector": {"matchLabels": {"part": name}}} for name in ("first", "second")}
    profiles = [
        {"name": name, "pluginConfig": [{"name": "DefaultEvictor", "args": args}, *configs], "plugins": enabled}
        for name, args in evictors.items()
    ]
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "maxNoOfPodsToEvictTotal": 30,
        "restow": {"certainty": "possible"},
        "profiles": profiles,
    }


def _lengthy(root: object, lengths: set[int]) -> Iterator[str]:
    """Paths to whatever has one of these lengths, below something that is kept."""
    seen: set[int] = set()
    found: list[tuple[str, object]] = [(type(root).__name__, root)]
    while found:
        path, each = found.pop()
        if id(each) in seen or isinstance(each, ModuleType | type | str | bytes | int | float):
            continue
        seen.add(id(each))
        if _length(each) in lengths:
            yield f"{path}: {type(each).__name__} of {_length(each)}"
        found += [(f"{path}.{name}", part) for name, part in _parts(each)]


def _length(each: object) -> int:
    """How many entries something has that can be looked up by the number of a pod."""
    if isinstance(each, np.ndarray):
        return len(each) if each.ndim else 1
    if isinstance(each, dict | set | frozenset):
        return len(each) if all(isinstance(key, int) for key in each) else 0
    return len(each) if isinstance(each, list | tuple) else 0


def _parts(each: object) -> Iterator[tuple[str, object]]:
    match each:
        case PodColumn():
            yield "of", each.of
        case PodIndex():
            yield "find", each._find
        case _ if isinstance(each, FOLLOWERS):
            return
        case dict():
            yield from ((str(key)[:20], value) for key, value in each.items())
        case list() | tuple() | set() | frozenset():
            yield from ((str(position), value) for position, value in enumerate(each))
        case FunctionType():
            cells = zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
            yield from ((name, cell.cell_contents) for name, cell in cells)
        case MethodType():
            yield "self", each.__self__
        case partial():
            yield "func", each.func
            yield from enumerated("args", each.args)
            yield from each.keywords.items()
        case _:
            yield from _attributes(each)


def enumerated(name: str, parts: tuple[object, ...]) -> Iterator[tuple[str, object]]:
    yield from ((f"{name}[{position}]", part) for position, part in enumerate(parts))


def _attributes(each: object) -> Iterator[tuple[str, object]]:
    if type(each).__module__.split(".")[0] not in ("restow", __name__.split(".")[0]):
        return
    names = {name for base in type(each).__mro__ for name in getattr(base, "__slots__", ())} | vars_of(each).keys()
    yield from ((name, getattr(each, name)) for name in sorted(names) if hasattr(each, name))


def vars_of(each: object) -> dict[str, object]:
    return getattr(each, "__dict__", {})
