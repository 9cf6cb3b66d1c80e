"""What it takes to repair a plan after one of its replacements has landed where the plan has no place for it.

A cluster is followed as ``restow run`` follows a live one. The first plan is a whole one; then, again and again, the next
pod of the plan goes, its replacement lands on another candidate, and the next four pods are planned again: on the state
that the cycle keeps, and now and then also on a snapshot, as a plan that is made from scratch. Both must say the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.cases import Size
from bench.documents import markdown, put
from bench.problems import generate
from bench.table import machine
from builders import Object
from executing.told import told
from restow import garbage
from restow.cluster.snapshot import ClusterStore, Key
from restow.descheduling.registry import plugins
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.executing.task import Task
from restow.kube.objects import KINDS
from restow.kube.timestamps import parse_time
from restow.live.trailing import TrailingState
from restow.policies.load import load_policy
from restow.proving.planning_cache import PlanningCache
from restow.sources.synthetic import NOW, policy_for

SIZES: Final = (Size(300, 10_000), Size(1_000, 30_000), Size(5_000, 150_000))
_HEADINGS: Final = ("nodes", "pods", "moves planned", "repairs", "a repair", "the same plan from scratch", "factor")
#: How many pods a repaired plan decides about, and after how many repairs one is also made from scratch.
_AT_ONCE, _COMPARED = 4, 5
_TIME: Final = parse_time(NOW)
_PAGE: Final = 2_000


@dataclass(slots=True)
class Town:
    """A store that plans are carried out in, and the state that follows it."""

    rules: CycleRules
    store: ClusterStore = field(default_factory=ClusterStore)
    pods: dict[Key, Object] = field(default_factory=dict)
    _trailing: TrailingState | None = None
    _cache: PlanningCache | None = None

    def fill(self, objects: Sequence[Object]) -> None:
        """Take the objects of a cluster."""
        by_kind: dict[str, list[Any]] = {}
        for each in objects:
            by_kind.setdefault(each["kind"], []).append(each)
        for kind, found in by_kind.items():
            for begin in range(0, len(found), _PAGE):
                self.store.add(kind, [_read(each) for each in found[begin : begin + _PAGE]])
        self.pods = {_key(each): each for each in by_kind["Pod"]}

    def kept(self) -> PlanningCache:
        """What the plans of a cycle are made on, as the cluster is now."""
        if self._trailing is None or self._cache is None or not self._trailing.catch_up(self.store, frozenset()):
            self._trailing = TrailingState(self.store.snapshot(), self.store)
            self._cache = PlanningCache.of(self._trailing.state, self.rules.profiles)
        return self._cache

    def land(self, task: Task, number: int) -> None:
        """A pod goes, and its replacement runs on a candidate that is not the target."""
        pod = task.move.pod
        others = [node for node in task.move.candidates if node != task.move.target]
        new = deepcopy(self.pods.pop((pod.namespace, pod.name)))
        new["metadata"] |= {"name": f"{pod.name}-{number}", "uid": f"{pod.uid}-{number}"}
        new["spec"]["nodeName"] = others[number % len(others)] if others else task.move.target
        self.store.remove("Pod", pod.namespace, pod.name)
        self.store.add("Pod", [_read(new)])
        self.pods[_key(new)] = new
        assert self._trailing is not None
        self._trailing.touch("Pod", [(pod.namespace, pod.name), _key(new)])


def _read(thing: Object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[thing["kind"]])


def _key(thing: Object) -> Key:
    return thing["metadata"]["namespace"], thing["metadata"]["name"]


@dataclass(slots=True, frozen=True)
class Row:
    """One size; seconds are of the processor."""

    size: Size
    moves: int
    repairs: list[float]
    scratch: list[float]

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        repair, scratch = median(self.repairs), median(self.scratch)
        counts = f"{self.size.nodes:,}", f"{self.size.pods:,}", f"{self.moves:,}", f"{len(self.repairs):,}"
        return (*counts, f"{1e3 * repair:,.0f} ms", f"{1e3 * scratch:,.0f} ms", f"{scratch / repair:.0f}x")


def measure(size: Size, profile: str, repairs: int) -> Row:
    """Repair the plan of one cluster a number of times. ValueError where two plans differ."""
    town = Town(CycleRules(load_policy(policy_for(profile).encode(), "policy.yaml", plugins()).policy))
    town.fill(list(generate(profile, size.nodes, size.pods, 1)))
    garbage.collect()
    rest = {task.move.pod.uid: task for task in _repaired(town, None).tasks}
    row = Row(size, len(rest), [], [])
    for number in range(min(repairs, len(rest) // _AT_ONCE)):
        uid = next(iter(rest))
        town.land(rest.pop(uid), number)
        may_move = frozenset(islice(rest, _AT_ONCE))
        repaired, seconds = _timed(partial(_repaired, town, may_move))
        row.repairs.append(seconds)
        if number % _COMPARED == 0:
            scratch, seconds = _timed(partial(_from_scratch, town, may_move))
            row.scratch.append(seconds)
            if told(repaired) != told(scratch):
                raise ValueError(f"the plan after {number + 1} landings is not the one that is made from scratch")
        for dropped in may_move - {each.move.pod.uid for each in repaired.tasks}:
            del rest[dropped]
    return row


def _repaired(town: Town, may_move: frozenset[str] | None) -> CycleDecision:
    cache = town.kept()
    return decide(cache.state.cluster, town.rules, Before(may_move=may_move), _TIME, cache=cache)


def _from_scratch(town: Town, may_move: frozenset[str]) -> CycleDecision:
    return decide(town.store.snapshot(), town.rules, Before(may_move=may_move), _TIME)


def _timed(decision: Callable[[], CycleDecision]) -> tuple[CycleDecision, float]:
    began = time.process_time()
    found = decision()
    return found, time.process_time() - began


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments, or a repaired plan that is not the one that is made from scratch."""
    given = _parser().parse_args(arguments)
    rows = []
    try:
        for size in [each for each in SIZES if each.nodes in given.nodes]:
            rows.append(measure(size, given.profile, given.repairs))
            print(" | ".join(rows[-1].cells()), flush=True)
        if given.markdown:
            put(given.markdown, "repair", f"{machine()}.\n\n{markdown(_HEADINGS, [each.cells() for each in rows])}")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench repair",
        description="Time what a landing on another node than the plan's costs a cycle of restow run.",
        epilog="example: python -m tests.bench repair --nodes 1000",
    )
    sizes = [each.nodes for each in SIZES]
    parser.add_argument("--nodes", type=int, nargs="+", default=sizes, choices=sizes)
    parser.add_argument("--profile", default="mixed", help="Of the generated cluster, and its policy.")
    parser.add_argument("--repairs", type=int, default=40)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between its markers")
    return parser
