"""Every console example: commands exist, and where a page shows an output, that is what the command prints."""

from __future__ import annotations

import re

import pytest

from docs.console import PACKAGES, agree, commands, examples, folder_for, output_of, runnable
from docs.pages import blocks, code_spans, name_of, pages, text_of
from restow.cli.app import app

PAGES = pages()
VERBS = set(re.findall(r"^([\w-]+):", text_of("Makefile"), flags=re.MULTILINE))


def shell_lines(page):
    """Everything on a page that could be typed without a package: console examples, and what stands in code."""
    text = page.read_text(encoding="utf-8")
    consoles = (each for each in blocks(text) if each.language == "console" and each.mark not in PACKAGES)
    yield from (each.command for block in consoles for each in examples(block))
    yield from (line.strip() for line in re.findall(r"^ {4}(restow .+|make .+)$", text, flags=re.MULTILINE))
    yield from (span for span in code_spans(text) if span.startswith(("restow ", "make ", "kubectl restow ")))


def typed(program):
    """Every use of a program on any page."""
    found = {}
    for page in PAGES:
        for shown in shell_lines(page):
            line = shown.partition(" #")[0].removeprefix("kubectl ")
            if program in line.split() and "..." not in line and "COMMAND" not in line:
                found.setdefault(f"{name_of(page)}: {line}", [each for each in commands(line) if each[0] == program])
    return [pytest.param(each[1:], id=where) for where, several in found.items() for each in several]


@pytest.mark.parametrize("words", typed("restow"))
def test_every_restow_command_of_a_page_has_arguments_that_exist(words):
    if words == [word for word in words if not word.startswith("-")][:2]:
        # A command by its name alone.
        words = [*words, "--help"]
    command, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert callable(command)


@pytest.mark.parametrize("words", typed("make"))
def test_every_make_command_of_a_page_is_a_verb(words):
    assert words[0] in VERBS


@pytest.mark.parametrize("page", [each for each in PAGES if runnable(each)], ids=name_of)
def test_every_output_on_a_page_is_what_the_command_prints(page):
    with folder_for(page) as folder:
        for example in runnable(page):
            printed = output_of(example.command, folder)
            assert agree(example.output, printed), f"{example.command}\n{printed}"


@pytest.mark.parametrize(
    ("written", "printed", "agrees"),
    [
        pytest.param("a\nb\n", "a\nb\n", True, id="same"),
        pytest.param("a\n[...]\nd\n", "a\nb\nc\nd\n", True, id="left out"),
        pytest.param("a\n[...]\nd\n", "a\nd\n", True, id="nothing left out"),
        pytest.param("a\n[...]\nd\n", "a\nb\n", False, id="other end"),
        pytest.param("a\n", "a\nb\n", False, id="too short"),
    ],
)
def test_only_marked_lines_may_be_left_out(written, printed, agrees):
    assert agree(written, printed) is agrees
