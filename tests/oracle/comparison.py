"""One case, asked of restow and of the real Descheduler, and what is wrong if their answers disagree.

The Descheduler has more than one answer: Go's maps, unstable sorts and ties choose among several. So it is asked more
than once - first with nodes and pods in the order of their names, then in random orders and in orders that favour the
pods that restow chose, all of them orders that its index may give - until restow's answer is among its own:

* the evictions (pod, node, profile, plugin) and the errors of strategies must be those of some cycle, in its order;
* where only the order differs, no two evictions may be in an order in which no cycle has them;
* where a cycle evicts the same pods, the limits must keep the same pods;
* where hundreds of cycles hardly repeat each other, the one of restow cannot be met by chance. Then whatever all cycles
  have in common must be true of restow's: who always goes, who never does, how many per plugin, node and namespace.

A policy that one refuses the other must refuse too, with the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from builders import NOW
from builders.metadata import Object
from descheduling.harness import a_cluster
from oracle.oracle_process import Answer, Eviction, OracleProcess, Outcome
from oracle.policy_errors import unexplained
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.registry import plugins, strategies
from restow.errors import InputError
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy

#: Cycles in the order of names, and then in orders that leave ties to chance, or to the pods that restow chose.
CANONICAL = 3
ROUNDS: tuple[tuple[Literal["canonical", "random", "first", "last"], int], ...] = (
    ("canonical", 30),
    ("random", 30),
    ("first", 80),
    ("last", 80),
    ("canonical", 200),
    ("random", 2000),
)
#: Fewer cycles with the same evictions do not tell in which orders they may come, and whom the limits may keep.
ENOUGH = 30
#: A larger share of different outcomes among the cycles is too many to meet a certain one.
MANY = 0.05
LIMIT = "maximum number of evicted pods"


@dataclass(slots=True, frozen=True)
class Case:
    """What is asked: objects, the text of a policy, and what a Prometheus told restow."""

    cluster: list[Object]
    policy: str
    usage: Mapping[UsageQuery, QueryResult] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Move:
    """One eviction."""

    profile: str
    plugin: str
    pod: str
    node: str


@dataclass(slots=True, frozen=True)
class Run:
    """What one cycle did: evictions in order, errors of strategies, and the pods that stayed because of a limit."""

    moves: tuple[Move, ...]
    errors: tuple[tuple[str, str, str], ...]
    kept: frozenset[Move]

    def result(self) -> tuple[frozenset[Move], tuple[tuple[str, str, str], ...]]:
        """What is left when the order of evictions does not count."""
        return frozenset(self.moves), self.errors


def disagreement(case: Case, oracle: OracleProcess, asked_of_restow: Case | None = None) -> str:
    """What is wrong about restow's answer; empty if nothing is. restow may be asked the same in another form."""
    answer = oracle.ask(case.cluster, case.policy, now=NOW, repeat=CANONICAL, apart=True)
    try:
        ours = restow_run(asked_of_restow or case)
    except InputError as refusal:
        if not answer.error:
            return f"restow refuses, upstream does not: {refusal}"
        return unexplained(answer.error, case.policy, str(refusal))
    if answer.error:
        return f"upstream refuses, restow does not: {answer.error}"
    return _difference(case, ours, upstream_runs(answer), oracle)


def restow_run(case: Case) -> Run:
    """restow's answer; InputError where it refuses the policy."""
    policy = load_policy(case.policy.encode(), "policy.yaml", plugins()).policy
    cycle = run_cycle(replace(a_cluster(*case.cluster), usage=case.usage), policy, strategies(), parse_time(NOW))
    cycle.state.validate()
    return _of_cycle(cycle)


def _of_cycle(cycle: Cycle) -> Run:
    pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    moves = [Move(*each.ref, pods.full_name(each.pod), nodes[each.node]) for each in cycle.record.evictions]
    kept = [
        Move(*each.ref, pods.full_name(each.pod), nodes[each.node])
        for each in cycle.record.refusals
        if each.reason[0] == "limit"
    ]
    errors = [(*ref, message) for ref, message in cycle.record.problems]
    return Run(tuple(moves), tuple(errors), frozenset(kept))


def upstream_runs(answer: Answer) -> list[Run]:
    """The cycles of an answer."""
    return [_of_outcome(outcome) for outcome in answer.runs]


