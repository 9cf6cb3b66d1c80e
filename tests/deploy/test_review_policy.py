"""What a pull request is told about its change of a policy, on real git repositories; GitHub itself is a double."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.script

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "ci" / "review-policy"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
_GIT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_COMMITTER_DATE": "2026-11-21T01:00:00+01:00",
}
ENVIRONMENT = os.environ | _GIT | {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}
OLD = (ROOT / "examples/policies/database.yaml").read_text()


class Repository:
    """A git repository with a policy and a snapshot on main, and a branch that is checked out."""

    def __init__(self, directory: Path, policy: str = "policy.yaml") -> None:
        self.directory, self.policy = directory, policy
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("cluster.yaml", (ROOT / "examples/clusters/database.yaml").read_text())
        self.write(policy, OLD)
        self.commit()
        self.git("checkout", "--quiet", "-b", "branch")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.directory, env=ENVIRONMENT, check=True, capture_output=True)

    def write(self, name: str, content: str) -> None:
        (self.directory / name).write_text(content)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x")

    def review(self, policy: str = "", snapshot: str = "cluster.yaml", base: str = "main") -> tuple[int, str]:
        """The exit status and the comment."""
        command = ["bash", str(SCRIPT), policy or self.policy, snapshot, base]
        ran = subprocess.run(
            command, cwd=self.directory, env=ENVIRONMENT, check=False, capture_output=True, text=True, timeout=120
        )
        return ran.returncode, ran.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_change_is_told_and_told_alike_again(repository: Repository) -> None:
    """Decided as of the snapshot's commit: the comment does not depend on when it is made."""
    repository.write("policy.yaml", OLD.replace("cpu: 50", "cpu: 95"))
    repository.commit()
    first, again = repository.review(), repository.review()
    assert first == again
    assert first[0] == 0
    assert first[1].startswith("<!-- restow review -->\n### What this change")
    assert "| evictor | PodsWithLocalStorage | 1 | 0 |" in first[1]
    assert "the base" in first[1]
    assert "<details><summary>The plan</summary>" in first[1]


def test_without_a_change_it_says_so(repository: Repository) -> None:
    status, comment = repository.review()
    assert status == 0
    assert "No difference: 0 moves are the same" in comment


def test_a_finding_of_lint_fails_and_the_rest_is_told_all_the_same(repository: Repository) -> None:
    repository.write("policy.yaml", f"{OLD}extra: 1\n")
    status, comment = repository.review()
    assert status == 1
    assert "**The policy needs attention:**" in comment
    assert "    ./policy.yaml" in comment
    assert 'unknown key "extra" is ignored' in comment
    assert "The plan" in comment


def test_a_broken_policy_is_told_in_words(repository: Repository) -> None:
    repository.write("policy.yaml", "kind: [")
    status, comment = repository.review()
    assert status == 2
    assert "The policies cannot be compared:" in comment
    assert "Traceback" not in comment


def test_the_repair_of_a_broken_policy_is_planned(repository: Repository) -> None:
    """And the comment names no file that only this run had."""
    repository.git("checkout", "--quiet", "main")
    repository.write("policy.yaml", "kind: [")
    repository.commit()
    repository.git("checkout", "--quiet", "branch")
    status, comment = repository.review()
    assert status == 0
    assert "    the base:2: not valid YAML" in comment
    assert "<details><summary>The plan</summary>" in comment


def test_a_path_may_be_absolute_and_is_no_pattern(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "[p]*.yaml")
    status, comment = repository.review(str(tmp_path / "[p]*.yaml"), str(tmp_path / "cluster.yaml"))
    assert (status, "No difference" in comment) == (0, True)
    status, comment = repository.review(snapshot="cluste?.yaml")
    assert (status, "no commit has the snapshot" in comment) == (2, True)


def test_a_comment_is_not_longer_than_github_takes(repository: Repository) -> None:
    restow = [str(Path(sys.executable).parent / "restow")]
    cluster = subprocess.run([*restow, "generate", "--nodes=150", "--pods=4000"], check=True, capture_output=True)
    policy = subprocess.run([*restow, "policy", "default"], check=True, capture_output=True, text=True).stdout
    repository.write("cluster.yaml", cluster.stdout.decode())
    repository.write("policy.yaml", policy)
    repository.commit()
    status, comment = repository.review()
    assert status == 0
    assert len(comment) < 65_536
    assert "more lines are left out here." in comment
    assert comment.endswith("</details>\n")


def test_a_policy_that_is_new_is_planned(repository: Repository) -> None:
    repository.write("new.yaml", OLD)
    status, comment = repository.review("new.yaml")
    assert status == 0
    assert "The base has no such policy." in comment
    assert "Nothing to move" in comment


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"snapshot": "nothing.json"}, "no commit has the snapshot"),
        ({"base": "-x; touch pwned"}, "there is no commit -x"),
    ],
)
def test_what_is_not_there_is_told(repository: Repository, arguments: dict[str, str], sentence: str) -> None:
    status, comment = repository.review(**arguments)
    assert status == 2
    assert sentence in comment
    assert not (repository.directory / "pwned").exists()


