"""The site of the documentation: the same files as in the repository, in one frame with a search.

``make site`` calls Sphinx with the project's root as the source, so links between pages stay as they are. What is no page
(manifests, examples) becomes a file to download. Folders are linked to in the repository, if RESTOW_REPOSITORY says
where that is, and are plain words otherwise. A link that leads nowhere, or a page that no list has, is an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = os.environ.get("RESTOW_REPOSITORY", "").rstrip("/")
_VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "src/restow/version.py").read_text())
_README = (ROOT / "README.md").read_text()
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s#]+)\)")

project = "restow"
version = release = _VERSION[1] if _VERSION else ""
author = "the restow authors"
copyright = ""  # noqa: A001  Sphinx's name
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"restow {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path: list[str] = []
root_doc = "README"
# Sections of the site's menu, and the pages that each has: in the order in which the README, or the course, names them.
SECTIONS = {
    "Start": ("docs/tutorials/*.md",),
    "How to": ("docs/how-to/*.md", "deploy/helm/*/README.md"),
    "Reference": ("docs/reference/*.md", "docs/performance.md"),
    "A course": ("docs/tutorials/scheduling/*.md",),
    "Background": ("docs/explanation/*.md",),
    "Designs": ("docs/designs/*.md",),
    "Project": (
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "*/README.md",
        "deploy/release/README.md",
    ),
    "简体中文": ("README.zh-CN.md", "docs/tutorials/scheduling/zh/*.md"),
}
include_patterns = ["README.md", *(pattern for patterns in SECTIONS.values() for pattern in patterns)]
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
copybutton_prompt_text = "$ "
# Examples show parts of documents, which no grammar need accept.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "text"


def _menu() -> str:
    """The lists of pages beside each page; readers of the README do not see them there."""
    lists = []
    for caption, patterns in SECTIONS.items():
        found = [each for pattern in patterns for each in sorted(ROOT.glob(pattern), key=_place)]
        pages = "\n".join("/" + each.relative_to(ROOT).with_suffix("").as_posix() for each in found)
        lists.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n")
    return "\n".join(lists)


def _place(page: Path) -> tuple[bool, int, str]:
    """Where the README, or the index beside a page, names it; what neither names comes last, and an index first."""
    index = page.with_name("index.md")
    named = _README.rfind(f"({page.relative_to(ROOT).as_posix()}")
    beside = index.read_text().find(f"({page.name})") if index.exists() else -1
    return page != index and max(named, beside) < 0, max(named, beside), page.name


def _without_folders(text: str, folder: Path) -> str:
    """A page's text in which links to folders, which the site has not, lead to the repository, or are words."""

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if "://" in link[2] or not target.is_dir():
            return link[0]
        return f"[{link[1]}]({REPOSITORY}/tree/main/{target.relative_to(ROOT).as_posix()})" if REPOSITORY else link[1]

    return _LINK.sub(replaced, text)


def _prepare(_app: Any, name: str, source: list[str]) -> None:
    source[0] = _without_folders(source[0], (ROOT / name).parent)
    if name == root_doc:
        source[0] += "\n" + _menu()


def _begin_at_the_readme(app: Any, _error: Exception | None) -> None:
    forward = f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html"><title>{project}</title>\n'
    (Path(app.outdir) / "index.html").write_text(forward)


def setup(app: Any) -> None:
    """What Sphinx calls before it reads the pages."""
    app.connect("source-read", _prepare)
    app.connect("build-finished", _begin_at_the_readme)