def _of_outcome(outcome: Outcome) -> Run:
    moves = tuple(_move(each) for each in outcome.evictions if not each.refused)
    gone = {move.pod for move in moves}
    kept = {_move(each) for each in outcome.evictions if each.refused.startswith(LIMIT)}
    errors = tuple((each.profile, each.plugin, each.error) for each in outcome.errors)
    return Run(moves, errors, frozenset(move for move in kept if move.pod not in gone))


def _move(eviction: Eviction) -> Move:
    return Move(eviction.profile, eviction.plugin, f"{eviction.namespace}/{eviction.name}", eviction.node)


def _difference(case: Case, ours: Run, theirs: list[Run], oracle: OracleProcess) -> str:
    """Ask for more cycles until one is like ours."""
    wrong = _compared(ours, theirs)
    chosen = [move.pod for move in (*ours.moves, *sorted(ours.kept, key=lambda move: move.pod))]
    for order, repeat in ROUNDS:
        if not wrong:
            break
        asked = {"now": NOW, "repeat": repeat, "order": order, "favoured": chosen, "apart": True}
        theirs += upstream_runs(oracle.ask(case.cluster, case.policy, **asked))
        wrong = _compared(ours, theirs)
    different = len({run.result() for run in theirs})
    alike = sum(run.result() == ours.result() for run in theirs)
    if not wrong or 0 < alike < ENOUGH:
        return ""
    return wrong if different <= MANY * len(theirs) else _unlike_all(ours, theirs)


def _compared(ours: Run, theirs: list[Run]) -> str:
    alike = [run for run in theirs if run.result() == ours.result()]
    if not alike:
        return _unlike(ours, theirs)
    if not any(run.moves == ours.moves for run in alike):
        wrong = _never_in_this_order(ours, alike)
        if wrong:
            return wrong
    return _kept_otherwise(ours.kept, [run.kept for run in alike])


def _kept_otherwise(ours: frozenset[Move], theirs: list[frozenset[Move]]) -> str:
    """What a limit kept, or did not keep, in every cycle but ours; any number in between is chance."""
    never = ours - frozenset().union(*theirs)
    always = frozenset.intersection(*theirs) - ours
    counts = [len(kept) for kept in theirs]
    if never or always or not min(counts) <= len(ours) <= max(counts):
        return f"limits keep {_names(ours)}, upstream {[_names(kept) for kept in theirs[:3]]}"
    return ""


def _unlike(ours: Run, theirs: list[Run]) -> str:
    outcomes = Counter(run.result() for run in theirs).most_common(3)
    told = [f"{count} x {_names(moves)} {errors or ''}" for (moves, errors), count in outcomes]
    more = len({run.result() for run in theirs})
    return f"restow: {_names(ours.moves)} {ours.errors or ''}\nupstream, {more} outcomes: " + "\n  ".join(told)


def _never_in_this_order(ours: Run, alike: list[Run]) -> str:
    places = [{move: place for place, move in enumerate(run.moves)} for run in alike]
    for index, later in enumerate(ours.moves):
        for earlier in ours.moves[:index]:
            if all(place[later] < place[earlier] for place in places):
                return f"{earlier.pod} goes before {later.pod}, upstream always after it ({len(alike)} cycles)"
    return ""


def _facts(run: Run) -> Counter[tuple[str, ...]]:
    """What may be counted of a cycle."""
    facts: Counter[tuple[str, ...]] = Counter()
    for move in run.moves:
        ref = (move.profile, move.plugin)
        facts.update([ref, (*ref, "node", move.node), (*ref, "namespace", move.pod.split("/")[0]), ("pod", move.pod)])
    facts.update(("error", *error) for error in run.errors)
    return facts


def _unlike_all(ours: Run, theirs: list[Run]) -> str:
    """What is true of all cycles and not of ours."""
    mine, others = _facts(ours), [_facts(run) for run in theirs]
    for fact in sorted(mine.keys() | {fact for each in others for fact in each}):
        seen = {each[fact] for each in others}
        if not min(seen) <= mine[fact] <= max(seen):
            return f"{' '.join(fact)}: {mine[fact]}, upstream {min(seen)} to {max(seen)} in {len(theirs)} cycles"
    return ""


def _names(moves: Iterable[Move]) -> str:
    listed = list(moves) if isinstance(moves, tuple) else sorted(moves, key=lambda move: move.pod)
    return " ".join(f"{move.pod}({move.plugin})" for move in listed) or "nothing"
