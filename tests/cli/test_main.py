"""How a run ends: exit statuses, and one sentence for whatever went wrong."""

from __future__ import annotations

import pytest

import restow as package
from builders.long_values import quotes_too_much
from builders.policies import as_yaml, strategy_policy
from restow.application import planning
from restow.cli import app

UNUSABLE = {
    "an unknown command": (["plam"], 'Unknown command "plam". Did you mean "plan"?'),
    "an unknown command of a group": (["policy", "lin"], 'Unknown command "lin". Did you mean "lint"?'),
    "an unknown option": (["plan", "--outptu", "x"], "Unknown option: --outptu. Did you mean --output?"),
    "an unknown choice": (["plan", "-o", "jsno"], 'Choose from: "table", "wide", "json", "yaml", "html", "markdown".'),
    "an option without its value": (["plan", "-f"], "requires an argument"),
    "an option twice": (["plan", "-o", "json", "-o", "yaml"], "Parameter -o specified multiple times."),
    "an option of other programs": (["--install-completion"], "restow completion bash, zsh or fish prints a script"),
    "an option before the command": (["-o", "json", "plan"], "-o stands before the command: options follow it"),
    "a file without -f": (
        ["plan", "cluster.json"],
        'Unexpected argument "cluster.json"; did you mean -f cluster.json?',
    ),
    "too many arguments": (["policy", "convert", "a", "b"], 'Unexpected argument "b"'),
    "text for a number": (["generate", "--nodes", "many"], 'unable to convert "many" into int'),
    "a number out of range": (["generate", "--nodes", "0"], 'Invalid value "0" for --nodes. Must be >= 1.'),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_arguments_are_told_in_a_sentence_with_a_hint(restow, case):
    arguments, sentence = UNUSABLE[case]
    ran = restow(*arguments)
    assert (ran.status, ran.out) == (2, "")
    told, hint = ran.err.splitlines()
    assert sentence in told
    assert hint.startswith("restow ")
    assert "--help" in hint


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["plan", "9" * 5000], f'Unexpected argument "{"9" * 199}…"; did you mean -f {"9" * 200}…?'),
        (["generate", "--nodes", "x" * 5000], f'unable to convert "{"x" * 199}…" into int'),
        (["9" * 5000], f'Unknown command "{"9" * 199}…".'),
        (["run", "--descheduling-interval", "9" * 5000], f'invalid argument "{"9" * 199}…" for'),
    ],
)
def test_what_was_typed_is_quoted_by_its_beginning(restow, arguments, told):
    assert told in restow(*arguments).err


@pytest.mark.parametrize(
    ("arguments", "command"), [(["plan", "--x"], "restow plan"), (["policy", "lint", "--x"], "restow policy lint")]
)
def test_the_hint_names_the_command_that_was_meant(restow, arguments, command):
    assert restow(*arguments).err.splitlines()[1] == f"{command} --help shows what there is"


@pytest.mark.parametrize("arguments", [["--version"], ["plan", "--version"]])
def test_the_version(restow, arguments):
    assert restow(*arguments) == (0, f"restow {package.__version__}\n", "")


def raising(error):
    def command(*_arguments, **_options):
        raise error

    return command


class TestWhileRunning:
    def test_a_bug_is_told_in_one_line_that_asks_for_a_report(self, restow, monkeypatch, plan_arguments):
        monkeypatch.setattr(planning, "decided", raising(KeyError("cpu")))
        ran = restow(*plan_arguments)
        assert (ran.status, ran.out) == (1, "")
        (line,) = ran.err.splitlines()
        assert line.startswith("restow failed unexpectedly: KeyError: 'cpu' (test_main.py:")
        assert f"restow {package.__version__}: please report it with this line" in line

    @pytest.mark.parametrize("verbose", [["-v", "2"], ["-v2"], ["-v=2"], ["--v=4"]], ids=" ".join)
    def test_the_traceback_of_a_bug_is_there_for_who_asks(self, restow, monkeypatch, plan_arguments, verbose):
        monkeypatch.setattr(planning, "decided", raising(KeyError("cpu")))
        told = restow(*plan_arguments, *verbose).err
        assert told.startswith("Traceback")
        assert "please report it" in told.splitlines()[-1]

    def test_a_full_disk_is_no_bug(self, restow, monkeypatch):
        monkeypatch.setattr(app, "call", raising(OSError(28, "No space left on device")))
        assert restow("plan") == (1, "", "restow failed: No space left on device\n")

    def test_too_little_memory_is_no_bug(self, restow, monkeypatch):
        monkeypatch.setattr(app, "call", raising(MemoryError()))
        assert restow("plan") == (1, "", "restow failed: there is not enough memory for this input\n")

    def test_ctrl_c(self, restow, monkeypatch):
        monkeypatch.setattr(app, "call", raising(KeyboardInterrupt()))
        assert restow("plan") == (130, "", "")

    def test_nobody_reads_the_output(self, restow, monkeypatch):
        monkeypatch.setattr(app, "call", raising(BrokenPipeError()))
        assert restow("plan") == (0, "", "")


def test_each_of_several_problems_has_a_line(restow, cluster, tmp_path):
    """And a line feed in what is quoted begins no line."""
    policy, schedulers = tmp_path / "several.yaml", tmp_path / "schedulers.yaml"
    policy.write_bytes(as_yaml(strategy_policy("RemovePodsHavingTooManyRestarts", {"states": ["Failed\n"]})))
    schedulers.write_text(
        'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"one\\n": 1\nother: 2\n'
    )
    for flag, file in (("--policy-config-file", policy), ("--scheduler-config", schedulers)):
        ran = restow("plan", "-f", cluster, flag, file)
        assert ran.status == 2
        lines = ran.err.splitlines()
        assert len(lines) == 2
        assert all(each.startswith(str(file)) for each in lines)


LONG = "7" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["plan", "-f", LONG], id="path"),
        pytest.param(["plan", "-f", f"./{LONG}"], id="path with a folder"),
        pytest.param(["plan", f"-o{LONG}"], id="glued"),
        pytest.param(["plan", f"--placement={LONG}"], id="equals"),
        pytest.param(["plan", "--kubeconfig", LONG], id="kubeconfig"),
        pytest.param(["plan", f"--{LONG}"], id="option"),
        pytest.param([LONG], id="command"),
        pytest.param(["generate", "--nodes", LONG], id="number"),
        pytest.param(["run", "--descheduling-interval", LONG], id="duration"),
        pytest.param(["run", "--policy-config-file", "p", "--feature-gates", f"{LONG}=true"], id="part"),
    ],
)
def test_a_message_quotes_at_most_200_characters_of_an_argument(restow, arguments):
    ran = restow(*arguments)
    assert ran.status == 2
    assert "7" * 150 in ran.err
    assert not quotes_too_much(ran.err)
