"""The files of a commit as they are released: with the address of the repository where people find them.

In the repository links are relative, since nobody knows where it lies. A package index, Artifact Hub and krew's index show
parts of it elsewhere, so links become absolute there, to the tag of the version.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import yaml

_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s]+)(\))")
#: Pages that stand elsewhere by themselves.
_PAGES = ("README.md", "deploy/helm/*/README.md")
_TAGGED = ("Documentation", "blob/{tag}/README.md#documentation"), ("Changelog", "blob/{tag}/CHANGELOG.md")


def take(root: Path, commit: str, into: Path) -> None:
    """Write the files of a commit below ``into``; CalledProcessError where there is no such commit."""
    packed = subprocess.run(["git", "archive", "--format=tar", commit], cwd=root, check=True, capture_output=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(into, filter="data")


def version_of(tree: Path) -> str:
    """The version that the package says it has."""
    (found,) = _VERSION.findall((tree / "src/restow/version.py").read_text(encoding="utf-8"))
    return found


def address(tree: Path, repository: str) -> None:
    """Have pages, package and charts say where the repository is."""
    tag = f"v{version_of(tree)}"
    for page in (found for pattern in _PAGES for found in tree.glob(pattern)):
        page.write_text(_absolute(page, tree, f"{repository}/blob/{tag}"), encoding="utf-8")
    project = tree / "pyproject.toml"
    urls = {"Repository": repository, "Issues": f"{repository}/issues"}
    urls |= {name: f"{repository}/{path.format(tag=tag)}" for name, path in _TAGGED}
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    project.write_text(f"{project.read_text(encoding='utf-8')}\n[project.urls]\n{lines}", encoding="utf-8")
    for chart in tree.glob("deploy/helm/*/Chart.yaml"):
        chart.write_text(_chart(chart, urls), encoding="utf-8")


def _absolute(page: Path, tree: Path, base: str) -> str:
    def replaced(link: re.Match[str]) -> str:
        path, _, anchor = link[2].partition("#")
        target = (page.parent / path).resolve().relative_to(tree.resolve()).as_posix()
        return f"{link[1]}{base}/{target}{'#' if anchor else ''}{anchor}{link[3]}"

    return _LINK.sub(replaced, page.read_text(encoding="utf-8"))


def _chart(file: Path, urls: dict[str, str]) -> str:
    """A Chart.yaml with what Artifact Hub shows of it."""
    chart = yaml.safe_load(file.read_text(encoding="utf-8"))
    links = [{"name": name, "url": url} for name, url in urls.items() if name != "Repository"]
    annotations = chart.get("annotations", {}) | {"artifacthub.io/links": yaml.safe_dump(links, sort_keys=False)}
    return yaml.safe_dump(
        chart | {"home": urls["Repository"], "sources": [urls["Repository"]], "annotations": annotations},
        sort_keys=False,
    )
