"""Mistakes at the command line and in files come with what to do about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders.policies import as_yaml, strategy_policy

TABLE = "NAME   STATUS   ROLES    AGE\nnode-1 Ready    <none>   3d\n"


@pytest.fixture
def files(tmp_path: Path, restow: Any) -> None:
    (tmp_path / "nodes.txt").write_text(TABLE)
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": []}))
    (tmp_path / "policy.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("plan -f nodes.txt", "nodes.txt: is text, not Kubernetes objects; have kubectl print them with -o json"),
        ("explain pod shop nope", 'Unexpected argument "nope"; a pod is written NAMESPACE/NAME'),
        ("explain pod shop/nope c.json", 'Unexpected argument "c.json"; did you mean -f c.json?'),
        ("operator render", "-f is missing"),
        ("operator render -f", 'Command "operator render" parameter -f requires an argument.'),
        (
            "plan --kubeconfig policy.yaml",
            "policy.yaml: is no kubeconfig: it has neither contexts nor clusters nor users",
        ),
        (
            "simulate -f policy.yaml",
            "policy.yaml: a DeschedulerPolicy without metadata.name; name a policy with --policy-config-file",
        ),
        (
            "simulate -f cluster.json --for 7d",
            'invalid argument "7d" for "--for" flag: time: unknown unit "d" in duration "7d"; write 168h',
        ),
        ("plan --policy policy.yaml", "Unknown option: --policy; did you mean --policy-config-file?"),
        ("plan --steer none", "Unknown option: --steer; did you mean --steering?"),
        (
            "plan -f cluster.json --policy-config-file=",
            "the name of a file is empty: an option such as --policy-config-file= has no value",
        ),
    ],
)
def test_a_mistake_comes_with_its_remedy(restow: Any, arguments: str, said: str) -> None:
    ran = restow(*arguments.split())
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[0].removesuffix(".") == said.removesuffix(".")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("maxNoOfPodsToEvictTotal", 99999999999999999999999, "must be at most 18446744073709551615"),
        ("maxNoOfPodsToEvictTotal", 1.5, "must be a whole number, not a fraction"),
        ("maxNoOfPodsToEvictTotal", "20%", "write 20"),
    ],
)
def test_a_number_that_cannot_be_is_told_what_it_must_be(restow: Any, field: str, value: Any, said: str) -> None:
    ran = restow("policy", "validate", "-", stdin=as_yaml(strategy_policy("RemoveDuplicates", **{field: value})))
    assert ran.status == 2
    assert said in ran.out


@pytest.mark.parametrize(("written", "seconds"), [("1d", 86400), ("90m", 5400), ("2h", 7200), ("30s", 30)])
def test_a_time_in_a_field_of_seconds_is_told_in_seconds(restow: Any, written: str, seconds: int) -> None:
    policy = strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": written})
    ran = restow("policy", "validate", "-", stdin=as_yaml(policy))
    assert ran.status == 2
    assert ran.out.rstrip().endswith(f"; write {seconds}")


def test_a_percentage_of_a_resource_is_a_number(restow: Any) -> None:
    args = {"thresholds": {"cpu": "20%"}, "targetThresholds": {"cpu": 50}}
    ran = restow("policy", "validate", "-", stdin=as_yaml(strategy_policy("LowNodeUtilization", args)))
    assert ran.out.rstrip().endswith("; write 20")
