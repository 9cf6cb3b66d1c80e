"""What kubectl gets when it asks for completions of ``kubectl restow``."""

from __future__ import annotations

import pytest

from restow.cli.kubectl_completion import answer, main


@pytest.mark.parametrize(
    ("words", "proposals"),
    [
        (["pl"], ["plan"]),
        (["explain", "no"], ["node"]),
        (["plan", "--policy-c"], ["--policy-config-file"]),
        (["plan", "-f", "x.json", "--steer"], ["--steering"]),
        (["explain", "node", "plan", "--dr"], ["--drain"]),
    ],
)
def test_commands_and_options_are_proposed(words: list[str], proposals: list[str]) -> None:
    assert answer(words) == [*proposals, ":4"]


@pytest.mark.parametrize("words", [["plan", "-f", ""], ["nope", "--x"], ["explain", "node", "general-"]])
def test_for_anything_else_the_shell_completes_files(words: list[str]) -> None:
    assert answer(words) == [":0"]


def test_without_a_word_all_commands_are_proposed() -> None:
    assert {"plan", "explain", "run", "help"} < set(answer([]))


def test_kubectl_reads_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-restow", "pla"])
    main()
    assert capsys.readouterr().out == "plan\n:4\n"
