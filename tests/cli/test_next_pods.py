"""What plans say of pods that are not as their templates say, and where simulated controllers have them land."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import NOW
from builders.policies import as_yaml
from descheduling.harness import a_policy
from proving.simulated_pods import Simulated

POLICY = a_policy(
    "PodLifeTime", {"maxPodLifeTimeSeconds": 600}, evictor={"podProtections": {"defaultDisabled": ["DaemonSetPods"]}}
)
DUMPS = Path(__file__).parent / "next_pods"
#: By dump: how sure the move is, or why there is none; a part of the caveat; and whether the replacement finds a node.
CASES = {
    "resized": ("NoFit", "", False),
    "on-delete": ("NoFit", "", False),
    "partition": ("certain", "", True),
    "daemon-set": ("NoFit", "", False),
    "autoscaler": ("NoFit", "", False),
    "autoscaler-off": ("certain", "", True),
    "sidecar": ("certain", "", True),
    "unexplained": ("likely", "requests (app: cpu)", True),
    "paused": ("certain", "", True),
    "rollout": ("likely", "a rollout will replace its pods", None),
    "resizing": ("likely", "it is being resized", None),
}


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_bytes(as_yaml(POLICY))
    return str(path)


def test_every_dump_is_a_case() -> None:
    assert {path.stem for path in DUMPS.iterdir()} == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_plan_knows_the_pod_that_comes_back(restow: Any, policy: str, name: str) -> None:
    expected, caveat, lands = CASES[name]
    options = ("--now", NOW, "-o", "json")
    ran = restow("plan", "-f", DUMPS / f"{name}.yaml", "--policy-config-file", policy, *options)
    plan = json.loads(ran.out)
    found = [each["certainty"] for each in plan["moves"]] + [
        each["code"] for each in plan["refusals"] if each["pod"]["name"] != "other"
    ]
    assert (ran.status, found) == (0, [expected])
    assert caveat in (plan["moves"][0].get("caveat", "") if plan["moves"] else "")
    if lands is not None:
        (landed,) = simulated_landing(name)
        assert landed in (plan["moves"][0]["candidates"] if lands else [""])


def simulated_landing(name: str) -> list[str]:
    """The node of the replacement in a simulation of the same objects; empty text while it is pending."""
    objects = [each for each in yaml.safe_load_all((DUMPS / f"{name}.yaml").read_text()) if "items" not in each]
    simulated = Simulated(objects, seed=1)
    simulated.run(1)
    pod = next(each for each in simulated.pods().values() if each.metadata.name != "other")
    return simulated.landing_of(pod)


def test_an_input_that_lacks_the_template_names_the_command_that_adds_it(restow: Any, policy: str) -> None:
    ran = restow("plan", "-f", DUMPS / "resizing.yaml", "--policy-config-file", policy, "--now", NOW)
    assert "kubectl get -A -o json rs" in " ".join(ran.err.split())
    assert "likely at most" in " ".join(ran.out.split())


def test_a_policy_that_asks_for_certainty_gets_no_guesses(restow: Any, tmp_path: Path) -> None:
    path = tmp_path / "certain.yaml"
    path.write_bytes(as_yaml(POLICY | {"restow": {"certainty": "certain"}}))
    ran = restow("plan", "-f", DUMPS / "unexplained.yaml", "--policy-config-file", path, "--now", NOW, "-o", "json")
    (refusal,) = [each for each in json.loads(ran.out)["refusals"] if each["pod"]["name"] == "web-0"]
    assert refusal["code"] == "NotCertain"
    assert "not known which pod comes in its place" in refusal["message"]


def test_a_snapshot_keeps_templates_and_nothing_of_their_environment(restow: Any, policy: str, tmp_path: Path) -> None:
    dump = (
        (DUMPS / "resized.yaml")
        .read_text()
        .replace("      - name: app\n", "      - name: app\n        env: [{name: KEY, value: hunter2}]\n")
    )
    (tmp_path / "dump.yaml").write_text(dump)
    assert "hunter2" in dump
    assert restow("snapshot", "-f", "dump.yaml", "-o", "snapshot.json").status == 0
    assert "hunter2" not in (tmp_path / "snapshot.json").read_text()
    plans = [
        json.loads(restow("plan", "-f", name, "--policy-config-file", policy, "--now", NOW, "-o", "json").out)
        for name in ("dump.yaml", "snapshot.json")
    ]
    assert plans[0]["refusals"] == plans[1]["refusals"]
    assert "NoFit" in [each["code"] for each in plans[1]["refusals"]]
