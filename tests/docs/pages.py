"""The pages of the documentation and the fenced blocks on them.

An HTML comment right above a fence says what a block is for: ``<!-- run -->`` a console example that is run and
compared, ``<!-- file: NAME -->`` a file that the page's examples read. Readers do not see the comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (.+) -->\n\Z")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(slots=True, frozen=True)
class Block:
    """A fenced block: its language, its text, what it is marked as, and where its text begins and ends in the page."""

    language: str
    text: str
    mark: str
    start: int
    end: int


def pages() -> list[Path]:
    """Every page of the project, by name."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def text_of(name: str) -> str:
    """The text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """A page as people call it: ``docs/how-to/read-refusals.md``."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page's text."""
    for fence in _FENCE.finditer(text):
        mark = _MARK.search(text[: fence.start()])
        yield Block(fence[1], fence[2], mark[1] if mark else "", fence.start(2), fence.end(2))


def files(text: str) -> dict[str, str]:
    """The files that a page's text holds, by name."""
    marked = (each for each in blocks(text) if each.mark.startswith("file: "))
    return {each.mark.removeprefix("file: "): each.text for each in marked}


def prose(text: str) -> str:
    """A page's text without its fenced blocks."""
    return _FENCE.sub("", text)


def code_spans(text: str) -> list[str]:
    """Everything between backticks in a page's prose."""
    return _CODE_SPAN.findall(prose(text))


def section(text: str, heading: str) -> str:
    """What stands under a heading, its subsections included."""
    level = len(heading) - len(heading.lstrip("#"))
    _, _, after = text.partition(f"\n{heading}\n")
    assert after, f"there is no {heading}"
    return re.split(rf"^#{{1,{level}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> dict[str, list[str]]:
    """The rows of the tables in a text by their first cell, where that is code."""
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|")
    return {first.strip("`"): rest for first, *rest in cells if first.startswith("`")}
