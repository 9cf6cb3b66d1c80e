"""What the image is made of is pinned by hashes, within the ranges of pyproject.toml, and its bill of materials names it.

Development and CI install the same versions, and those of their tools, by a constraints file.
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

import restow
from deploy.manifests import DEPLOY, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME, BUILD, PLUGIN = "requirements.txt", "requirements-build.txt", "krew/requirements.txt"
CONSTRAINTS = "constraints.txt"
#: Where tools with an environment of their own are pinned.
TOOLS = ("docs/site", "deploy/release")
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED = {
    RUNTIME: [*PROJECT["project"]["dependencies"], *EXTRAS["operator"], *EXTRAS["tracing"]],
    BUILD: PROJECT["build-system"]["requires"],
    PLUGIN: PROJECT["project"]["dependencies"],
}
CONTAINERFILE = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
BILL = DEPLOY / "sbom.py"


def entries(file):
    """Each pinned package with its options, comments left out."""
    text = re.sub(r"^ *#.*\n", "", (DEPLOY / file).read_text(), flags=re.MULTILINE)
    return [entry.split() for entry in text.replace("\\\n", "").splitlines() if entry]


def pinned(file):
    return dict(entry[0].split("==") for entry in entries(file))


def constraints():
    """The version of each package that development and CI install."""
    return dict(line.split("==") for line in (ROOT / CONSTRAINTS).read_text().splitlines())


@pytest.mark.parametrize("file", WANTED)
def test_each_package_has_one_version_and_hashes_and_nothing_else_is_said(file):
    found = entries(file)
    assert found
    for package, *options in found:
        assert re.fullmatch(r"[a-z0-9.-]+==[\w.]+", package)
        assert options
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option) for option in options), package


@pytest.mark.parametrize("folder", TOOLS)
def test_tools_of_their_own_environments_are_pinned_within_their_ranges(folder):
    versions = dict(line.split("==") for line in (ROOT / folder / "requirements.txt").read_text().splitlines())
    wanted = [Requirement(line) for line in (ROOT / folder / "requirements.in").read_text().splitlines()]
    assert wanted
    assert all(each.specifier.contains(versions[each.name.lower()]) for each in wanted)


@pytest.mark.parametrize("file", WANTED)
def test_what_the_project_asks_for_is_pinned_within_its_range(file):
    versions = pinned(file)
    for text in WANTED[file]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(versions[wanted.name.lower()]), f"{text}: run make requirements"


@pytest.mark.parametrize("file", WANTED)
def test_no_index_is_named(file):
    assert not re.search(r"://|^-|index-url|find-links|trusted-host", (DEPLOY / file).read_text(), re.MULTILINE)


def test_every_package_that_development_needs_has_one_plain_version_within_its_range():
    ranges = [each for each in (*WANTED[RUNTIME], *WANTED[BUILD], *EXTRAS["dev"]) if not each.startswith("restow")]
    for wanted in map(Requirement, ranges):
        assert wanted.specifier.contains(constraints()[wanted.name.lower()]), f"{wanted}: run make requirements"
    assert all(re.fullmatch(r"[\w.]+", version) for version in constraints().values())


@pytest.mark.parametrize("file", WANTED)
def test_the_image_is_made_of_the_versions_that_are_tested(file):
    assert pinned(file).items() <= constraints().items()


def test_everything_is_installed_by_the_constraints():
    """``make test CONSTRAINTS=`` is the one way to other versions."""
    makefile = (ROOT / "Makefile").read_text()
    assert f"CONSTRAINTS := {CONSTRAINTS}" in makefile
    installing = [line for line in makefile.splitlines() if "pip install" in line and "pip-tools" not in line]
    assert all("PIP_CONSTRAINT=$(CONSTRAINTS)" in line or "--requirement $<" in line for line in installing)


def test_the_image_installs_nothing_that_is_not_pinned():
    """From an index with hashes and no builds of others' sources; of restow itself without an index."""
    installing = re.findall(r"-m pip (?:--python \S+ )?(?:install|wheel) .*?(?= && |$)", CONTAINERFILE, re.MULTILINE)
    from_index = [line for line in installing if "--no-index" not in line]
    assert {line.split("-r deploy/")[1] for line in from_index} == {RUNTIME, BUILD}
    assert all("--require-hashes --only-binary :all:" in line for line in from_index)
    assert all("--no-deps" in line for line in installing if line not in from_index)
    assert len(installing) == 4


def test_the_bill_names_every_package_of_the_image_in_the_form_of_cyclonedx():
    bill = json.loads(subprocess.run([sys.executable, "-I", BILL], check=True, capture_output=True).stdout)
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    described = bill["metadata"]["component"]
    assert (described["type"], described["name"], described["version"]) == ("application", "restow", restow.__version__)
    packages = [each for each in bill["components"] if not each["purl"].startswith("pkg:npm/")]
    assert {each["name"]: each["version"] for each in packages} == pinned(RUNTIME)
    assert {each["name"] for each in bill["components"]} - pinned(RUNTIME).keys() == {"htmx.org", "uplot"}
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references)
    assert bill["dependencies"] == [{"ref": described["bom-ref"], "dependsOn": references}]
    for each in (described, *packages):
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"


def test_a_bill_of_other_packages_has_another_number():
    bill = runpy.run_path(str(BILL))["bill"]
    assert bill("a==1\n", "1")["serialNumber"] == bill("a==1\n", "1")["serialNumber"]
    assert bill("a==1\n", "1")["serialNumber"] != bill("a==2\n", "1")["serialNumber"]


def test_the_command_that_pins_them_is_told_where_they_are_used():
    makefile = (ROOT / "Makefile").read_text()
    written = {CONSTRAINTS, *(f"deploy/{file}" for file in WANTED), *(f"{each}/requirements.txt" for each in TOOLS)}
    assert written == set(re.findall(r"--output-file (\S+)", makefile))
    assert "`make requirements`" in (ROOT / "CONTRIBUTING.md").read_text()
