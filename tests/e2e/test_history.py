"""``restow run --history`` on the real control plane: what was evicted, where it landed, and that a restart loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import HOSTNAME
from builders.policies import strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import evicted, run_once
from e2e.rest import name_of
from e2e.workloads import pods_of, replica_set, wait_for_ready
from restow.application.past import HistoryRequest, past

pytestmark = pytest.mark.e2e


def test_what_was_evicted_is_what_stands_in_the_history(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    pinned = {"spec": {"nodeName": name_of(plane.admin.items("Node")[0])}}
    plane.admin.create(replica_set("web", 3, namespace=namespace, **pinned))
    wait_for_ready(plane.admin, "web", 3, namespace)
    free = {"spec": {"template": {"spec": {"nodeName": None}}}}
    plane.admin.patch("ReplicaSet", "web", free, namespace)
    policy = strategy_policy("RemoveDuplicates", {"namespaces": {"include": [namespace]}})
    file = tmp_path / "restow.db"

    moved: list[str] = []
    for _ in range(2):
        assert run_once(plane, "restow", policy, tmp_path, flags=[f"--history={file}"]).status == 0
        moved += evicted(plane)
    assert moved

    found = past(HistoryRequest(str(file)))
    assert sorted(f"{each.namespace}/{each.pod}" for each in found.listed if each.result == "moved") == sorted(moved)
    assert found.cycles.done == 2
    nodes = {name_of(each): each["spec"]["nodeName"] for each in pods_of(plane.admin, "web", namespace)}
    assert {each.replacement: each.landed for each in found.listed if each.result == "moved"}.items() <= nodes.items()
    assert all(each.seconds_to_ready is not None for each in found.listed if each.result == "moved")
    assert HOSTNAME not in file.read_bytes().decode(errors="replace")
