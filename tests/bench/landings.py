"""Moves and the balance after them: the Descheduler, and restow unsteered and steered, on the same clusters in one run.

Whoever plans, the real kube-scheduler places the replacements, in process and as it comes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.balance import Balance, Filling, balance_after, intended_balance, permitted_balance
from bench.cases import Size
from bench.documents import markdown, put
from bench.inputs import dump_of
from bench.planned_moves import Moves, landings, of_restow, of_the_descheduler, rows_by_name
from bench.table import machine
from oracle.oracle_process import OracleError
from restow.cluster.snapshot import ClusterSnapshot
from restow.sources.documents import load_cluster
from restow.sources.synthetic import policy_for
from restow.sources.synthetic.profiles import Strategies, policy_text

SIZES = (30, 120, 300, 1_000)


@dataclass(slots=True, frozen=True)
class Scene:
    """A strategy and the clusters that it has something to do in."""

    strategy: str
    profile: str
    pods_per_node: int
    policy: str
    #: The resources that it looks at.
    resources: tuple[str, ...]
    #: Whether it fills nodes, so as to empty others.
    fills: bool = False


SCENES = (
    Scene("LowNodeUtilization", "low-utilization", 30, policy_for("low-utilization"), ("cpu",)),
    Scene(
        "HighNodeUtilization",
        "mixed",
        20,
        policy_text(Strategies({"HighNodeUtilization": {"thresholds": {"cpu": 30, "memory": 30}}})),
        ("cpu", "memory"),
        fills=True,
    ),
)

#: The plans of restow that are compared.
_PLANS: tuple[tuple[str, Callable[[ClusterSnapshot, str], Moves]], ...] = (
    ("none", partial(of_restow, certainty="certain", steering="none")),
    ("likely", partial(of_restow, certainty="likely", steering="none")),
    ("steered", partial(of_restow, certainty="likely", steering="nominate")),
)
HEADINGS = ("strategy", "nodes", "before", "Descheduler", "as it intends", "as it could", *(name for name, _ in _PLANS))


@dataclass(slots=True, frozen=True)
class Outcome:
    """What came of one program's moves."""

    moves: Moves | None
    balance: Balance
    #: Replacements that find no node.
    waiting: int = 0

    def cell(self) -> str:
        """Moves, and the balance after them."""
        balance = self.balance
        figures = f"{balance.deviation:.1f}, {balance.fullest:.0f} %, {balance.empty}"
        if self.moves is None:
            return figures
        refused = f" (+{self.moves.refused:,})" if self.moves.refused else ""
        waiting = f"; {self.waiting} wait" if self.waiting else ""
        return f"{len(self.moves.granted):,}{refused}: {figures}{waiting}"


@dataclass(slots=True, frozen=True)
class Row:
    """One strategy at one size."""

    scene: Scene
    nodes: int
    outcomes: tuple[Outcome, ...]

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return self.scene.strategy, f"{self.nodes:,}", *(each.cell() for each in self.outcomes)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments or no Go program."""
    given = _parser().parse_args(arguments)
    try:
        rows = []
        for scene in SCENES:
            for nodes in given.nodes if scene.strategy in given.strategy else ():
                rows.append(measure(scene, nodes))
                print(" | ".join(rows[-1].cells()), flush=True)
        if given.markdown:
            put(given.markdown, "landing", "\n".join([f"{machine()}.", "", _table(rows)]))
    except (OSError, ValueError, OracleError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def measure(scene: Scene, nodes: int) -> Row:
    """Everything that is said of one strategy at one size."""
    dump = dump_of(scene.profile, Size(nodes, nodes * scene.pods_per_node))
    return Row(scene, nodes, tuple(_outcomes(scene, dump, load_cluster([str(dump)])[0])))


def _outcomes(scene: Scene, dump: Path, cluster: ClusterSnapshot) -> Iterator[Outcome]:
    yield Outcome(None, Filling(cluster, scene.resources).balance())
    evicted = of_the_descheduler(dump, cluster, scene.policy)
    yield _outcome(scene, dump, cluster, evicted)
    intended = _rows(cluster, evicted)
    for hoped in (intended_balance, permitted_balance):
        yield Outcome(None, hoped(cluster, scene.resources, intended, fill=scene.fills))
    for _, plan in _PLANS:
        yield _outcome(scene, dump, cluster, plan(cluster, scene.policy))


def _outcome(scene: Scene, dump: Path, cluster: ClusterSnapshot, moves: Moves) -> Outcome:
    nodes = landings(dump, cluster, moves)
    balance = balance_after(cluster, scene.resources, _rows(cluster, moves), nodes)
    return Outcome(moves, balance, nodes.count(""))


def _rows(cluster: ClusterSnapshot, moves: Moves) -> list[int]:
    rows = rows_by_name(cluster)
    return [rows[each.pod] for each in moves.granted]


def _table(rows: list[Row]) -> str:
    return markdown(HEADINGS, [row.cells() for row in rows])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench landing", description=__doc__)
    names = [each.strategy for each in SCENES]
    parser.add_argument("--nodes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--strategy", nargs="+", choices=names, default=names)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between its markers")
    return parser
