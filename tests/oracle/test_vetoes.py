"""The dump of vetoes: what the real Descheduler evicts there, and what a proven plan says of the same pods."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from builders import NOW, Object
from descheduling.harness import a_cluster
from oracle.oracle_process import OracleProcess
from oracle.vetoes import FOLDER, evicted, objects, policy
from proving.proven import TOLD, prove, read_policy, reasons
from restow.descheduling.cycle import run_cycle
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.policies.codes import SteeringMode

#: The code of each pod that a proven plan keeps although the Descheduler evicts it.
KEPT = {
    "held/do-not-disrupt": "DoNotDisrupt",
    "held/do-not-disrupt-30m": "DoNotDisrupt",
    "held/not-safe-to-evict": "NotSafeToEvict",
    "held/unsafe-volume": "UnsafeLocalVolumes",
    "held/eviction-in-progress": "MigrationInProgress",
    "held/on-a-kept-node": "NodeDoNotDisrupt",
    "held/migrates-from": "MigrationInProgress",
    "held/migrates-to": "MigrationInProgress",
    "held/waits-for-migration": "MigrationInProgress",
    "held/just-migrated": "MigrationCoolDown",
}
#: Those that it moves, as the Descheduler does.
MOVED = {
    "held/do-not-disrupt-5m-over",
    "held/safe-volumes",
    "held/prefer-no-eviction",
    "held/nothing-forbidden",
}


def stored(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def told(pods: Iterable[str]) -> tuple[set[str], int]:
    """The pods that differ, and how many of those that are equal: which of them is left to chance."""
    known = set(pods)
    held = {each for each in known if each.startswith("held/")}
    return held, len(known - held)


def dumped() -> list[Object]:
    cluster: list[Object] = stored("cluster")["items"]
    return cluster


def test_the_dump_is_up_to_date() -> None:
    assert (dumped(), stored("policy")) == (objects(), policy())


@pytest.mark.oracle
def test_the_descheduler_still_gives_the_stored_answer(oracle: OracleProcess) -> None:
    assert told(evicted(oracle, dumped(), stored("policy"))) == told(stored("descheduler"))


def test_upstream_placement_agrees_with_the_descheduler() -> None:
    cycle = run_cycle(a_cluster(*dumped()), read_policy(stored("policy")), strategies(), parse_time(NOW))
    pods = cycle.state.cluster.pods
    assert told(pods.full_name(each.pod) for each in cycle.record.evictions) == told(stored("descheduler"))


@pytest.mark.parametrize("steering", SteeringMode)
def test_a_proven_plan_respects_each_veto(steering: SteeringMode) -> None:
    assert KEPT.keys() | MOVED == told(stored("descheduler"))[0]
    cycle = prove([*dumped(), *TOLD], stored("policy"), steering=steering)
    pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    codes = {name: code for name, (_, code, _) in reasons(cycle).items() if name in KEPT}
    assert codes == KEPT
    moved = {pods.full_name(each.pod): nodes[each.landing.target] for each in cycle.record.evictions}
    assert moved.keys() >= MOVED
    assert not {"leaving", "virtual"} & set(moved.values())
