"""What the Descheduler and restow would move in one cluster, and where each replacement then is.

The Descheduler's evictions are those of one cycle of the real program, whose evictions all succeed at once; those that
the API server would refuse, because a disruption budget has no room, are left out and counted. restow's are the moves of
one plan. The real kube-scheduler then places the replacements one after the other (``oracle/scheduler/carrying.go``).
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import structs

from oracle.oracle_process import OracleProcess, oracle_binary
from oracle.scheduler_process import scheduler_binary
from restow.cluster.budgets import CoveringBudgets
from restow.cluster.owners import owner_of
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.registry import plugins, strategies
from restow.kube.timestamps import parse_time
from restow.policies.codes import Certainty, RefusalCode, SteeringMode
from restow.policies.load import load_policy
from restow.proving.disruption_budgets import DisruptionBudgets
from restow.proving.search import prove_cycle
from restow.sources.synthetic import NOW

#: Owners that create a pod again only when the old one is gone.
_ONE_AT_A_TIME = ("StatefulSet", "DaemonSet")
#: Seconds that the Descheduler may take.
_PATIENCE = 3600.0


@dataclass(slots=True, frozen=True)
class Move:
    """One eviction; ``nominated`` is the node that the replacement is steered to, empty where it is not."""

    #: ``namespace/name``.
    pod: str
    nominated: str = ""


@dataclass(slots=True, frozen=True)
class Moves:
    """What a program moves, and how many more evictions it tries that a budget refuses."""

    granted: tuple[Move, ...]
    refused: int = 0


def of_the_descheduler(dump: Path, cluster: ClusterSnapshot, policy: str) -> Moves:
    """The Descheduler's evictions in one cycle. ValueError where it cannot work."""
    with OracleProcess(oracle_binary()) as oracle:
        answer = oracle.ask(files=[dump], policy=policy, now=NOW, order="upstream", timeout=_PATIENCE)
    if answer.error or answer.runs[0].errors:
        raise ValueError(answer.error or str(answer.runs[0].errors))
    evicted = answer.runs[0].pods()
    left = tuple(map(Move, granted(cluster, evicted)))
    return Moves(left, len(evicted) - len(left))


def of_restow(cluster: ClusterSnapshot, policy: str, certainty: Certainty, steering: SteeringMode) -> Moves:
    """The moves of one plan of restow."""
    loaded = load_policy(policy.encode(), "policy.yaml", plugins()).policy
    asked = structs.replace(loaded, restow=structs.replace(loaded.restow, certainty=certainty))
    cycle = prove_cycle(cluster, asked, strategies(), parse_time(NOW), steering=steering)
    pods, names = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    return Moves(
        tuple(
            Move(pods.full_name(each.pod), names[each.landing.target] if each.landing.steering == "nominate" else "")
            for each in cycle.record.evictions
        )
    )


def landings(dump: Path, cluster: ClusterSnapshot, moves: Moves) -> list[str]:
    """The node of each replacement, empty where it finds none, as the real kube-scheduler places them in turn."""
    rows = rows_by_name(cluster)
    asked = [
        {"pod": each.pod, "nominated": each.nominated, "after": _comes_after(cluster, rows[each.pod])}
        for each in moves.granted
    ]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(msgspec.json.encode(asked))
        file.flush()
        command = [str(scheduler_binary()), "-moves", file.name, "-file", str(dump)]
        done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()}")
    return msgspec.json.decode(done.stdout, type=list[str])


def rows_by_name(cluster: ClusterSnapshot) -> dict[str, int]:
    """The row of each pod of a cluster."""
    return {cluster.pods.full_name(row): row for row in range(len(cluster.pods))}


def granted(cluster: ClusterSnapshot, evicted: Sequence[str]) -> Iterator[str]:
    """The evictions for which the disruption budgets have room, if they are asked for in turn."""
    budgets = DisruptionBudgets.of(cluster, CoveringBudgets(cluster, LabelGroups(cluster.pods)))
    rows = rows_by_name(cluster)
    for name in evicted:
        refusal = budgets.refusal(rows[name])
        if refusal is None or refusal[0] not in (RefusalCode.DISRUPTION_BUDGET, RefusalCode.SEVERAL_BUDGETS):
            budgets.count(rows[name])
            yield name


def _comes_after(cluster: ClusterSnapshot, pod: int) -> bool:
    """Whether the replacement of a pod comes only when that is gone."""
    owner = owner_of(cluster.pods, pod)
    return owner is not None and owner.kind in _ONE_AT_A_TIME
