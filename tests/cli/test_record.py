"""``restow record``, and what people see of a recording that is simulated."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from builders.policies import a_config, a_policy, a_profile, as_yaml
from builders.recordings import BEGIN, ARecording, recorded
from restow.kube.timestamps import format_time
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import written


@pytest.fixture
def past(tmp_path):
    """Ten minutes of a cluster: a Deployment is scaled, and a node drained."""
    start = [written(a_controller("Deployment", "web", 3)), written(a_bare_pod("once"))]
    events = [{"at": "100s", "scale": "deployment/web", "to": 4}, {"at": "200s", "drain": "n1"}]
    scene = Staged(start=start, events=events, seed=1)
    scene.run(60)
    directory = tmp_path / "recording"
    directory.mkdir()
    recorded(scene, 600, directory)
    return "recording"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "-o is missing: name a directory for the recording"),
        (("-o", "x", "--max-size", "0"), "--max-size must be 1 MiB or more"),
        (("-o", "x", "--keep", "0s"), "--keep must be more than 0, such as 168h"),
        (("-o", "x", "--usage-interval", "1ms"), "--usage-interval must be 1s or more, or 0 to record no usage"),
        (("arrivals",), "--prometheus-url is missing: where to ask, such as http://prometheus:9090"),
        (("arrivals", "--prometheus-url", "p"), "--prometheus-url 'p' is not an http:// or https:// URL"),
        (("arrivals", "--prometheus-url", "http://p", "--since", "1s"), "--since must be 1m or more"),
        (("arrivals", "--prometheus-url", "http://p", "-o", "no/such/folder"), "-o no/such/folder: No such file"),
    ],
)
def test_what_cannot_be_used_is_named(restow, arguments, sentence):
    ran = restow("record", *arguments)
    assert (ran.status, sentence in ran.err) == (2, True), ran.err


def test_a_directory_that_cannot_be_written_is_named(restow, tmp_path):
    (tmp_path / "file").write_text("")
    ran = restow("record", "-o", "file")
    assert ran.status == 2
    assert "file" in ran.err


def test_without_a_cluster_it_says_what_to_do(restow):
    ran = restow("record", "-o", "recording")
    assert ran.status == 2
    assert "Traceback" not in ran.err
    assert ran.err


def test_the_past_stands_beside_its_simulation(restow, past):
    ran = restow("simulate", "-f", past)
    assert (ran.status, ran.err) == (0, "")
    for sentence in ("scale deployment/web to 4", "drain n1", "The past and its simulation", "RECORDED  SIMULATED"):
        assert sentence in ran.out, sentence
    assert max(map(len, ran.out.splitlines())) <= 80


def test_the_page_and_the_document_have_it_too(restow, past):
    page = restow("simulate", "-f", past, "-o", "html").out
    assert "The past and its simulation" in page
    found = json.loads(restow("simulate", "-f", past, "-o", "json").out)["past"]
    numbers = {each["name"]: (each["recorded"], each["simulated"]) for each in found["numbers"]}
    assert numbers["pods"][0] == numbers["pods"][1] > 0
    assert found["events"] == {"scale": 1, "cordon": 1, "drain": 1}


def test_a_part_of_it_is_replayed(restow, past):
    since = datetime_at(restow, past, 90)
    until = datetime_at(restow, past, 130)
    ran = restow("simulate", "-f", past, "--from", since, "--to", until, "-o", "json")
    found = json.loads(ran.out)
    assert found["metadata"]["begins"] == since
    assert found["past"]["events"] == {}
    assert (found["inputs"]["since"], found["inputs"]["until"]) == (since, until)


def test_a_policy_acts_in_the_place_of_others(restow, past, tmp_path):
    (tmp_path / "p.yaml").write_bytes(
        as_yaml(a_policy(a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates"])))
    )
    ran = restow("simulate", "-f", past, "--policy-config-file", "p.yaml", "-o", "json")
    assert json.loads(ran.out)["metadata"]["policy"] == "p.yaml"


def test_a_moment_of_the_replay_becomes_a_dump(restow, past, tmp_path):
    (tmp_path / "run.json").write_text(restow("simulate", "-f", past, "-o", "json").out)
    ran = restow("simulate", "--replay", "run.json", "--at", "2m")
    assert ran.status == 0, ran.err
    pods = [each for each in json.loads(ran.out)["items"] if each.get("kind") == "Pod"]
    assert len(pods) == 5


def test_a_recorded_moment_becomes_a_dump(restow, past):
    then = datetime_at(restow, past, 120)
    ran = restow("snapshot", "-f", past, "--at", then, "-o", "then.json")
    assert (ran.status, f"of recording at {then}" in ran.err) == (0, True), ran.err
    plan = restow("plan", "-f", "then.json")
    assert "3 nodes, 5 pods" in plan.out
    assert "missing" not in plan.err


def test_a_dump_of_a_recording_is_offered_where_a_dump_is_needed(restow, past):
    ran = restow("plan", "-f", past)
    assert (ran.status, "restow snapshot -f recording --at TIME" in ran.err) == (2, True)


def test_a_moment_goes_with_a_recording(restow):
    ran = restow("snapshot", "-f", "-", "--at", "2026-01-01T00:00:00Z", stdin=b"{}")
    assert (ran.status, "--at goes with a recording" in ran.err) == (2, True)


def test_a_scenario_adds_to_a_recording(restow, past, tmp_path):
    scenario = """\
apiVersion: restow.dev/v1alpha1
kind: Scenario
events: [{at: 5m, scale: deployment/web, to: 7}]
expect: [{eventually: {pods: ready, of: deployment/web, atLeast: 7}}]
"""
    (tmp_path / "s.yaml").write_text(scenario)
    ran = restow("simulate", "-f", past, "-f", "s.yaml", "-o", "json")
    assert json.loads(ran.out)["summary"]["met"] == 1, ran.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--now", "2026-01-01T00:00:00Z"), "--now does not go with a recording"),
        (("--from", "yesterday"), "--from: "),
        (("--from", "2020-01-01T00:00:00Z"), "there is nothing from 2020-01-01T00:00:00Z"),
        (("-f", "other"), "recording and other are recordings; simulate one at a time"),
    ],
)
def test_what_does_not_go_with_a_recording_is_named(restow, past, tmp_path, arguments, sentence):
    other = ARecording(tmp_path / "other")
    other.directory.mkdir()
    other.begin()
    other.end(60)
    ran = restow("simulate", "-f", past, *arguments)
    assert (ran.status, sentence in ran.err) == (2, True), ran.err


def test_times_go_with_a_recording(restow, tmp_path):
    (tmp_path / "s.yaml").write_text("apiVersion: restow.dev/v1alpha1\nkind: Scenario\nfor: 1h\n")
    ran = restow("simulate", "-f", "s.yaml", "--from", "2026-01-01T00:00:00Z")
    assert (ran.status, "--from and --to go with a recording" in ran.err) == (2, True)


def datetime_at(restow, past, seconds):
    """A time of the recording, as --from takes it."""
    found = json.loads(restow("simulate", "-f", past, "-o", "json").out)
    began = datetime.fromisoformat(found["metadata"]["begins"]).timestamp()
    assert began * 1000 >= BEGIN
    return format_time(round(began + seconds) * 10**9)