def test_names_of_files_are_no_options_and_no_commands(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "-x $(touch pwned)`touch pwned`.yaml")
    status, comment = repository.review()
    assert (status, "No difference" in comment) == (0, True)
    assert not (tmp_path / "pwned").exists()


def test_words_of_others_stay_in_their_block(repository: Repository) -> None:
    repository.write("policy.yaml", "```\n</details>\n# Approved\n")
    _, comment = repository.review()
    assert not [line for line in comment.splitlines() if line.startswith(("```", "</details>", "# Approved"))]


def _steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = ACTION["runs"]["steps"]
    return steps


def test_no_input_of_the_action_is_pasted_into_a_script() -> None:
    assert all("${{" not in step["run"] for step in _steps())
    used = " ".join(str(step["env"]) for step in _steps())
    assert all(f"inputs.{name} " in used for name in ACTION["inputs"])
    for step in _steps():
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_the_job_of_gitlab_uses_every_input_as_a_variable() -> None:
    spec, job = yaml.safe_load_all((ROOT / "deploy/ci/gitlab/restow.yml").read_text())
    told = job["review-policy"]
    assert all("$[[" not in line for line in told["script"])
    assert all(f"inputs.{name} " in str(told) for name in spec["spec"]["inputs"])
    subprocess.run(["bash", "-n", "-c", "\n".join(told["script"])], check=True)


def test_the_action_comments_once_and_then_updates_its_comment(repository: Repository, tmp_path: Path) -> None:
    """``gh`` writes down what it is asked, and knows of a comment from the second time on."""
    tools = tmp_path / "tools"
    tools.mkdir()
    calls = tools / "calls"
    (tools / "gh").write_text(
        f'#!/bin/sh\ncase "$*" in *--paginate*) [ -s {calls} ] && echo 7; exit 0;; esac\necho "$*" >> {calls}\n'
    )
    (tools / "gh").chmod(0o755)
    given = {
        "POLICY": "policy.yaml",
        "SNAPSHOT": "cluster.yaml",
        "BASE": "main",
        "COMMENT": "true",
        "NUMBER": "3",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_ACTION_PATH": str(ROOT / "deploy/ci/github"),
        "GITHUB_STEP_SUMMARY": str(tools / "summary"),
        "RUNNER_TEMP": str(tools),
        "PATH": os.pathsep.join((str(tools), ENVIRONMENT["PATH"])),
    }
    for _ in range(2):
        subprocess.run(
            ["bash", "-c", _steps()[1]["run"]], cwd=repository.directory, env=ENVIRONMENT | given, check=True
        )
    first, second = calls.read_text().splitlines()
    assert "--method POST repos/o/r/issues/3/comments" in first
    assert "--method PATCH repos/o/r/issues/comments/7" in second
    assert (tools / "summary").read_text().count("<!-- restow review -->") == 2


@pytest.mark.parametrize(("notes", "method"), [("[]", ""), ('[{"id": 7, "body": "<!-- restow review -->"}]', "PUT")])
def test_the_job_of_gitlab_writes_one_note_and_then_changes_it(
    repository: Repository, tmp_path: Path, notes: str, method: str
) -> None:
    """``curl`` answers with the notes that there are, and writes down what it is asked; ``pip`` installs nothing."""
    _, job = yaml.safe_load_all((ROOT / "deploy/ci/gitlab/restow.yml").read_text())
    tools = tmp_path / "tools"
    tools.mkdir()
    calls = tools / "calls"
    (tools / "curl").write_text(f'#!/bin/sh\necho "$*" >> {calls}\ncase "$*" in *per_page*) echo \'{notes}\';; esac\n')
    (tools / "curl").chmod(0o755)
    given = {
        "POLICY": "policy.yaml",
        "SNAPSHOT": "cluster.yaml",
        "SCRIPT": str(SCRIPT),
        "RESTOW_TOKEN": "t",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main",
        "CI_API_V4_URL": "https://gitlab/api/v4",
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "3",
        "PATH": os.pathsep.join((str(tools), ENVIRONMENT["PATH"])),
    }
    script = "\n".join(["set -eo pipefail", *job["review-policy"]["script"][1:]])
    subprocess.run(["bash", "-c", script], cwd=repository.directory, env=ENVIRONMENT | given, check=True)
    asked = calls.read_text().splitlines()[-1]
    assert ("--request PUT" in asked) == (method == "PUT")
    assert asked.endswith("merge_requests/3/notes/7" if method else "merge_requests/3/notes")
    assert "body@comment.md" in asked
