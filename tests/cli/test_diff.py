"""``restow diff``: two plans, two policies or two clusters, and the exit status that says whether they differ."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from builders import NOW
from builders.policies import as_yaml, strategy_policy
from restow.reporting.difference_result import PlanDifference


@pytest.fixture
def idle(tmp_path: Path) -> Path:
    """A policy that moves nothing."""
    path = tmp_path / "idle.yaml"
    path.write_bytes(as_yaml(strategy_policy("RemovePodsHavingTooManyRestarts", {"podRestartThreshold": 10**6})))
    return path


@pytest.fixture
def saved(restow, plan_arguments, tmp_path: Path) -> Path:
    """A plan with one move."""
    path = tmp_path / "plan.json"
    path.write_text(restow(*plan_arguments, "-o", "json").out)
    return path


def test_two_policies_are_planned_on_one_cluster(restow, cluster, policy, idle):
    ran = restow("diff", "-f", str(cluster), str(policy), str(idle), "--now", NOW, "-o", "json")
    assert ran.status == 3
    found = msgspec.json.decode(ran.out, type=PlanDifference)
    assert [str(each.pod) for each in found.only_old] == ["default/web-1"]
    assert (found.same, found.only_new, found.elsewhere) == (0, (), ())
    assert (found.old.name, found.new.name, found.new.moves) == (str(policy), str(idle), 0)
    assert found.old.generated_at == found.new.generated_at == NOW


def test_the_same_policy_makes_no_difference(restow, cluster, policy):
    ran = restow("diff", "-f", str(cluster), str(policy), str(policy), "--now", NOW)
    assert (ran.status, ran.err) == (0, "")
    assert "No difference: 1 move is the same" in ran.out


def test_two_saved_plans_need_no_cluster(restow, saved, tmp_path):
    plan = json.loads(saved.read_text())
    plan["moves"][0]["to"] = "n2"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(plan))
    ran = restow("diff", str(saved), str(other))
    assert ran.status == 3
    assert "0 moves are the same; 1 elsewhere" in ran.out
    assert "default/web-1  n1    n3      n2" in ran.out


def test_two_clusters_are_planned_by_one_policy(restow, cluster, policy):
    ran = restow("diff", "--policy-config-file", str(policy), str(cluster), str(cluster), "--now", NOW)
    assert ran.status == 0
    assert "No difference: 1 move is the same" in ran.out


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_people_read_who_moves_only_in_one(restow, cluster, policy, idle, form):
    ran = restow("diff", "-f", str(cluster), str(idle), str(policy), "--now", NOW, "-o", form)
    assert ran.status == 3
    assert "0 moves are the same; 1 only with new" in ran.out
    assert "default/web-1" in ran.out


def test_a_plan_and_a_policy_cannot_be_compared(restow, saved, policy):
    ran = restow("diff", str(saved), str(policy))
    assert ran.status == 2
    assert ran.err == f"{saved} is a plan, and {policy} is none; compare two plans, or two policies\n"


def test_a_policy_for_both_and_a_dump_for_both_exclude_each_other(restow, cluster, policy):
    ran = restow("diff", "-f", str(cluster), "--policy-config-file", str(policy), str(cluster), str(cluster))
    assert ran.status == 2
    assert ran.err == "with --policy-config-file, which is the policy of both, compare two dumps without -f\n"


def test_a_damaged_plan_is_told_by_its_file(restow, saved, tmp_path):
    plan = json.loads(saved.read_text())
    plan["moves"][0]["added"] = 1
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(plan))
    ran = restow("diff", str(saved), str(damaged))
    assert ran.status == 2
    assert ran.err.startswith(f"{damaged}: moves[0]: ")
