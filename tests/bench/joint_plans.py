"""Steered plans of today's strategies, and of Rebalance, on the same generated clusters in one run.

Replacements of steered moves are counted where the plan puts them; that the real kube-scheduler does so is what the part
``landing`` and the tests on a real control plane show.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from bench.balance import Balance, Filling, balance_after
from bench.cases import Size
from bench.documents import markdown, put
from bench.inputs import dump_of
from bench.table import machine
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.cycle import Cycle
from restow.descheduling.plan import GoalResult
from restow.descheduling.registry import plugins, strategies
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy
from restow.proving.search import prove_cycle
from restow.sources.documents import load_cluster
from restow.sources.synthetic import NOW, policy_for
from restow.sources.synthetic.profiles import Strategies, policy_text

SIZES = (60, 300, 1_000)
_FILLING = policy_text(Strategies({"HighNodeUtilization": {"thresholds": {"cpu": 30, "memory": 30}}}))
HEADINGS = ("strategy, then Rebalance", "nodes", "before", "strategy", "Rebalance", "goal", "seconds")


@dataclass(slots=True, frozen=True)
class Scene:
    """A strategy, the clusters that it has something to do in, and the goal that wants the same."""

    strategy: str
    profile: str
    pods_per_node: int
    policy: str
    goal: str
    resources: tuple[str, ...]
    #: Whether Rebalance may make as many moves as the strategy, and not more.
    as_many: bool = False

    @property
    def name(self) -> str:
        """For the first column."""
        limit = ", as many moves at most" if self.as_many else ""
        return f"{self.strategy} ({self.profile}), {self.goal}{limit}"


SCENES = (
    Scene(
        "LowNodeUtilization", "low-utilization", 20, policy_for("low-utilization"), "balance", ("cpu",), as_many=True
    ),
    Scene("HighNodeUtilization", "low-utilization", 20, _FILLING, "pack", ("cpu", "memory")),
    Scene("HighNodeUtilization", "mixed", 20, _FILLING, "pack", ("cpu", "memory"), as_many=True),
    Scene("HighNodeUtilization", "mixed", 20, _FILLING, "pack", ("cpu", "memory")),
)


@dataclass(slots=True, frozen=True)
class Outcome:
    """A plan: its moves, the balance after them, how long it took, and how near it comes to its goal."""

    moves: int
    balance: Balance
    seconds: float
    goal: GoalResult | None

    def cell(self) -> str:
        """Moves, the deviation in percent points, and how many nodes run nothing but what belongs to each."""
        return f"{self.moves:,}: {self.balance.deviation:.1f}, {self.balance.empty}"


def measure(scene: Scene, nodes: int) -> tuple[str, ...]:
    """One line of the table."""
    cluster = load_cluster([str(dump_of(scene.profile, Size(nodes, nodes * scene.pods_per_node)))])[0]
    start = Filling(cluster, scene.resources).balance()
    today = _outcome(scene, cluster, scene.policy.encode())
    args = {"goal": scene.goal, "resources": list(scene.resources)} | ({"budget": today.moves} if scene.as_many else {})
    joint = _outcome(scene, cluster, policy_text(Strategies({"Rebalance": args})).encode())
    assert joint.goal is not None
    known = "best" if joint.goal.optimal else f"at best {joint.goal.bound:,.2f}"
    goal = f"{joint.goal.before:,.2f} → {joint.goal.after:,.2f}, {known}"
    before = f"{start.deviation:.1f}, {start.empty}"
    seconds = f"{today.seconds:.1f}, {joint.seconds:.1f}"
    return scene.name, f"{nodes:,}", before, today.cell(), joint.cell(), goal, seconds


def _outcome(scene: Scene, cluster: ClusterSnapshot, policy: bytes) -> Outcome:
    loaded = load_policy(policy, "policy.yaml", plugins()).policy
    asked = structs.replace(loaded, restow=structs.replace(loaded.restow, certainty="likely"))
    begin = time.perf_counter()
    cycle = prove_cycle(cluster, asked, strategies(), parse_time(NOW), steering="nominate")
    seconds = time.perf_counter() - begin
    pods, targets = _moves(cycle)
    balance = balance_after(cluster, scene.resources, pods, targets)
    return Outcome(len(pods), balance, seconds, next(iter(cycle.record.goals.values()), None))


def _moves(cycle: Cycle) -> tuple[list[int], list[str]]:
    names, made = cycle.state.cluster.nodes.names, cycle.record.evictions
    return [each.pod for each in made], [names[each.landing.target] for each in made]


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments."""
    given = _parser().parse_args(arguments)
    rows = []
    for scene in SCENES:
        for nodes in given.nodes:
            rows.append(measure(scene, nodes))
            print(" | ".join(rows[-1]), flush=True)
    try:
        if given.markdown:
            put(given.markdown, "joint", "\n".join([f"{machine()}.", "", markdown(HEADINGS, rows)]))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench joint", description=__doc__)
    parser.add_argument("--nodes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between its markers")
    return parser
