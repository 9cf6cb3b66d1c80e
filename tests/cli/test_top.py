"""``restow top`` of a dump, which is shown once."""

from __future__ import annotations

import json
from pathlib import Path

from builders import a_list, a_node, a_pod

DEMO = Path(__file__).parents[2] / "examples" / "clusters" / "demo.json"


def test_a_dump_is_shown_once(restow):
    ran = restow("top", "-f", DEMO)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("36 nodes, 354 pods, 2 pending   ")
    assert len([line for line in ran.out.splitlines() if " % " in line]) == 36
    assert max(map(len, ran.out.splitlines())) <= 80


def test_what_is_under_way_is_told_by_the_pods(restow):
    gate = {"schedulingGates": [{"name": "restow.dev/steer"}]}
    objects = a_list(
        a_node("n-1", cpu="4", unschedulable=True),
        a_node("n-2", cpu="4", ready=False),
        a_pod("ends", node="n-1", cpu="1", deleted="2026-11-21T00:00:00Z", phase="Running"),
        a_pod("gated", cpu="1", spec=gate, phase="Pending"),
        a_pod("pending", cpu="1", phase="Pending"),
    )
    ran = restow("top", "-f", "-", stdin=json.dumps(objects).encode())
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines() if line.strip()}
    assert lines["default/ends"] == "n-1 ends"
    assert lines["default/gated"] == "- waits behind restow's gate"
    assert lines["default/pending"] == "- waits for a node"
    assert lines["n-1"].endswith("cordoned")
    assert lines["n-2"].endswith("not ready")
    assert "25 %" in lines["n-1"]
