"""``python -m tests.bench PART``: one entry for everything that is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import PARTS, main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_describes_its_options_under_the_name_it_is_called_by(part: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([part, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m tests.bench {part} ")


def test_an_unknown_part_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["speed"])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert all(part in message for part in PARTS)


def test_the_verb_lists_all_parts():
    assert f"PART={'|'.join(PARTS)}" in (ROOT / "Makefile").read_text()
