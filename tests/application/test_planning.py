"""What a plan goes by: the version of the scheduler is asked for, stands in the policy, or is assumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import a_list, a_node, a_pod
from builders.policies import as_yaml, strategy_policy
from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.planning import PlanRequest, plan_context

KUBELET = {"nodeInfo": {"kubeletVersion": "v1.34.2"}}


@pytest.mark.parametrize(
    ("asked", "written", "minor"), [("1.33", "1.35", 33), (None, "1.35", 35), (None, None, None), ("1.37", None, 37)]
)
def test_the_scheduler_is_of_the_version_that_is_asked_for_or_else_of_the_policys(
    tmp_path: Path, asked: str | None, written: str | None, minor: int | None
) -> None:
    node = a_node("n")
    (tmp_path / "dump.json").write_text(json.dumps(a_list(node | {"status": node["status"] | KUBELET}, a_pod("p"))))
    section = {} if written is None else {"restow": {"schedulerVersion": written}}
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates", **section)))
    where = ClusterSource((str(tmp_path / "dump.json"),), scheduler_version=asked)
    feedback = Collected()
    context = plan_context(PlanRequest(where, str(tmp_path / "policy.yaml")), feedback)
    assert context.found.cluster.server_minor == minor
    assert any("1.36 is assumed" in each for each in feedback.warnings) is (minor is None)
