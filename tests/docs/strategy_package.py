"""The package that ``docs/how-to/write-a-strategy.md`` tells how to write, as pip would install it."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.pages import ROOT, files
from restow.descheduling import registry

PAGE = ROOT / "docs" / "how-to" / "write-a-strategy.md"
MODULE = "leave_labelled_nodes"
#: The mark of the page's examples that need the package.
WITH_THE_STRATEGY = "run with the strategy"


@contextmanager
def on_the_path(folder: Path) -> Iterator[None]:
    """The page's module can be imported; it and what the registry knows are forgotten afterwards."""
    (folder / f"{MODULE}.py").write_text(files(PAGE.read_text(encoding="utf-8"))[f"{MODULE}.py"], encoding="utf-8")
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        _forget()


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The page's package is installed: its module, and a distribution with the entry points of its pyproject.toml."""
    project = tomllib.loads(files(PAGE.read_text(encoding="utf-8"))["pyproject.toml"])["project"]
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    name_and_version = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(name_and_version, encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with on_the_path(folder):
        yield


def _forget() -> None:
    importlib.invalidate_caches()
    sys.modules.pop(MODULE, None)
    registry.strategies.cache_clear()
    registry.plugins.cache_clear()
