"""What a maintainer publishes: made twice it is the same, krew installs it, and whoever has the key can check it.

Signing needs cosign and a registry, which take minutes to build: ``RESTOW_E2E_SIGNING=1 make e2e``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

import pytest
import yaml

import restow
from e2e.answering import answering
from e2e.binaries import ROOT, SIGNERS, tool
from e2e.ports import HOST, free_ports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

REPOSITORY = "https://git.example.com/team/restow"
VERSION = restow.__version__
_NOT_SOURCES = (".git", "build", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".benchmarks", "*.so")
_GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")


def tried(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """What came of a command, which may fail."""
    variables = os.environ | environment
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


def done(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """What a command prints, which must not fail."""
    found = tried(*command, cwd=cwd, **environment)
    assert found.returncode == 0, f"{command}: {found.stdout}{found.stderr}"
    return found.stdout


@pytest.fixture(scope="module")
def repository(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with these files, as they are, in one commit."""
    place = tmp_path_factory.mktemp("repository") / "restow"
    shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*_NOT_SOURCES))
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "All")):
        done(*_GIT, *arguments, cwd=place)
    return place


def make_release(repository: Path) -> Path:
    """``make release`` in a repository; the directory that it made."""
    options = (f"REPOSITORY={REPOSITORY}", f"HELM={tool('helm')}", f"PYTHON={sys.executable}")
    done("make", "release", *options, cwd=repository)
    return repository / "build/release"


@pytest.fixture(scope="module")
def release(repository: Path) -> Path:
    return make_release(repository)


