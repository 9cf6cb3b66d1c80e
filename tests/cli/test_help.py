"""Help pages: every command has one, with examples, in 80 columns."""

from __future__ import annotations

import pytest

COMMANDS = [
    "plan",
    "explain pod",
    "explain node",
    "explain scheduling",
    "schedule",
    "run",
    "history",
    "scheduler",
    "generate",
    "policy validate",
    "policy lint",
    "policy convert",
    "snapshot",
    "release",
    "pressure",
    "pressure check",
    "pressure push",
    "operator",
    "operator render",
    "simulate",
    "serve",
    "simulate check",
    "record",
    "record arrivals",
    "tune",
]
PAGES = ["", "explain", "policy", *COMMANDS]


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_plain_text_of_80_columns(restow, page, flag):
    ran = restow(*page.split(), flag)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: restow {page}".rstrip())
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out.isascii()
    assert "\n\n\n" not in ran.out


@pytest.mark.parametrize("page", COMMANDS)
def test_every_command_has_examples(restow, page):
    assert f"\nExamples:\n  restow {page}" in restow(*page.split(), "-h").out.replace("  kubectl", f"  restow {page}")


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        (
            "",
            [
                "plan",
                "diff",
                "explain",
                "schedule",
                "policy",
                "apply",
                "run",
                "scheduler",
                "history",
                "snapshot",
                "top",
                "serve",
                "release",
                "generate",
                "pressure",
                "operator",
                "record",
                "simulate",
                "tune",
                "help",
                "version",
                "completion",
            ],
        ),
        ("pressure", ["check", "push"]),
        ("policy", ["validate", "lint", "convert", "default"]),
        ("simulate", ["check"]),
        ("record", ["arrivals"]),
        ("operator", ["render", "soft-tainter", "uninstall"]),
    ],
)
def test_a_group_lists_its_commands(restow, page, commands):
    listed = restow(*page.split(), "-h").out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2] not in " -"]
    assert names == commands


@pytest.mark.parametrize("page", ["", "policy"])
def test_without_a_command_there_is_help(restow, page):
    assert restow(*page.split()) == restow(*page.split(), "-h")


def test_a_long_name_has_a_line_of_its_own(restow):
    lines = restow("plan", "-h").out.splitlines()
    assert "  --max-pods-to-evict-per-node N" in lines


def test_a_wide_terminal_gets_no_wider_page(restow, monkeypatch):
    restow("plan", "-h")
    monkeypatch.setenv("COLUMNS", "200")
    assert max(map(len, restow("plan", "-h").out.splitlines())) <= 100
