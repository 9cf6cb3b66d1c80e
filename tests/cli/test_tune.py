"""``restow tune``: what people see of a search, and what they can do with it."""

from __future__ import annotations

import json

import pytest
import yaml

from builders.engines import here
from builders.policies import as_yaml, strategy_policy
from cli.test_simulate import cluster  # noqa: F401 - a fixture

SPACE = """\
apiVersion: restow.dev/v1alpha1
kind: TuningSpace
settings:
  - {path: maxNoOfPodsToEvictTotal, from: 1, to: 4}
  - {path: descheduler.every, choices: [2m, 5m]}
"""
OBJECTIVE = ("--objective", "evictions + 10 * cpuSpread")
SHORT = ("-f", "drained.yaml", "--now", "2026-11-21T00:00:00Z", "--for", "15m", "--policy-config-file", "policy.yaml")


@pytest.fixture
def tuned(cluster, restow, tmp_path):  # noqa: F811
    """Tunes in this process."""
    (tmp_path / "space.yaml").write_text(SPACE)
    with here() as options:
        yield lambda *arguments: restow("tune", *SHORT, "--space", "space.yaml", *options, *arguments)


def test_the_best_policy_is_written_and_can_be_simulated(tuned, restow, tmp_path):
    ran = tuned(*OBJECTIVE, "--trials", "6", "--seeds", "2", "-o", "json", "--write", "tuned.yaml")
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert [each["number"] for each in found["trials"]] == list(range(6))
    best = found["trials"][found["front"][0]]
    assert best["objectives"][0] == min(each["objectives"][0] for each in found["trials"])
    written = yaml.safe_load((tmp_path / "tuned.yaml").read_text())
    assert written["maxNoOfPodsToEvictTotal"] == best["values"]["maxNoOfPodsToEvictTotal"]
    assert (found["metadata"]["seeds"], found["metadata"]["freshSeeds"]) == ([7, 8], [9, 10])
    assert [each["name"] for each in found["checked"]][:3] == ["base", "base, upstream placement", "never move"]
    single = restow("simulate", *SHORT[:-1], "tuned.yaml", "--seed", "9", "-o", "json")
    assert json.loads(single.out)["summary"]["evictions"] >= 0


def test_a_trial_has_the_numbers_of_a_simulation_of_its_policy(tuned, restow, tmp_path):
    """With the values of the policy as it is, and its interval."""
    policy = yaml.safe_load((tmp_path / "policy.yaml").read_text()) | {"maxNoOfPodsToEvictTotal": 2}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    found = json.loads(tuned("--objective", "pendingPodSeconds", "--trials", "1", "--seeds", "1", "-o", "json").out)
    (trial,) = found["trials"]
    assert trial["values"] == {"maxNoOfPodsToEvictTotal": 2, "descheduler.every": "5m"}
    single = json.loads(restow("simulate", *SHORT, "-o", "json").out)
    assert trial["objectives"] == [single["summary"]["pendingPodSeconds"]]


def test_the_result_is_the_same_wherever_futures_run(tuned, restow):
    arguments = (*OBJECTIVE, "--trials", "3", "--seeds", "1", "-o", "json")
    assert tuned(*arguments) == restow("tune", *SHORT, "--space", "space.yaml", *arguments, "--workers", "2")


def test_regret_is_what_knowing_each_future_would_save(tuned):
    """Of one objective, the best of the checked policies in each future has a regret that is not negative, and the rest more."""
    found = json.loads(tuned(*OBJECTIVE, "--trials", "5", "--seeds", "3", "-o", "json").out)
    regrets = [each["regret"][0] for each in found["checked"]]
    assert min(regrets) >= 0
    hindsight = {round(each["objectives"][0] - each["regret"][0], 5) for each in found["checked"]}
    assert len(hindsight) == 1
    single = json.loads(tuned(*OBJECTIVE, "--trials", "5", "--seeds", "1", "-o", "json").out)
    assert min(each["regret"][0] for each in single["checked"]) == 0


