"""Moves that the real kube-scheduler carries out: where replacements land, steered and not (``make bench PART=landing``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench.planned_moves import Move, Moves, landings
from builders import HOSTNAME, Object, a_list, a_node, a_pod
from restow.sources.documents import load_cluster

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.oracle


def landed(folder: Path, objects: list[Object], *moves: Move) -> list[str]:
    dump = folder / "cluster.json"
    dump.write_text(json.dumps(a_list(*objects)))
    return landings(dump, load_cluster([str(dump)])[0], Moves(moves))


def nodes(*cpus: str) -> list[Object]:
    return [a_node(f"n{at}", cpu=cpu, labels={HOSTNAME: f"n{at}"}) for at, cpu in enumerate(cpus, start=1)]


def running(name: str, node: str, cpu: str, kind: str = "ReplicaSet") -> Object:
    return a_pod(name, node=node, cpu=cpu, owner=(kind, name), phase="Running")


def test_a_replacement_lands_on_the_node_that_it_is_nominated_for(tmp_path) -> None:
    """n3 is empty and scores more; without a nomination the pod goes there."""
    cluster = [*nodes("4", "4", "4"), running("p", "n1", "1"), running("q", "n2", "2")]
    assert landed(tmp_path, cluster, Move("default/p", "n2")) == ["n2"]
    assert landed(tmp_path, cluster, Move("default/p")) == ["n3"]


def test_a_nomination_for_a_full_node_counts_for_nothing(tmp_path) -> None:
    cluster = [*nodes("4", "4", "4"), running("p", "n1", "1"), running("q", "n2", "4")]
    assert landed(tmp_path, cluster, Move("default/p", "n2")) == ["n3"]


def test_moves_see_what_those_before_them_have_left(tmp_path) -> None:
    cluster = [*nodes("4", "4", "4"), running("p", "n1", "2"), running("q", "n1", "2")]
    assert landed(tmp_path, cluster, Move("default/p", "n3"), Move("default/q")) == ["n3", "n2"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_where_there_is_room_only_without_the_old_pod_the_replacement_gets_it(tmp_path, kind) -> None:
    cluster = [*nodes("2", "1"), running("p", "n1", "2", kind)]
    assert landed(tmp_path, cluster, Move("default/p")) == ["n1"]


def test_a_replacement_that_fits_nowhere_waits_and_is_tried_again_at_the_end(tmp_path) -> None:
    """p asks for n2, where there is room only when q has left it."""
    chosen = {"node_selector": {HOSTNAME: "n2"}, "owner": ("ReplicaSet", "p"), "phase": "Running"}
    cluster = [*nodes("4", "2", "4"), a_pod("p", node="n1", cpu="2", **chosen), running("q", "n2", "2")]
    assert landed(tmp_path, cluster, Move("default/p")) == [""]
    assert landed(tmp_path, cluster, Move("default/p"), Move("default/q", "n3")) == ["n2", "n3"]
