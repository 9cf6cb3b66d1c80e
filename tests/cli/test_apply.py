"""``restow apply``: what it refuses before it asks any API server, and what it asks; ``make e2e`` moves real pods."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.policies import as_yaml
from restow.application import applying
from restow.application.applying import ApplyOutcome, read_order
from restow.descheduling.registry import plugins
from restow.policies.load import load_policy
from restow.reporting.apply_result import apply_result


@pytest.fixture
def plan(restow: Any, plan_arguments: list[str], tmp_path: Path) -> Path:
    """A plan of one move."""
    path = tmp_path / "plan.json"
    path.write_text(restow(*plan_arguments, "-o", "json").out)
    return path


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be applied, to which no cluster answers."""
    asked: list[Any] = []

    async def run(session: Any) -> ApplyOutcome:
        asked.append(session)
        nothing = apply_result((), plan="", plan_generated_at="", dry_run=False, interrupted=False, seconds=0.0)
        return ApplyOutcome(nothing, is_kept=True)

    monkeypatch.setattr(applying.ApplySession, "run", run)
    return asked


def changed(path: Path, change: Any) -> Path:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def sentence(ran: Any) -> str:
    assert ran.status == 2
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert "Traceback" not in line
    return str(line)


def test_the_plan_names_its_own_policy(restow: Any, plan: Path, policy: Path) -> None:
    order = read_order(str(plan))
    given = load_policy(policy.read_bytes(), "p", plugins()).policy
    assert order.policy.profiles == given.profiles
    assert order.policy.restow.placement == "prove"
    assert order.steering == "nominate"


@pytest.mark.parametrize(
    ("options", "steering"),
    [
        ((), "nominate"),
        (("--steering", "none"), "none"),
        (("--steering", "nominate"), "nominate"),
        (("--steering", "fence"), "fence"),
        (("--steering", "prefer"), "prefer"),
        (("--placement", "upstream"), "none"),
    ],
    ids=str,
)
def test_options_of_the_plan_have_more_say_than_its_policy(
    restow: Any, plan_arguments: list[str], tmp_path: Path, options: tuple[str, ...], steering: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(restow(*plan_arguments, "-o", "json", *options).out)
    assert read_order(str(path)).steering == steering


def test_the_scheduler_configuration_comes_along(restow: Any, plan_arguments: list[str], tmp_path: Path) -> None:
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 100\nprofiles: [{schedulerName: mine}]\n"
    )
    path = tmp_path / "plan.json"
    path.write_text(restow(*plan_arguments, "-o", "json", "--scheduler-config", str(configuration)).out)
    (profile,) = read_order(str(path)).profiles
    assert (profile.name, profile.percentage_of_nodes_to_score) == ("mine", 100)


