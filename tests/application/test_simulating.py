"""What a caller gets of a simulation: its result, and nothing printed."""

from __future__ import annotations

import pytest

from restow.application.feedback import Collected
from restow.application.replaying import ReplayRequest, replay
from restow.application.simulating import ScenarioRequest, SimulationRequest, simulate
from restow.kube.duration import MINUTE
from restow.reporting.json import indented_json

SCENARIO = """\
apiVersion: restow.dev/v1alpha1
kind: Scenario
begins: 2026-11-21T00:00:00Z
for: 5m
start: [nodes.yaml]
events: [{at: 3m, cordon: node-1}]
expect: [{always: {nodes: any, exactly: COUNT}}]
"""
NODES = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"


@pytest.fixture
def simulated(tmp_path):
    """Runs a scenario with one node that expects so many; returns the result, and what was said meanwhile."""
    (tmp_path / "nodes.yaml").write_text(NODES)
    path = tmp_path / "scenario.yaml"

    def ran(expected, feedback):
        path.write_text(SCENARIO.replace("COUNT", str(expected)))
        return simulate(SimulationRequest(ScenarioRequest((str(path),))), feedback)

    return ran


def test_a_result_says_how_many_expectations_hold_and_nothing_is_printed(simulated, capsys):
    feedback = Collected()
    summary = simulated(1, feedback).summary
    assert (summary.met, summary.failed) == (1, 0)
    assert (capsys.readouterr(), feedback.warnings) == (("", ""), [])
    assert list(feedback.timings.seconds) == ["load", "simulate"]


def test_an_expectation_that_does_not_hold_is_part_of_the_result(simulated):
    summary = simulated(2, Collected()).summary
    assert (summary.met, summary.failed) == (0, 1)


def test_a_cluster_of_a_moment_comes_with_what_it_is(simulated, tmp_path, capsys):
    (tmp_path / "run.json").write_bytes(indented_json(simulated(1, Collected())))
    replayed = replay(ReplayRequest(str(tmp_path / "run.json"), 4 * MINUTE), Collected())
    assert b'"node-1"' in b"".join(replayed.dump)
    assert replayed.advice == ["the cluster at 4m of the run: 1 node, 0 pods"]
    assert capsys.readouterr() == ("", "")
