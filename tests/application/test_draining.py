"""What a drain comes to, in clusters where the outcome is plain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import NOW, Object, a_list, a_node, a_pdb, a_pod, a_workload
from restow.application.clusters import ClusterSource
from restow.application.draining import DrainRequest, drained
from restow.application.feedback import Collected
from restow.errors import InputError
from restow.reporting.drain_result import NodeDrain
from restow.reporting.drain_table import drain_sections, headline

SELECTOR: Object = {"matchLabels": {"app": "web"}}


def web(kind: str = "ReplicaSet", *, replicas: int | None = 4, cpu: str = "1") -> Object:
    """A workload whose pods there are not yet when the cluster is saved."""
    container = {"name": "c", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    return a_workload(kind, "web", replicas=replicas, selector=SELECTOR, spec={"template": template})


def drain(tmp_path: Path, *objects: Object, node: str = "n-1") -> NodeDrain:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(a_list(*objects)))
    return drained(DrainRequest(ClusterSource((str(file),)), node, now=NOW), Collected())


def told(found: NodeDrain) -> str:
    return "\n".join(line.plain for section in drain_sections(found, 80) for line in section)


def test_all_pods_go_to_the_other_node(tmp_path: Path) -> None:
    found = drain(tmp_path, a_node("n-1"), a_node("n-2"), web())
    assert [(each.at, each.outcome, each.to) for each in found.pods] == [(0.0, "moved", "n-2")] * 2
    assert [(each.workload, each.evicted) for each in found.workloads] == [("replicaset/default/web", 2)]
    assert found.workloads[0].below_seconds > 0
    assert headline(found) == "n-1 can be emptied: 2 pods evicted within 0 s"


def test_a_budget_makes_pods_wait_until_others_are_ready(tmp_path: Path) -> None:
    budget = a_pdb("web", selector=SELECTOR, max_unavailable=1)
    found = drain(tmp_path, a_node("n-1"), a_node("n-2"), web(), budget)
    assert [each.at for each in found.pods] == [0.0, 5.0]
    assert not found.staying


def test_a_budget_that_allows_nothing_keeps_the_node(tmp_path: Path) -> None:
    budget = a_pdb("web", selector=SELECTOR, min_available=4)
    found = drain(tmp_path, a_node("n-1"), a_node("n-2"), web(), budget)
    assert not found.pods
    assert [each.reason for each in found.staying] == ["refused"] * 2
    assert "The disruption budget web needs 4 healthy pods and has 4 currently" in found.staying[0].message
    assert headline(found) == "n-1 cannot be emptied: 0 pods evicted, 2 pods cannot go"


def test_a_replacement_without_a_node_says_why(tmp_path: Path) -> None:
    found = drain(tmp_path, a_node("n-1"), a_node("n-2", cpu="3"), web())
    waiting = [each for each in found.pods if each.outcome == "waiting"]
    assert len(waiting) == 1
    assert waiting[0].message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable")
    assert "1 pod without a node afterwards" in headline(found)
    assert "Without a node afterwards" in told(found)


def test_a_bare_pod_is_not_replaced(tmp_path: Path) -> None:
    found = drain(tmp_path, a_node("n-1"), a_node("n-2"), a_pod("alone", node="n-1", phase="Running"))
    assert [(each.pod, each.outcome) for each in found.pods] == [("default/alone", "unreplaced")]
    assert "(not replaced)" in told(found)


def test_pods_of_a_daemon_set_stay(tmp_path: Path) -> None:
    found = drain(tmp_path, a_node("n-1"), a_node("n-2"), web("DaemonSet", replicas=None))
    assert not found.pods
    assert [(each.reason, each.message) for each in found.staying] == [("belongs", "a pod of a DaemonSet")]
    assert headline(found) == "Nothing to drain: n-1 has no pods but its own"


def test_the_same_input_has_the_same_result(tmp_path: Path) -> None:
    objects = (a_node("n-1"), a_node("n-2"), a_node("n-3"), web(replicas=6))
    assert drain(tmp_path, *objects) == drain(tmp_path, *objects)


def test_a_node_that_is_not_there_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'the input holds no node n-3; did you mean "n-1"\?'):
        drain(tmp_path, a_node("n-1"), node="n-3")


def test_the_input_is_left_as_it_is(tmp_path: Path) -> None:
    objects: list[Any] = [a_node("n-1"), a_node("n-2"), web()]
    before = json.dumps(objects)
    drain(tmp_path, *objects)
    assert json.dumps(objects) == before
