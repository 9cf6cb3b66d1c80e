"""``make again`` tries only tests that may fail by chance, each of which is named with the reason."""

from __future__ import annotations

import json

import pytest

import flaky
from docs.pages import ROOT, text_of

KNOWN = {"tests/e2e/test_a.py::test_x": "the machine is slow"}


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """Sets which tests failed last, and returns the exit status and what was tried again."""
    runs: list[list[str]] = []

    def after(*failed):
        file = tmp_path / "lastfailed"
        file.write_text(json.dumps(dict.fromkeys(failed, True)))
        monkeypatch.setattr(flaky, "FAILED", file)
        monkeypatch.setattr(flaky, "reasons", lambda: KNOWN)
        monkeypatch.setattr(flaky, "again", lambda options: runs.append(list(options)) or 0)
        return flaky.main(["--timeout", "5"]), runs

    return after


def test_a_test_of_the_list_is_tried_again_with_its_reason(tried, capsys):
    assert tried("tests/e2e/test_a.py::test_x[1]") == (0, [["--timeout", "5"]])
    assert "the machine is slow" in capsys.readouterr().out


def test_one_other_failure_and_nothing_is_tried_again(tried, capsys):
    assert tried("tests/e2e/test_a.py::test_x", "tests/kube/test_b.py::test_y") == (1, [])
    assert "tests/kube/test_b.py::test_y failed, and does not fail by chance" in capsys.readouterr().out


@pytest.mark.parametrize("test", ["tests/e2e/test_a.py", "tests/e2e/test_a.py::test_xy"])
def test_the_beginning_of_an_id_ends_with_a_name(test):
    assert flaky.reason_of(test, KNOWN) is None


def test_where_no_failure_is_known_it_fails(tried):
    assert tried() == (1, [])


@pytest.mark.parametrize("test", flaky.reasons())
def test_each_entry_of_the_list_is_a_test_that_there_is_and_has_a_reason(test):
    file, _, name = test.partition("::")
    assert not name or f"def {name.partition('[')[0]}(" in text_of(file)
    assert (ROOT / file).is_file()
    assert len(flaky.reasons()[test].split()) > 5


def test_pytest_keeps_its_failures_where_they_are_looked_for():
    assert 'cache_dir = "build/pytest"' in text_of("pyproject.toml")
