"""Of thousands of problems the first ones are printed, and how many more there are; a document for programs has all."""

from __future__ import annotations

import json

import pytest

from builders.policies import a_config, a_policy, a_profile, as_yaml
from restow.errors import MOST_PROBLEMS, first_problems

HOW_MANY = MOST_PROBLEMS + 1234
WRONG = a_config("RemoveDuplicates", {"excludeOwnrKinds": []})
BROKEN = as_yaml(a_policy(*(a_profile(WRONG, name=f"p{number}") for number in range(HOW_MANY))))
DISABLED = [{"name": f"Unknown{number}"} for number in range(HOW_MANY)]
WITHOUT_MANY = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"disabled": DISABLED}}}],
}
MORE = "... and 1,234 more problems"


@pytest.fixture
def broken(restow, tmp_path):
    (tmp_path / "broken.yaml").write_bytes(BROKEN)
    return "broken.yaml"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["policy", "validate"], id="validate"),
        pytest.param(["policy", "convert"], id="convert"),
        pytest.param(["plan", "--policy-config-file"], id="plan"),
        pytest.param(["explain", "pod", "a/b", "--policy-config-file"], id="explain"),
        pytest.param(["run", "--policy-config-file"], id="run"),
    ],
)
def test_every_command_prints_as_many_and_the_number_of_the_rest(restow, broken, command):
    ran = restow(*command, broken)
    assert ran.status == 2
    lines = (ran.out or ran.err).splitlines()
    assert all(line.startswith("broken.yaml:") for line in lines[:-1])
    assert (len(lines), lines[-1]) == (MOST_PROBLEMS + 1, MORE)


def test_lint_counts_all_of_them_below(restow, broken):
    ran = restow("policy", "lint", broken)
    assert ran.out.count("  error  ") == MOST_PROBLEMS
    assert ran.out.splitlines()[-2:] == [MORE, f"{HOW_MANY:,} errors"]


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_json_has_all_of_them(restow, broken, command):
    ran = restow("policy", command, broken, "-o", "json")
    assert len(json.loads(ran.out)["findings"]) == HOW_MANY


def test_the_warnings_of_a_scheduler_configuration_are_cut_too(restow, cluster, tmp_path):
    (tmp_path / "schedulers.json").write_text(json.dumps(WITHOUT_MANY))
    ran = restow("schedule", "-f", cluster, "--scheduler-config", "schedulers.json")
    assert ran.status == 0
    lines = ran.err.splitlines()
    assert ran.err.count("nothing is disabled") == MOST_PROBLEMS
    assert lines[MOST_PROBLEMS] == MORE


def test_none_are_left_out_where_there_is_room():
    assert first_problems(list(range(MOST_PROBLEMS))) == (list(range(MOST_PROBLEMS)), [])


def test_one_more_is_one():
    assert first_problems(["x"] * (MOST_PROBLEMS + 1))[1] == ["... and 1 more problem"]
