"""How plain the prose is: words of a private dialect for every 1,000 words of docstrings, comments and pages, room by room.

    python tests/prose.py            the rooms above the limit, and exit status 1 if there are any
    python tests/prose.py --show src/restow/live    each sentence of a room that holds such a word

Such words are correct English, and yet nobody of this field says them: they make a reader guess. Plain words take their place.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: The most words of the dialect for every 1,000 words.
LIMIT: Final = 3.0
#: They stand alone: "told", not "untold".
DIALECT: Final = re.compile(
    r"\b(?:nobody|somebody|whoever|whatever|whom|wherever|whenever|told|tells?|telling|hears?|heard|shall|anew|nevertheless"
    r"|so many|so much|so far as|for ever|goes on|go on|went on|comes? of|came of|becomes? of|became of|makes? of|made of it"
    r"|what is so|that is so|not so|is so|of such|such as are|has its way|its own way|than are|but for|of before"
    r"|the same\.\.\.|wish(?:es)?|lets? go|let go|nought|thereof|therein|hence|beside|hand(?:s|ed)? over|does without|do without"
    r"|sees? to|a look|looks? at it|look after|has come|have come|had come|will have|anybody|everybody)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_CODE: Final = re.compile(r"^```.*?^```|`[^`\n]*`|^    .*$", re.MULTILINE | re.DOTALL)
_ROOT: Final = Path(__file__).parent.parent


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring and comment."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = ast.get_docstring(node)
            if said:
                yield node.body[0].lineno, said
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def prose_of_page(text: str) -> Iterator[tuple[int, str]]:
    """A page of Markdown without its code."""
    plain = _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    yield from enumerate(plain.splitlines(), 1)


def rooms() -> dict[str, list[Path]]:
    """The files of each room: the folders of restow, its own files, and the pages."""
    found: dict[str, list[Path]] = {}
    source = _ROOT / "src" / "restow"
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0]
        found.setdefault("restow" if room.endswith(".py") else room, []).append(path)
    found["docs"] = [
        *sorted((_ROOT / "docs").rglob("*.md")),
        *(_ROOT / name for name in ("README.md", "ARCHITECTURE.md")),
    ]
    return found


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each piece of prose in a file."""
    read = prose_of_python if path.suffix == ".py" else prose_of_page
    return read(path.read_text(encoding="utf-8"))


def rate_of(paths: list[Path]) -> tuple[float, int]:
    """Words of the dialect for every 1,000 words of these files, and how many words they have."""
    words = dialect = 0
    for path in paths:
        for _, said in prose_of(path):
            words += len(_WORD.findall(said))
            dialect += len(DIALECT.findall(said))
    return 1000 * dialect / max(words, 1), words


def show(folder: Path) -> Iterator[str]:
    """A line for each piece of prose in a folder or file that holds such a word."""
    files = [folder] if folder.is_file() else sorted([*folder.rglob("*.py"), *folder.rglob("*.md")])
    for path in files:
        for line, said in prose_of(path):
            found = sorted({each.lower() for each in DIALECT.findall(said)})
            if found:
                yield f"{path}:{line}: {', '.join(found)}: {' '.join(said.split())}"


def main() -> int:
    """Print the rooms above the limit, or the places of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="FOLDER", type=Path, help="print each such word in a folder or file instead")
    folder = parser.parse_args().show
    if folder is not None:
        print("\n".join(show(folder)))
        return 0
    rates = {room: rate_of(paths) for room, paths in rooms().items()}
    above = {room: rate for room, (rate, _) in rates.items() if rate > LIMIT}
    for room, rate in above.items():
        print(f"{room}: {rate:.1f} of 1,000 words are of the dialect; tests/prose.py --show prints them")
    words = sum(number for _, number in rates.values())
    print(f"Prose: {len(rates)} rooms, {words:,} words; {len(above)} rooms above {LIMIT} of 1,000")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
