"""The document of ``restow schedule``: valid JSON, one line a pod, names instead of indices."""

from __future__ import annotations

import json

import pytest

from builders import HOSTNAME, a_node, a_pod, node_affinity, node_term, uid_of
from descheduling.harness import a_cluster
from reporting.scheduling import decided
from restow.reporting.schedule_result import Outcomes, ScheduleMetadata, render_pod, render_result

METADATA = ScheduleMetadata("2026-11-21T00:00:00Z", "1.2.3")


def document(metadata=METADATA, pods=()):
    return b"".join(render_result(metadata, pods)).decode()


def outcome(*objects, scores_for="needed"):
    return Outcomes(a_cluster(*objects), scores_for).of(decided(*objects))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_pod_is_a_line(count):
    text = document(pods=[b'{"node":null}'] * count)
    assert json.loads(text)["pods"] == [{"node": None}] * count
    assert sum("node" in line for line in text.splitlines()) == count
    assert text.endswith("\n")


def test_the_head():
    assert document().splitlines()[:4] == [
        "{",
        '  "apiVersion": "restow.dev/v1alpha1",',
        '  "kind": "ScheduleResult",',
        '  "metadata": {"generatedAt":"2026-11-21T00:00:00Z","restowVersion":"1.2.3"},',
    ]


def test_timings_have_four_digits():
    timed = ScheduleMetadata("2026-11-21T00:00:00Z", "1.2.3", {"load": 1.23456789})
    assert json.loads(document(timed))["metadata"]["timings"] == {"load": 1.2346}


def test_every_field_is_there_even_if_it_says_nothing():
    assert json.loads(render_pod(outcome(a_node("n1"), a_pod("p")))) == {
        "pod": {"namespace": "default", "name": "p", "uid": uid_of("Pod", "default", "p")},
        "node": "n1",
        "currentNode": None,
        "nominatedNode": None,
        "victims": [],
        "gated": None,
        "unknown": None,
        "message": "",
        "feasible": ["n1"],
        "best": ["n1"],
        "scores": {},
        "rejected": {},
        "preFilter": None,
    }


@pytest.mark.parametrize(
    ("nodes", "scores_for", "scored"),
    [(1, "needed", 0), (2, "needed", 2), (1, "all", 1), (2, "all", 2)],
)
def test_scores_are_told_where_several_nodes_need_them_or_of_all(nodes, scores_for, scored):
    found = outcome(*(a_node(f"n{at}") for at in range(nodes)), a_pod("p"), scores_for=scores_for)
    assert len(found.scores) == scored


def test_nodes_that_prefilter_leaves_out_are_not_rejected():
    by_name = node_affinity([node_term(fields=[("metadata.name", "In", "n1")])])
    nodes = [a_node(name, labels={HOSTNAME: name}, taints=["x:NoSchedule"]) for name in ("n1", "n2")]
    assert list(outcome(*nodes, a_pod("p", affinity=by_name)).rejected) == ["n1"]


def test_a_pod_ruled_out_beforehand_has_no_rejected_nodes():
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    found = outcome(a_node("n1"), a_pod("p", spec=claim))
    assert found.rejected == {}
    assert (found.pre_filter.plugin, found.pre_filter.unresolvable) == ("VolumeRestrictions", True)


def test_nodes_that_nobody_was_asked_about_are_neither_feasible_nor_rejected():
    found = outcome(a_node("n1"), a_node("n2"), a_pod("p", nominated_node="n1"))
    assert (found.feasible, found.rejected) == (("n1",), {})
