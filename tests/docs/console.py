"""The console examples of the documentation: finds them, runs them, and writes down what they print.

``PYTHONPATH=tests python -m docs.console`` writes the outputs of all examples anew. An output with a line ``[...]`` was
shortened by hand, and only told of where it is no longer true.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from docs import goal_package, output_package, scheduler_plugin_package, strategy_package, usage_source_package
from docs.pages import ROOT, Block, blocks, files, name_of, pages
from restow.cli.main import run

RUN = "run"
OMITTED = "[...]"
#: Installed where the examples of a mark are run.
PACKAGES = {
    goal_package.WITH_THE_GOAL: goal_package,
    strategy_package.WITH_THE_STRATEGY: strategy_package,
    scheduler_plugin_package.WITH_THE_PLUGIN: scheduler_plugin_package,
    output_package.WITH_THE_OUTPUT: output_package,
    usage_source_package.WITH_THE_SOURCE: usage_source_package,
}


@dataclass(slots=True, frozen=True)
class Example:
    """A command line, and what the page says it prints."""

    command: str
    output: str


def examples(block: Block) -> list[Example]:
    """The examples of a console block; a backslash continues a command on the next line."""
    parts = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)
    lines = (part.partition("\n") for part in parts if part)
    return [Example(command, output) for command, _, output in lines]


def commands(line: str) -> list[list[str]]:
    """The words of each command of a pipeline; redirections are left out."""
    found: list[list[str]] = [[]]
    words = iter(_words(line))
    for word in words:
        if word == "|":
            found.append([])
        elif word in {">", "<"}:
            next(words)
        else:
            found[-1].append(word)
    return found


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    return list(lexer)


def runnable(page: Path, mark: str = RUN) -> list[Example]:
    """The examples of a page that can be run."""
    return [each for block in _marked(page.read_text(encoding="utf-8"), mark) for each in examples(block)]


def _marked(text: str, mark: str) -> Iterator[Block]:
    return (each for each in blocks(text) if each.mark == mark)


@contextmanager
def folder_for(page: Path) -> Iterator[Path]:
    """An empty folder with the files of the page and the project's examples."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for path, text in files(page.read_text(encoding="utf-8")).items():
            (folder / path).write_text(text, encoding="utf-8")
        yield folder


def output_of(line: str, folder: Path) -> str:
    """What one restow or python command prints in a folder, on 80 columns; ``> FILE`` keeps its standard output."""
    (arguments,) = commands(line)
    kept = _words(line)[-1] if ">" in _words(line) else None
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    told = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) if kept else out
    with chdir(folder), redirect_stdout(out), redirect_stderr(told), _columns("80"):
        _run(arguments)
    if kept:
        (folder / kept).write_bytes(_bytes(out))
    return "\n".join(each.rstrip() for each in _bytes(told).decode().split("\n"))


def _run(arguments: Sequence[str]) -> None:
    program, *rest = arguments
    if program == "restow":
        run(rest)
        return
    assert program == "python", f"neither restow nor python: {program}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    sys.stdout.write(subprocess.check_output([sys.executable, *rest], env=environment, text=True))


def _bytes(stream: io.TextIOWrapper) -> bytes:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@contextmanager
def _columns(width: str) -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = width
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def agree(written: str, printed: str) -> bool:
    """Whether an output is what a page says, where ``[...]`` stands for any lines."""
    parts = re.split(rf"^ *{re.escape(OMITTED)}\n", written, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, parts)), printed) is not None


def main() -> None:
    """Write every output anew."""
    for page in pages():
        _rewrite(page, RUN)
    for mark, package in PACKAGES.items():
        with tempfile.TemporaryDirectory() as packages, package.installed(Path(packages)):
            for page in pages():
                _rewrite(page, mark)


def _rewrite(page: Path, mark: str) -> None:
    text = page.read_text(encoding="utf-8")
    pieces, position = [], 0
    with folder_for(page) as folder:
        for block in _marked(text, mark):
            told = [_retold(page, each, output_of(each.command, folder)) for each in examples(block)]
            pieces += [text[position : block.start], *told]
            position = block.end
    page.write_text("".join([*pieces, text[position:]]), encoding="utf-8")


def _retold(page: Path, example: Example, printed: str) -> str:
    shortened = OMITTED in example.output
    if shortened and not agree(example.output, printed):
        print(f"{name_of(page)}: shorten anew: {example.command}")
    return f"$ {example.command}\n{example.output if shortened else printed}"


if __name__ == "__main__":
    main()
