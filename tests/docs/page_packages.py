"""Packages that how-to pages tell how to write, as pip would install them."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from builders.entry_points import forget_packages
from docs.pages import files


@dataclass(slots=True, frozen=True)
class PagePackage:
    """The package of one page."""

    page: Path
    modules: tuple[str, ...]

    @contextmanager
    def on_the_path(self, folder: Path) -> Iterator[None]:
        """The page's modules can be imported; they and what is known of packages are forgotten afterwards."""
        for module in self.modules:
            (folder / f"{module}.py").write_text(self._file(f"{module}.py"), encoding="utf-8")
        sys.path.insert(0, str(folder))
        self._forget()
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            self._forget()

    @contextmanager
    def installed(self, folder: Path) -> Iterator[None]:
        """The page's package is installed: modules, and a distribution with the entry points of its pyproject.toml."""
        project = tomllib.loads(self._file("pyproject.toml"))["project"]
        metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        metadata.mkdir()
        name_and_version = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (metadata / "METADATA").write_text(name_and_version, encoding="utf-8")
        groups = project["entry-points"].items()
        lines = [
            line for group, points in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))
        ]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        with self.on_the_path(folder):
            yield

    def _file(self, name: str) -> str:
        return files(self.page.read_text(encoding="utf-8"))[name]

    def _forget(self) -> None:
        importlib.invalidate_caches()
        for module in self.modules:
            sys.modules.pop(module, None)
        forget_packages()