def digests(directory: Path) -> dict[str, str]:
    files = (each for each in directory.rglob("*") if each.is_file())
    return {str(each.relative_to(directory)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def test_the_same_commit_gives_the_same_bytes(repository: Path, release: Path, tmp_path: Path) -> None:
    before = digests(release)
    for each in repository.glob("deploy/helm/*/Chart.yaml"):
        os.utime(each)
    assert digests(make_release(repository)) == before
    listed = dict(reversed(line.split("  ")) for line in (release / "SHA256SUMS").read_text().splitlines())
    assert listed == {name: each for name, each in before.items() if name not in ("SHA256SUMS", "provenance.json")}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--repository", "restow"), "give the address of the repository"),
        (("--repository", REPOSITORY, "--helm", "no-such-helm"), "there is no program no-such-helm"),
        (("--repository", REPOSITORY, "--helm", "true", "--out", "."), "has other files than those of a release"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_deleted(
    repository: Path, release: Path, options: tuple[str, ...], sentence: str
) -> None:
    found = tried(repository / "build/venv/release/bin/python", repository / "deploy/release", *options, cwd=repository)
    assert (found.returncode, found.stdout) == (2, "")
    assert sentence in found.stderr
    assert (repository / "README.md").exists()


def test_the_package_says_where_it_comes_from_and_its_links_lead_there(release: Path) -> None:
    (wheel,) = release.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        told = message_from_string(archive.read(f"restow-{VERSION}.dist-info/METADATA").decode())
    assert f"Repository, {REPOSITORY}" in told.get_all("Project-URL", [])
    links = re.findall(r"\]\((?!#)([^)\s]+)\)", told.get_payload())
    assert len(links) > 50
    assert all(each.startswith(f"{REPOSITORY}/blob/v{VERSION}/") for each in links)
    if sys.platform == "linux":
        assert "manylinux" in wheel.name, "a package index takes no linux_x86_64"


def test_the_charts_can_be_rendered_and_say_where_they_come_from(release: Path, tmp_path: Path) -> None:
    charts = sorted(release.glob("charts/*.tgz"))
    assert len(charts) == 3
    for chart in charts:
        with tarfile.open(chart) as archive:
            archive.extractall(tmp_path, filter="data")
        told = yaml.safe_load((tmp_path / chart.name.removesuffix(f"-{VERSION}.tgz") / "Chart.yaml").read_text())
        assert (told["home"], told["sources"]) == (REPOSITORY, [REPOSITORY])
        assert yaml.safe_load(told["annotations"]["artifacthub.io/links"])
        assert done(tool("helm"), "template", "r", str(chart), "--namespace", "restow")


def test_the_provenance_names_the_commit_and_the_packages(repository: Path, release: Path) -> None:
    told = json.loads((release / "provenance.json").read_text())["buildDefinition"]
    source, *lists = told["resolvedDependencies"]
    assert source["digest"]["gitCommit"] == done("git", "rev-parse", "HEAD", cwd=repository).strip()
    for each in lists:
        assert each["digest"]["sha256"] == hashlib.sha256((repository / each["name"]).read_bytes()).hexdigest()


def test_krew_installs_the_plugin_and_its_first_call_prepares_it_once(release: Path, tmp_path: Path) -> None:
    krew = {"KREW_ROOT": str(tmp_path / "krew"), "KREW_NO_UPGRADE_CHECK": "1"}
    archive = release / f"kubectl-restow-v{VERSION}.tar.gz"
    done(tool("krew"), "install", f"--manifest={release / 'restow.yaml'}", f"--archive={archive}", cwd=tmp_path, **krew)
    programs = os.pathsep.join((str(tmp_path / "krew/bin"), str(tool("kubectl").parent), os.environ["PATH"]))
    here = {"PATH": programs, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    here["RESTOW_PYTHON"] = "no-such-python"
    refused = tried("kubectl", "restow", "version", **here)
    assert refused.returncode == 2
    assert "it needs Python 3.11 or newer" in refused.stderr
    assert not (tmp_path / "data").exists()
    here["RESTOW_PYTHON"] = sys.executable
    # Two at once: both work, and one environment is left.
    started = [subprocess.Popen(["kubectl", "restow", "version"], env=os.environ | here, stdout=-1) for _ in range(2)]
    said = [each.communicate(timeout=200)[0].decode() for each in started]
    assert [each.startswith(f"restow {VERSION}") for each in said] == [True, True]
    assert len(list((tmp_path / "data/restow").iterdir())) == 2, "a link, and what it leads to"
    plan = done("kubectl", "restow", "plan", "-f", str(ROOT / "examples/clusters/demo.json"), **here)
    assert plan.startswith("cluster  36 nodes")


def test_an_index_that_is_away_leaves_nothing_behind(release: Path, tmp_path: Path) -> None:
    with tarfile.open(release / f"kubectl-restow-v{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path / "plugin", filter="data")
    environment = {"XDG_DATA_HOME": str(tmp_path), "RESTOW_PYTHON": sys.executable}
    environment |= {"PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    failed = tried(tmp_path / "plugin/kubectl-restow", **environment)
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1].startswith("kubectl restow: its packages cannot be installed")
    assert not list((tmp_path / "restow").iterdir())


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of a registry for images and charts."""
    address = f"{HOST}:{free_ports(1)[0]}"
    settings = {"version": 0.1, "storage": {"filesystem": {"rootdirectory": str(tmp_path / "stored")}}}
    file = tmp_path / "registry.yaml"
    file.write_text(yaml.safe_dump(settings | {"http": {"addr": address}}))
    command = [str(tool("registry")), "serve", str(file)]
    with answering(command, tmp_path / "registry.log", f"http://{address}", "v2/"):
        yield address


def has_signers() -> bool:
    try:
        return all(tool(each) for each in SIGNERS)
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not has_signers(), reason="RESTOW_E2E_SIGNING=1 make e2e builds what signs")
def test_a_signed_release_is_verified_and_a_changed_one_is_not(
    repository: Path, release: Path, registry: str, tmp_path: Path
) -> None:
    signed = tmp_path / "release"
    shutil.copytree(release, signed)
    here = {
        "PATH": f"{tool('cosign').parent}{os.pathsep}{os.environ['PATH']}",
        "COSIGN_PASSWORD": "",
        "HOME": str(tmp_path),
    }
    done("cosign", "generate-key-pair", cwd=tmp_path, **here)
    chart = signed / f"charts/restow-{VERSION}.tgz"
    pushed = tried(tool("helm"), "push", chart, f"oci://{registry}/charts", "--plain-http")
    (digest,) = re.findall(r"^Digest: (\S+)$", pushed.stdout + pushed.stderr, re.MULTILINE)
    image = f"{registry}/charts/restow@{digest}"
    scripts = repository / "deploy/release"
    done(scripts / "sign", signed, tmp_path / "cosign.key", image, COSIGN_FLAGS="--tlog-upload=false", **here)
    checked = {"COSIGN_FLAGS": "--insecure-ignore-tlog=true", **here}
    done(scripts / "verify", signed, tmp_path / "cosign.pub", image, **checked)
    (signed / "sbom.cdx.json").write_text("{}")
    changed = tried(scripts / "verify", signed, tmp_path / "cosign.pub", **checked)
    assert changed.returncode != 0
    assert "sbom.cdx.json: FAILED" in changed.stdout
    shutil.copy(release / "sbom.cdx.json", signed)
    other = tmp_path / "other"
    other.mkdir()
    done("cosign", "generate-key-pair", cwd=other, **here)
    foreign = tried(scripts / "verify", signed, other / "cosign.pub", **checked)
    assert foreign.returncode != 0
