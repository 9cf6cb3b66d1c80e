"""The strategy of the how-to page works, whichever way it is registered."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import RS, a_node, a_pod
from builders.entry_points import entry_points, offering
from descheduling.harness import a_cluster, cycle
from docs.console import agree, folder_for, output_of, runnable
from docs.pages import files
from docs.strategy_package import MODULE, PAGE, WITH_THE_STRATEGY, installed, on_the_path
from restow.descheduling import registry
from restow.descheduling.cycle import run_cycle
from restow.kube.timestamps import parse_time
from restow.policies.load import load_policy

NAME = "LeaveLabelledNodes"
NODES = [a_node("old", labels={"node.kubernetes.io/instance-type": "spot-4"}), a_node("new")]
PODS = [a_pod("p1", node="old", owner=RS), a_pod("p2", node="new", owner=RS)]


@pytest.fixture
def module(tmp_path: Path) -> Iterator[object]:
    with on_the_path(tmp_path):
        yield importlib.import_module(MODULE)


def page_file(name: str) -> str:
    return files(PAGE.read_text(encoding="utf-8"))[name]


def test_restow_does_not_know_the_strategy_by_itself():
    assert NAME not in registry.plugins()


def test_installed_as_a_package_it_plans_what_the_page_shows(tmp_path):
    (example,) = runnable(PAGE, WITH_THE_STRATEGY)
    with installed(tmp_path), folder_for(PAGE) as folder:
        printed = output_of(example.command, folder)
    assert agree(example.output, printed), printed


def test_installed_as_a_package_its_arguments_are_checked(tmp_path):
    with installed(tmp_path), folder_for(PAGE) as folder:
        policy = folder / "policy.yaml"
        policy.write_text(policy.read_text(encoding="utf-8").replace("nodeLabels", "nodeLabel"), encoding="utf-8")
        printed = output_of("restow policy validate policy.yaml", folder)
    assert 'unknown field "nodeLabel" of LeaveLabelledNodes; did you mean "nodeLabels"?' in printed


def test_installed_as_a_package_its_lint_rules_and_conflicts_are_told(tmp_path):
    """``restow policy lint`` knows no strategy by its name."""
    with installed(tmp_path), folder_for(PAGE) as folder:
        policy = folder / "policy.yaml"
        text = policy.read_text(encoding="utf-8").replace("instance-type=spot-4", "instance-type!=spot-4")
        high = "    - name: HighNodeUtilization\n        args: {thresholds: {cpu: 20}}\n    plugins:\n"
        text = text.replace("    plugins:\n", f"  {high}      balance:\n        enabled: [HighNodeUtilization]\n")
        policy.write_text(text, encoding="utf-8")
        printed = " ".join(output_of("restow policy lint policy.yaml", folder).split())
    assert "node.kubernetes.io/instance-type!=spot-4 also matches nodes without labels" in printed
    assert (
        "LeaveLabelledNodes and HighNodeUtilization in one profile pull in opposite directions: "
        "one leaves nodes that the other may fill"
    ) in printed


@pytest.mark.parametrize("labels", ["", "a b"])
def test_its_own_validation_runs(module, labels):
    assert len(module.validate(module.LeaveLabelledNodesArgs(node_labels=labels))) == 1


def test_the_strategy_object_is_all_that_a_cycle_needs(module):
    known = {**registry.strategies(), NAME: module.STRATEGY}
    schemas = {**registry.plugins(), NAME: module.SCHEMA}
    policy = load_policy(page_file("policy.yaml").encode(), "policy.yaml", schemas).policy
    done = run_cycle(a_cluster(*NODES, *PODS), policy, known, parse_time("2026-11-21T00:00:00Z"))
    assert [done.state.cluster.pods.names[each.pod] for each in done.record.evictions] == ["p1"]


def test_one_line_in_the_registry_is_enough(module, monkeypatch):
    monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, module.STRATEGY))
    exec(compile(page_file("test_leave_labelled_nodes.py"), "the page's tests", "exec"), tests := {})
    written = [test for name, test in tests.items() if name.startswith("test_")]
    assert len(written) == 2
    for test in written:
        test()


def test_limits_end_its_walk(module):
    pods = [a_pod(f"p{number}", node="old", owner=RS) for number in range(4)]
    args = {"nodeLabels": "node.kubernetes.io/instance-type=spot-4"}
    with entry_points(offering(NAME, module.STRATEGY)):
        done = cycle(NAME, args, nodes=NODES, pods=pods, per_node=2)
    assert len(done.record.evictions) == 2
    assert [each.reason[1] for each in done.record.refusals] == ["MaxPodsToEvictPerNode"]
