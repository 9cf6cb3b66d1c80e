"""``restow simulate --compare``: several policies in the same futures, on several processes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess

import pytest

from builders.engines import here
from builders.policies import a_config, a_policy, a_profile, as_yaml
from cli.conftest import spawned
from cli.test_process import all_of
from cli.test_simulate import cluster  # noqa: F401 - a fixture
from restow.engines import local

ARGUMENTS = ("-f", "drained.yaml", "--now", "2026-11-21T00:00:00Z", "--for", "15m")
COMPARE = ("--compare", "policy.yaml", "idle.yaml")


@pytest.fixture
def compared(cluster, restow, tmp_path):  # noqa: F811
    """Compares a policy with one that does nothing."""
    (tmp_path / "idle.yaml").write_bytes(as_yaml(a_policy(a_profile(a_config("DefaultEvictor")))))
    return lambda *arguments: restow("simulate", *ARGUMENTS, *COMPARE, *arguments)


@pytest.fixture
def serially():
    """Options by which all runs are made in this process, one after the other."""
    with here() as options:
        yield options


@pytest.fixture
def alone(monkeypatch):
    """All runs in this process, one after the other."""

    def make_all(runs, *_):
        return [runs.make(number, int) for number in range(len(runs))]

    monkeypatch.setattr("restow.application.comparing.make_all", make_all)


def test_the_result_is_the_same_however_many_processes_there_are(compared):
    """One after the other, or in the order in which they end."""
    found = []
    for cores in (1, 2):
        ran = compared("--seeds", "3", "-o", "json", "--workers", str(cores))
        assert (ran.status, ran.err) == (0, "")
        found.append(ran.out)
    assert found[0] == found[1]
    result = json.loads(found[0])
    assert [each["policy"] for each in result["policies"]] == ["policy.yaml", "idle.yaml"]
    assert result["metadata"]["seeds"] == [7, 8, 9]


@pytest.mark.usefixtures("alone")
def test_a_future_is_what_a_run_with_its_seed_comes_to(compared, restow):
    single = restow("simulate", *ARGUMENTS, "--seed", "8", "--policy-config-file", "policy.yaml", "-o", "json")
    alone = json.loads(single.out)
    result = json.loads(compared("--seeds", "1", "--seed", "8", "-o", "json").out)
    (future,) = result["policies"][0]["futures"]
    summary = alone["summary"]
    shared = {each: summary[each] for each in ("evictions", "failed", "pendingPodSeconds", "nodesInUse", "cpuSpread", "memorySpread", "quietAfterSeconds")}  # fmt: skip
    assert shared == {each: future[each] for each in shared}
    assert future["belowSeconds"] == sum(each["belowSeconds"] for each in alone["workloads"])


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("form", ["table", "html"])
def test_what_people_see(compared, form):
    ran = compared("--seeds", "1", "-o", form)
    assert (ran.status, ran.err) == (0, "")
    assert "policy.yaml" in ran.out
    assert "idle.yaml" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--compare", "policy.yaml"), "--compare takes two policies or more"),
        (("--compare", "policy.yaml", "policy.yaml"), "--compare takes two policies or more, each once"),
        (("--compare", "policy.yaml", "nope.yaml"), "nope.yaml: No such file"),
        (("--compare", "a", "b", "--policy-config-file", "c"), "--compare names the policies"),
        (("--compare", "a", "b", "--seeds", "0"), "--seeds must be 1 or more"),
        (("--seeds", "3"), "--seeds goes with --compare"),
        (("--compare", "policy.yaml", "high.yaml", "--seeds", "1"), "high.yaml: unable to get priority value from the priority class"),
    ],
    ids=["one", "one twice", "no file", "a third", "none", "without", "only a cluster shows it"],
)  # fmt: skip
@pytest.mark.usefixtures("cluster", "alone")
def test_what_cannot_be_used(restow, tmp_path, arguments, sentence):
    evictor = a_config("DefaultEvictor", {"priorityThreshold": {"name": "high"}})
    profile = a_profile(a_config("RemoveDuplicates"), evictor, balance=["RemoveDuplicates"])
    (tmp_path / "high.yaml").write_bytes(as_yaml(a_policy(profile)))
    ran = restow("simulate", *ARGUMENTS, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


def test_ctrl_c_ends_all_processes_at_once(compared, tmp_path):
    """The terminal stays open as long as one of them lives."""
    terminal, end = pty.openpty()
    arguments = ["simulate", "-f", "drained.yaml", *COMPARE, "--for", "9000h"]
    streams = {"stdout": subprocess.PIPE, "stderr": end}
    process = spawned(arguments, cwd=tmp_path, env={"TERM": "xterm"}, start_new_session=True, **streams)
    os.close(end)
    seen = b""
    while b"simulated in" not in seen:
        seen += os.read(terminal, 1024)

    # As a terminal does it: to all processes of the command.
    os.killpg(process.pid, signal.SIGINT)

    assert process.communicate(timeout=30)[0] == b""
    assert process.returncode == 130
    assert b"Traceback" not in all_of(terminal)


def test_a_process_that_is_ended_ends_the_comparison(compared, monkeypatch):
    """Whoever runs out of memory says so, and does not wait for ever."""
    start = local._start

    def killed(count):
        workers = start(count)
        next(iter(workers.values())).kill()
        return workers

    monkeypatch.setattr(local, "_start", killed)
    ran = compared("--seeds", "1")
    assert (ran.status, ran.out) == (1, "")
    assert "a process of this command was ended by the system" in ran.err


def test_a_run_that_was_stopped_goes_on_where_it_was(compared, restow, tmp_path, serially):
    """A line that was not written to its end is made again, and one that is there twice counts once."""
    whole = compared("--seeds", "3", "-o", "json", "--results", "kept", *serially)
    futures = tmp_path / "kept/futures.jsonl"
    lines = futures.read_bytes().splitlines(keepends=True)
    assert sorted(json.loads(each)["number"] for each in lines) == list(range(6))
    assert {(each["policy"], each["seed"]) for each in map(json.loads, lines)} == {
        (policy, seed) for policy in ("policy.yaml", "idle.yaml") for seed in (7, 8, 9)
    }
    futures.write_bytes(lines[0] + lines[2] + lines[0] + lines[3][:40])
    # The begin is that of the first command, whatever the time is now.
    resumed = ("--seeds", "3", "-o", "json", "--results", "kept", "--resume", *serially)
    again = restow("simulate", "-f", "drained.yaml", "--for", "15m", *COMPARE, *resumed)
    assert again == whole
    assert sorted(futures.read_bytes().splitlines()) == sorted(each.rstrip() for each in lines)


def test_results_that_are_all_there_are_not_made_again(compared, serially, monkeypatch):
    whole = compared("--seeds", "2", "-o", "json", "--results", "kept", *serially)

    def no_process(_count):
        raise AssertionError

    monkeypatch.setattr(local, "_start", no_process)
    assert compared("--seeds", "2", "-o", "json", "--results", "kept", "--resume") == whole


@pytest.fixture
def kept(compared, serially):
    """Compares again, where there are results."""
    compared("--seeds", "1", "--results", "kept", *serially)
    return compared


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ((), (), "--results kept: has results already; add --resume to go on"),
        ((), ("--resume", "--seeds", "2"), "the seeds (--seed, --seeds) was 7 when this run began and is 7, 8 now"),
        (("idle.yaml", "# new\n"), ("--resume",), "--results kept: idle.yaml is not as it was when this run began"),
        (("kept/run.json", "x"), ("--resume",), "kept/run.json: is not what restow has written"),
        (("kept/futures.jsonl", "{}\n"), ("--resume",), "kept/futures.jsonl:3: is not what restow has written"),
    ],
    ids=["again", "seeds", "policy", "run", "line"],
)
def test_a_run_goes_on_only_as_it_began(kept, tmp_path, change, options, sentence):
    if change:
        file, more = tmp_path / change[0], change[1]
        file.write_text(file.read_text() + more)
    ran = kept(*(options if "--seeds" in options else (*options, "--seeds", "1")), "--results", "kept")
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


@pytest.mark.parametrize(
    ("options", "config", "sentence"),
    [
        (("--engine", "dusk"), "", '--engine dusk: there is no such engine; did you mean "dask"?'),
        (("--engine", "kubernetes"), "", "write image: <its name> into --engine-config"),
        (
            ("--engine", "kubernetes"),
            "images: x",
            'engine.yaml:1: images: unknown field "images"; did you mean "image"?',
        ),
        (("--engine", "kubernetes"), "cpu: [1]", "engine.yaml:1: cpu: "),
        (("--engine", "dask"), "", "say which Dask cluster"),
        (("--engine", "dask", "--workers", "2"), "", "--workers does not go with --engine dask"),
        ((), "image: x", 'unknown field "image"'),
        (("--workers", "0"), "", "--workers must be 1 or more"),
        (("--resume",), "", "--resume goes with --results"),
    ],
)
def test_an_engine_that_cannot_be_used(compared, tmp_path, options, config, sentence):
    (tmp_path / "engine.yaml").write_text(config)
    ran = compared("--seeds", "1", "--engine-config", "engine.yaml", *options)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


def test_what_is_of_comparisons_goes_with_compare(restow):
    ran = restow("simulate", *ARGUMENTS, "--engine", "dask")
    assert (ran.status, ran.err) == (2, "--engine goes with --compare\n")
