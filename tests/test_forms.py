"""The forms for issues and pull requests, and the hooks that check a commit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_has_a_name_a_description_and_questions_with_ids(form: Path):
    read = yaml.safe_load(form.read_text())
    questions = [field for field in read["body"] if field["type"] != "markdown"]
    assert read["name"]
    assert read["description"]
    assert all(field["id"] and field["attributes"]["label"] for field in questions)


def test_the_hooks_are_the_commands_of_make_check():
    recipe = re.search(r"^check:.*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().removeprefix("$(BIN)/").split() for line in recipe[1].splitlines()]
    checked = {tuple(word for word in words if word not in {"--check", "."}) for words in commands}
    hooks = [hook["entry"].removeprefix(".venv/bin/").split() for repo in HOOKS for hook in repo["hooks"]]
    assert {tuple(word for word in words if word != "--force-exclude") for words in hooks} == checked


def test_the_hooks_download_nothing():
    assert [repo["repo"] for repo in HOOKS] == ["local"]
    assert {hook["language"] for repo in HOOKS for hook in repo["hooks"]} == {"system"}


def test_the_forms_name_only_verbs_that_exist():
    text = "".join(path.read_text() for path in (*FORMS, ROOT / ".github" / "pull_request_template.md"))
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", text)) <= verbs
