"""A part of a plan: what is of a namespace, a node, a strategy or a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DEMO = (
    "plan", "-f", EXAMPLES / "clusters" / "demo.json", "--policy-config-file", EXAMPLES / "policies" / "demo.yaml",
    "--now", "2026-11-21T00:00:00Z",
)  # fmt: skip


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("flags", "note"),
    [
        (["-n", "shop"], "7 of 27 moves and 8 of 35 refusals (namespace shop)"),
        (["--strategy", "LowNodeUtilization"], "4 of 27 moves and 26 of 35 refusals (strategy LowNodeUtilization)"),
        (["--node", "general-a-8"], "3 of 27 moves and 1 of 35 refusals (node general-a-8)"),
        (["--workload", "Deployment/checkout"], "3 of 27 moves and 0 of 35 refusals (workload Deployment/checkout)"),
        (["--workload", "checkout"], "3 of 27 moves and 0 of 35 refusals (workload checkout)"),
        (["-n", "shop", "--node", "general-a-1"], "(namespace shop, node general-a-1)"),
        (["--limit", "2"], "2 of 27 moves and 35 of 35 refusals;"),
    ],
)
def test_what_is_shown_is_said(restow, flags, note):
    ran = restow(*DEMO, *flags)
    assert (ran.status, ran.err) == (0, "")
    assert "note Shown are" in words(ran.out)
    assert note in words(ran.out)
    assert "those of the whole plan" in words(ran.out)


def test_every_shown_pod_is_of_the_namespace(restow):
    ran = restow(*DEMO, "-n", "shop", "-o", "wide")
    pods = [line.split()[1] for line in ran.out.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(pods) >= 7
    assert all(each.startswith("shop/") for each in pods if "/" in each)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["-n", "shpo"], '-n: the input holds no pods of namespace shpo; did you mean "shop"?'),
        (
            ["--strategy", "LowNodeUtilisation"],
            '--strategy: there is no strategy LowNodeUtilisation; did you mean "LowNodeUtilization"?',
        ),
        (["--node", "general-a-99"], "--node: the input holds no node general-a-99; did you mean general-a-"),
        (["--workload", "nobody"], "no move and no refusal of the plan is of workload nobody"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_a_hint(restow, flags, sentence):
    ran = restow(*DEMO, *flags)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


@pytest.mark.parametrize("form", ["json", "yaml", "html", "markdown"])
def test_programs_get_the_whole_plan(restow, form):
    ran = restow(*DEMO, "-n", "shop", "-o", form)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"-o {form} has the whole plan: ")


def test_the_exit_status_is_that_of_the_whole_plan(restow):
    assert restow(*DEMO, "--limit", "0", "--exit-code").status == 3
