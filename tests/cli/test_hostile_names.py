"""A dump may hold any name: every command shows it, on stdout and stderr, and no terminal obeys it."""

from __future__ import annotations

import json

import pytest

from builders import NOW, Owner, a_list, a_node, a_pod
from builders.hostile import OBEYED, is_harmless
from builders.policies import as_yaml, strategy_policy
from cli.conftest import TOLD


@pytest.fixture
def dump(tmp_path):
    owner = Owner("ReplicaSet", f"web-{OBEYED}")
    pods = [a_pod(f"web-{at}-{OBEYED}", node=f"n1-{OBEYED}", owner=owner, cpu="100m") for at in range(2)]
    nodes = [a_node(f"{name}-{OBEYED}") for name in ("n1", "n2")]
    pending = a_pod(f"waits-{OBEYED}", cpu="1000", phase="Pending")
    path = tmp_path / f"cluster {OBEYED.replace(chr(0), '')}.json"
    path.write_text(json.dumps(a_list(*nodes, *pods, pending, a_pod("lost", node="gone"), *TOLD)))
    return path


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    return path


COMMANDS = {
    **{f"plan -o {form}": ["plan", "-o", form] for form in ("table", "wide", "json", "yaml", "html")},
    **{f"schedule -o {form}": ["schedule", "-o", form] for form in ("table", "json")},
    **{
        f"explain pod -o {form}": ["explain", "pod", f"default/web-0-{OBEYED}", "-o", form]
        for form in ("table", "json")
    },
    **{f"explain node -o {form}": ["explain", "node", f"n1-{OBEYED}", "-o", form] for form in ("table", "json")},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_shown_and_not_obeyed(restow, dump, policy, command):
    arguments = [*COMMANDS[command], "-f", str(dump), "--now", NOW]
    if not command.startswith("schedule"):
        arguments += ["--policy-config-file", str(policy)]

    ran = restow(*arguments)

    assert ran.status == 0
    assert is_harmless(ran.out)
    assert is_harmless(ran.err)
    assert "pods on nodes that the input does not hold: 1" in ran.err


@pytest.mark.parametrize("arguments", [["explain", "pod", f"default/{OBEYED}"], ["schedule", "--pod", f"a/{OBEYED}"]])
def test_an_error_that_quotes_a_name_is_one_line(restow, dump, policy, arguments):
    more = ["--policy-config-file", str(policy)] if arguments[0] == "explain" else []

    ran = restow(*arguments, "-f", str(dump), *more)

    assert ran.status == 2
    assert is_harmless(ran.err)
    assert OBEYED[1:4] in ran.err


def test_a_file_that_cannot_be_read_is_named_in_one_line(restow):
    ran = restow("plan", "-f", f"none{OBEYED.replace(chr(0), '')}.json", "-f", "none-either.json")

    assert ran.status == 2
    assert is_harmless(ran.err)
    assert ran.err.count("\n") == 2
