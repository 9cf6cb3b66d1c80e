"""Predicted probabilities beside what the real kube-scheduler does: landings in bins, and whether each bin is as it should be.

Plans are made of clusters of 100 to 300 nodes, of which the scheduler looks at some, with moves of any probability. Of
each plan some moves are made on the real scheduler, as ``replaying`` says: the search starts at a random node, and of the
nodes with the best score a random one wins. A landing succeeds where the plan says that the strategy gains.

    PYTHONPATH=tests .venv/bin/python -m oracle.calibration 2000
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from math import exp, lgamma, log
from random import Random

from msgspec import structs

from bench.problems import generate, policy_for
from builders import NOW
from descheduling.harness import a_cluster
from oracle.comparison import Case
from oracle.moving_cases import a_large_moving_case
from oracle.replaying import Replay
from oracle.scheduler_process import SchedulerProcess, scheduler_binary
from proving.proven import TOLD, read_policy
from restow.descheduling.cycle import Cycle
from restow.descheduling.placement import Landing
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.kube.timestamps import parse_time
from restow.proving.search import prove_cycle

#: How often a right program is told to be wrong.
ERROR = 1e-6
#: Where one bin ends and the next begins; moves that are certain have a bin of their own.
EDGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Of one plan, and of one of its moves.
_MOVES, _STARTS = 8, 4
_LEAST_NODES, _MOST_NODES, _PODS_PER_NODE = 100, 300, 8
_NEARLY = 0.9999
_BY_PROFILE = ("low-utilization", "spread-zone")
_BY_STRATEGY = ("RemoveDuplicates", "RemovePodsViolatingNodeTaints")


@dataclass(slots=True, frozen=True)
class Drawn:
    """One landing."""

    predicted: float
    succeeds: bool


@dataclass(slots=True, frozen=True)
class Bin:
    """Landings of about the same predicted probability."""

    title: str
    landings: tuple[Drawn, ...]

    @property
    def predicted(self) -> float:
        """The mean of what was predicted."""
        return sum(each.predicted for each in self.landings) / len(self.landings)

    @property
    def observed(self) -> int:
        """How many landings succeeded."""
        return sum(each.succeeds for each in self.landings)

    def interval(self, error: float) -> tuple[int, int]:
        """The numbers of successes outside of which a right prediction leads with this probability at most."""
        return binomial_interval(len(self.landings), self.predicted, error)


def draw(scheduler: SchedulerProcess, number: int) -> list[Drawn]:
    """The first landings of all; the same for the same number."""
    return list(islice((each for seed in count() for each in _of_seed(scheduler, seed)), number))


def bins(landings: Iterable[Drawn]) -> list[Bin]:
    """The bins that have landings, by rising probability."""
    landings = tuple(landings)
    titles = [f"{low:.1f} to {high:.1f}" for low, high in zip((0.0, *EDGES), EDGES, strict=False)]
    found = [
        Bin(title, tuple(each for each in landings if low <= each.predicted < high))
        for title, low, high in zip(titles, (0.0, *EDGES), EDGES, strict=False)
    ]
    certain = Bin("1", tuple(each for each in landings if each.predicted == 1.0))
    return [each for each in (*found, certain) if each.landings]


def wrong(found: Sequence[Bin], error: float = ERROR) -> list[str]:
    """What is wrong about some bins: a right program is told to be wrong with a probability of ``error`` in all."""
    told = []
    for each in found:
        low, high = each.interval(error / len(found))
        if not low <= each.observed <= high:
            told.append(f"{each.title}: {each.observed} of {len(each.landings)} succeeded, not {low} to {high}")
    return told


def binomial_interval(trials: int, probability: float, error: float) -> tuple[int, int]:
    """The successes from the least to the most that leave at most half of ``error`` on either side.

    The probabilities within a bin differ a little. The successes vary less for that, so the interval is rather too wide
    (Hoeffding 1956).
    """
    if probability in (0.0, 1.0):
        return round(trials * probability), round(trials * probability)
    chances = [_chance(successes, trials, probability) for successes in range(trials + 1)]
    return _left_out(chances, error / 2), trials - _left_out(chances[::-1], error / 2)


def _chance(successes: int, trials: int, probability: float) -> float:
    ways = lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
    return exp(ways + successes * log(probability) + (trials - successes) * log(1 - probability))


def _left_out(chances: Iterable[float], error: float) -> int:
    """How many of the first are together at most as probable as the error."""
    total = 0.0
    for left_out, chance in enumerate(chances):
        total += chance
        if total > error:
            return left_out
    raise AssertionError("the chances of all numbers add up to 1")


def table(found: Sequence[Bin], error: float = ERROR) -> str:
    """The bins in Markdown."""
    lines = ["| predicted | landings | mean predicted | observed | interval |", "|---|---:|---:|---:|---:|"]
    for each in found:
        size = len(each.landings)
        low, high = each.interval(error / len(found))
        figures = (each.predicted, each.observed / size, low / size, high / size)
        mean, observed, least, most = (f"{figure:.3f}" for figure in figures)
        lines.append(f"| {each.title} | {size} | {mean} | {observed} | {least} to {most} |")
    return "\n".join(lines)


def _of_seed(scheduler: SchedulerProcess, seed: int) -> Iterator[Drawn]:
    for name in _BY_PROFILE:
        yield from _of_case(scheduler, _generated(name, seed), Random(f"{name}-{seed}"))
    for name in _BY_STRATEGY:
        yield from _of_case(scheduler, a_large_moving_case(name, seed), Random(f"{name}-{seed}"))


def _generated(profile: str, seed: int) -> Case:
    nodes = Random(f"{profile}-{seed}").randint(_LEAST_NODES, _MOST_NODES)
    objects = generate(profile, nodes, nodes * _PODS_PER_NODE, seed)
    return Case([*map(dict, objects), *TOLD], policy_for(profile))


def _of_case(scheduler: SchedulerProcess, case: Case, chance: Random) -> Iterator[Drawn]:
    """Landings of some moves of the plan of a case, most of them not certain."""
    policy = read_policy(case.policy)
    daring = structs.replace(policy, restow=structs.replace(policy.restow, certainty="possible"))
    try:
        cycle = prove_cycle(a_cluster(*case.cluster), daring, strategies(), parse_time(NOW))
    except InputError:
        # Some random policies name a priority class that the cluster does not have.
        return
    chosen = _chosen(cycle, chance)
    replay, names = Replay(case.cluster, scheduler), cycle.state.cluster.nodes.names
    left = len(chosen)
    for at, (eviction, victim) in enumerate(replay.steps(cycle)):
        if at in chosen:
            starts = [chance.randrange(len(names)) for _ in range(_STARTS)]
            for outcome in replay.outcomes(victim, starts):
                yield _drawn(eviction.landing, names, chance.choice(outcome.best))
            left -= 1
        if not left:
            return


def _chosen(cycle: Cycle, chance: Random) -> set[int]:
    """Some of the moves of known probability, by place among those that land somewhere; of those that are certain one."""
    landings = [each.landing for each in cycle.record.evictions if each.landing.target >= 0]
    known = [at for at, each in enumerate(landings) if each.probability is not None]
    certain = [at for at in known if landings[at].certainty == "certain"]
    others = [at for at in known if landings[at].certainty != "certain"]
    return {*chance.sample(certain, min(1, len(certain))), *chance.sample(others, min(_MOVES - 1, len(others)))}


def _drawn(landing: Landing, names: Sequence[str], node: str) -> Drawn:
    assert landing.probability is not None
    # Plans round to four digits: what is not certain is not 1.
    predicted = landing.probability if landing.certainty == "certain" else min(landing.probability, _NEARLY)
    good = {names[each] for each in landing.candidates} - {names[each] for each in landing.in_vain}
    return Drawn(predicted, node in good)


def main() -> None:
    """Prints the table of so many landings, and what is wrong."""
    with SchedulerProcess(scheduler_binary()) as scheduler:
        found = bins(draw(scheduler, int(sys.argv[1])))
    print(table(found))
    sys.exit("\n".join(wrong(found)) or None)


if __name__ == "__main__":
    main()