class TestKept:
    ARGUMENTS = (*OBJECTIVE, "--trials", "8", "--seeds", "6", "-o", "json", "--results", "run")

    def test_a_search_that_was_stopped_goes_on_where_it_was(self, tuned, tmp_path):
        """With some lines or all, and a last one that was not written to its end, the document is the same."""
        whole = tuned(*self.ARGUMENTS)
        lines = (tmp_path / "run" / "futures.jsonl").read_bytes().splitlines(keepends=True)
        assert [json.loads(each)["number"] for each in lines] == list(range(len(lines)))
        for left in (7, len(lines)):
            (tmp_path / "run" / "futures.jsonl").write_bytes(b"".join(lines[:left]) + b'{"number": 3')
            assert tuned(*self.ARGUMENTS, "--resume") == whole
            assert (tmp_path / "run" / "futures.jsonl").read_bytes() == b"".join(lines)

    def test_a_trial_that_is_worse_in_each_future_is_given_up(self, tuned, tmp_path):
        """Pods that may be two minutes old are evicted in every future, those that may be a day old in none."""
        (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 120})))
        path = "profiles.P.pluginConfig.PodLifeTime.args.maxPodLifeTimeSeconds"
        (tmp_path / "space.yaml").write_text(
            SPACE.partition("  -")[0] + f"  - {{path: {path}, choices: [120, 180, 86400]}}\n"
        )
        found = json.loads(tuned("--objective", "evictions", "--trials", "12", *self.ARGUMENTS[4:]).out)
        tried = [each["futures"] for each in found["trials"]]
        assert set(tried) == {5, 6}
        assert all(each["values"][path] < 86400 for each in found["trials"] if each["futures"] == 5)
        lines = (tmp_path / "run" / "futures.jsonl").read_text().splitlines()
        assert len(lines) == sum(tried) + 6 * len(found["checked"])
        assert all(tried[number] == 6 for number in found["front"])

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            (("--trials", "1"), "--results run: has results already; add --resume to go on"),
            (("--resume", "--trials", "2"), "--trials was 1 when this run began and is 2 now"),
            (
                ("--resume", "--trials", "1", "--objective", "belowSeconds"),
                "--objective was evictions + 10 * cpuSpread when this run began",
            ),
        ],
    )
    def test_what_cannot_go_on(self, tuned, more, sentence):
        arguments = (*OBJECTIVE, "--seeds", "1", "--results", "run")
        tuned(*arguments, "--trials", "1")
        ran = tuned(*arguments, *more)
        assert (ran.status, ran.out) == (2, "")
        assert sentence in ran.err

    def test_results_of_other_values_are_refused(self, tuned, tmp_path):
        """A search by another version of Optuna may choose others."""
        arguments = (*OBJECTIVE, "--trials", "2", "--seeds", "1", "--results", "run")
        tuned(*arguments)
        file = tmp_path / "run" / "futures.jsonl"
        lines = [json.loads(each) for each in file.read_text().splitlines()]
        assert lines[1]["values"]["maxNoOfPodsToEvictTotal"] in range(1, 5)
        lines[1]["values"]["maxNoOfPodsToEvictTotal"] = 9
        file.write_text("".join(json.dumps(each) + "\n" for each in lines))
        ran = tuned(*arguments, "--resume")
        assert (ran.status, ran.out) == (2, "")
        assert "number 1 is of another search" in ran.err

    def test_another_policy_is_another_search(self, tuned, tmp_path):
        arguments = (*OBJECTIVE, "--trials", "1", "--seeds", "1", "--results", "run", "--resume")
        tuned(*arguments)
        with (tmp_path / "policy.yaml").open("a") as policy:
            policy.write("# another\n")
        ran = tuned(*arguments)
        assert (ran.status, ran.out) == (2, "")
        assert "policy.yaml is not as it was when this run began" in ran.err


def test_what_people_see(tuned):
    ran = tuned(*OBJECTIVE, "--objective", "belowSeconds", "--trials", "5", "--seeds", "1")
    assert (ran.status, ran.err) == (0, "")
    assert "5 trials in 1 future, 15m each" in ran.out
    for word in ("SETTING", "maxNoOfPodsToEvictTotal", "never move", "belowSeconds", "IN FRESH FUTURES"):
        assert word in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "say what to make small: --objective"),
        (("--objective", "evicted"), 'evicted is no number of a future; did you mean "evictions"?'),
        ((*OBJECTIVE, "--trials", "0"), "--trials and --seeds must be 1 or more"),
        ((*OBJECTIVE, "--write", "no/such/folder"), "-o no/such/folder: No such file"),
    ],
)
def test_what_cannot_be_used(tuned, arguments, sentence):
    ran = tuned(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("{path: profiles.nope.x, choices: [1, 2]}", 'the policy has no item of the name "nope" there'),
        (
            "{path: maxNoOfPodsToEvictTotl, choices: [1, 2]}",
            'unknown key "maxNoOfPodsToEvictTotl" is ignored; did you mean',
        ),
        ("{path: maxNoOfPodsToEvictTotal, choices: [many, few]}", "maxNoOfPodsToEvictTotal"),
        ("{path: a}", "space.yaml:4: settings[0]: needs from and to, or choices"),
    ],
    ids=["no item", "no field", "no number", "no values"],
)
def test_a_setting_that_the_policy_cannot_have_is_said_before_anything_runs(tuned, tmp_path, setting, sentence):
    (tmp_path / "space.yaml").write_text(SPACE.partition("  -")[0] + f"  - {setting}\n")
    ran = tuned(*OBJECTIVE)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


def test_without_a_space(restow):
    ran = restow("tune", *SHORT, *OBJECTIVE)
    assert (ran.status, ran.out, ran.err) == (
        2,
        "",
        "--space is missing: name the file with the settings that are searched\n",
    )
