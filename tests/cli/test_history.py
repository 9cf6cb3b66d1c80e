"""``restow history``: a part of a file, as a table or as JSON."""

from __future__ import annotations

import json
import time

import pytest

from history.records import a_cycle, a_move
from restow.history.file import HistoryFile


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    now, path = time.time(), str(tmp_path / "restow.db")
    file = HistoryFile(path, 30.0, pytest.fail)
    file.put_move(a_move("old", now - 2 * 86_400, "moved"))
    file.put_move(a_move("web", now - 3_600, "moved", landed="n2", landing="target"))
    file.put_move(a_move("db", now - 1_800, "moved", namespace="data"))
    file.put_cycle(a_cycle(now - 3_700, now - 1_700))
    file.close()
    return path


def test_the_last_day(restow, path):
    ran = restow("history", path)
    assert (ran.status, ran.err) == (0, "")
    assert "2 pods moved: 1 to their targets" in ran.out


def test_further_back_and_a_namespace(restow, path):
    found = json.loads(restow("history", path, "--since", "72h", "-n", "shop", "-o", "json").out)
    assert [each["pod"] for each in found["listed"]] == ["web", "old"]
    assert found["cycles"]["total"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nope.db",), "nope.db: No such file; restow run --history nope.db writes one"),
        (("restow.db", "--since", "1d"), "--since 1d: "),
        (("restow.db", "--since", "0s"), "--since 0s: must be more than 0"),
    ],
)
@pytest.mark.usefixtures("path")
def test_what_cannot_be_used(restow, arguments, sentence):
    ran = restow("history", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err