@pytest.mark.parametrize(
    "example", sorted((Path(__file__).parents[2] / "examples" / "policies").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_policy_comes_through_a_plan_unchanged(restow: Any, cluster: Path, example: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(restow("plan", "-f", cluster, "--policy-config-file", example, "-o", "json").out)
    assert read_order(str(path)).policy.profiles == load_policy(example.read_bytes(), "p", plugins()).policy.profiles


def test_without_a_terminal_it_asks_for_yes(restow: Any, plan: Path, sessions: list[Any]) -> None:
    assert "there is no terminal to ask at: add --yes" in sentence(restow("apply", plan))
    assert sessions == []


@pytest.mark.parametrize("option", ["--yes", "-y", "--dry-run"])
def test_it_need_not_ask(restow: Any, plan: Path, sessions: list[Any], option: str) -> None:
    assert restow("apply", plan, option).status == 0
    (session,) = sessions
    assert (session.namespace, session.lease) == ("kube-system", "descheduler")


def test_a_plan_from_standard_input_leaves_nothing_to_answer_from(restow: Any, plan: Path, sessions: list[Any]) -> None:
    assert "there is no terminal" in sentence(restow("apply", "-", stdin=plan.read_bytes()))
    assert restow("apply", "-", "--yes", stdin=plan.read_bytes()).status == 0
    (session,) = sessions
    assert session.order.name == "standard input"


@pytest.mark.parametrize("lease", ["descheduler", "/descheduler", "kube-system/", "a/b/c", ""])
def test_a_lease_has_a_namespace_and_a_name(restow: Any, plan: Path, sessions: list[Any], lease: str) -> None:
    assert "--lease: must be NAMESPACE/NAME" in sentence(restow("apply", plan, "--yes", f"--lease={lease}"))
    assert sessions == []


def test_a_file_that_is_not_there_is_named(restow: Any) -> None:
    assert sentence(restow("apply", "none.json", "--yes")) == "none.json: No such file or directory"


def test_a_device_is_no_plan(restow: Any) -> None:
    assert sentence(restow("apply", "/dev/zero", "--yes")) == "/dev/zero: is a device, not a plan"


def test_a_file_that_was_cut_short_is_a_sentence(restow: Any, plan: Path) -> None:
    plan.write_bytes(plan.read_bytes()[:-40])
    assert "plan.json: is cut short or damaged" in sentence(restow("apply", plan, "--yes"))


def test_a_policy_that_cannot_be_used_names_its_field_in_the_plan(restow: Any, plan: Path) -> None:
    changed(plan, lambda document: document["policy"]["restow"].update(waitForReady="soon"))
    assert "plan.json: policy:1: restow.waitForReady" in sentence(restow("apply", plan, "--yes"))


def test_a_move_of_a_strategy_that_the_policy_lacks_is_named(restow: Any, plan: Path) -> None:
    changed(plan, lambda document: document["moves"][0].update(plugin="PodLifeTime"))
    assert "moves[0].plugin: the plan's policy enables no PodLifeTime" in sentence(restow("apply", plan, "--yes"))


def test_without_a_cluster_it_says_so(restow: Any, plan: Path) -> None:
    assert "no cluster: " in sentence(restow("apply", plan, "--yes", "-o", "json"))


def digest_of(plan: Path) -> str:
    return f"sha256:{hashlib.sha256(plan.read_bytes()).hexdigest()}"


def test_a_plan_with_the_digest_that_was_reviewed_is_applied(restow: Any, plan: Path, sessions: list[Any]) -> None:
    assert restow("apply", plan, "--yes", "--digest", digest_of(plan)).status == 0
    assert restow("apply", "-", "--yes", "--digest", digest_of(plan), stdin=plan.read_bytes()).status == 0
    assert len(sessions) == 2


def test_a_plan_that_was_changed_after_its_review_is_refused(restow: Any, plan: Path, sessions: list[Any]) -> None:
    reviewed = digest_of(plan)
    plan.write_bytes(plan.read_bytes() + b" ")
    said = sentence(restow("apply", plan, "--yes", "--digest", reviewed))
    assert said.endswith(
        f"plan.json: has the digest {digest_of(plan)}, not the one of --digest: it is not the plan that was meant"
    )
    assert sessions == []


@pytest.mark.parametrize("digest", ["sha256:12", "0" * 64, "md5:" + "0" * 32, ""])
def test_a_digest_has_its_form(restow: Any, plan: Path, sessions: list[Any], digest: str) -> None:
    assert "--digest: must be sha256: and 64 hexadecimal digits" in sentence(
        restow("apply", plan, "--yes", f"--digest={digest}")
    )
    assert sessions == []


def test_a_plan_that_was_made_with_the_policy_is_applied(
    restow: Any, plan: Path, policy: Path, sessions: list[Any]
) -> None:
    assert restow("apply", plan, "--yes", "--policy-config-file", policy).status == 0
    assert len(sessions) == 1


@pytest.mark.parametrize("options", [("--steering", "nominate"), ("--placement", "upstream")], ids=str)
def test_options_of_the_plan_are_no_other_policy(
    restow: Any, plan_arguments: list[str], policy: Path, sessions: list[Any], options: tuple[str, ...]
) -> None:
    path = policy.parent / "plan.json"
    path.write_text(restow(*plan_arguments, "-o", "json", *options).out)
    assert restow("apply", path, "--yes", "--policy-config-file", policy).status == 0
    assert len(sessions) == 1


@pytest.mark.parametrize(
    "case",
    [
        ({"maxNoOfPodsToEvictTotal": 7}, "policy: maxNoOfPodsToEvictTotal is not set in the plan and 7 in "),
        ({"nodeSelector": "a=b"}, 'policy: nodeSelector is not set in the plan and "a=b" in '),
        ({"restow": {"perWorkload": 3}}, "policy: restow.perWorkload is 1 in the plan and 3 in "),
    ],
    ids=["limit", "selector", "restow"],
)
def test_another_policy_is_refused_by_the_first_field_that_differs(
    restow: Any, plan: Path, policy: Path, sessions: list[Any], case: tuple[dict[str, Any], str]
) -> None:
    changes, said = case
    other = yaml.safe_load(policy.read_bytes()) | changes
    (policy.parent / "other.yaml").write_bytes(as_yaml(other))
    assert said in sentence(restow("apply", plan, "--yes", "--policy-config-file", policy.parent / "other.yaml"))
    assert sessions == []


def test_standard_input_is_either_the_plan_or_the_policy(restow: Any, sessions: list[Any]) -> None:
    assert "can be read only once" in sentence(restow("apply", "-", "--yes", "--policy-config-file", "-"))
    assert sessions == []
