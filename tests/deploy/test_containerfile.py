"""The image runs as nobody, from files that are there; `make e2e` carries out its steps."""

from __future__ import annotations

import re
import tomllib

from deploy.manifests import DEPLOY, ROOT

TEXT = (DEPLOY / "Containerfile").read_text()
LINES = [line for line in TEXT.replace("\\\n", "").splitlines() if line and not line.startswith("#")]


def instructions(word):
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{word} ")]


def test_both_stages_begin_with_the_same_python_by_its_digest():
    (base,) = instructions("ARG")
    assert re.fullmatch(r"PYTHON=docker\.io/library/python:3\.11\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)
    assert [line.split(" AS ")[0] for line in instructions("FROM")] == ["${PYTHON}"] * 2


def test_what_is_copied_from_the_project_is_all_that_building_needs():
    copied = [name for line in instructions("COPY") if not line.startswith("--from") for name in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {"deploy/requirements.txt", "deploy/requirements-build.txt", "deploy/sbom.py"}
    own = {project["readme"], *project["license-files"], "pyproject.toml", "hatch_build.py", "docs/man", "src"}
    assert own | pins == set(copied)


def test_the_user_is_a_number_and_not_root():
    (user,) = instructions("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_the_programs_that_it_names_are_installed():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(re.findall(r"/opt/restow/bin/([\w-]+)", TEXT)) <= scripts.keys()
