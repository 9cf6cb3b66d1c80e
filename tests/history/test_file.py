"""The file of a history: what was put into it is read again, in order, and what is too old is dropped."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest
from msgspec import structs

from history.records import a_cycle, a_move
from restow.errors import InputError
from restow.history.file import DAY, HistoryFile, read_cycles, read_moves


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "restow.db")


@pytest.fixture
def written(path):
    """Writes records, and returns what was warned of."""

    def write(*records, days=30.0):
        warned = []
        file = HistoryFile(path, days, warned.append)
        for each in records:
            file.put_cycle(each) if hasattr(each, "ended") else file.put_move(each)
        file.close()
        return warned

    return write


def test_records_are_read_as_they_were_put(path, written):
    moves, cycles = [a_move("a", 10.0), a_move("b", 20.0, steered=True, ready_at=25.0)], [a_cycle(5.0, 30.0)]
    assert written(*moves, *cycles) == []
    assert (read_moves(path, 0.0), read_cycles(path, 0.0)) == (moves, cycles)
    assert read_moves(path, 15.0) == moves[1:]
    assert read_cycles(path, 31.0) == []


def test_a_move_that_is_put_again_is_replaced(path, written):
    move = a_move("a", 10.0)
    ready = structs.replace(move, result="moved", landed="n2")
    written(move, ready)
    assert read_moves(path, 0.0) == [ready]


def test_another_process_goes_on_with_the_file(path, written):
    written(a_move("a", 10.0))
    written(a_move("b", 20.0))
    assert [each.pod for each in read_moves(path, 0.0)] == ["a", "b"]


def test_what_is_older_than_the_days_is_dropped_at_the_end_of_a_cycle(path, written):
    now = 100 * DAY
    written(
        a_move("old", now - 3 * DAY),
        a_cycle(now - 3 * DAY, now - 3 * DAY),
        a_move("new", now - DAY),
        a_cycle(now, now),
        days=2,
    )
    assert [each.pod for each in read_moves(path, 0.0)] == ["new"]
    assert [each.began for each in read_cycles(path, 0.0)] == [now]


def test_a_reader_sees_what_a_writer_has_open(path):
    file = HistoryFile(path, 30.0, pytest.fail)
    file.put_move(a_move("a", 10.0))
    done = threading.Event()
    file._queue.put(lambda _: done.set())
    assert done.wait(10)
    assert len(read_moves(path, 0.0)) == 1
    file.close()


def test_a_write_that_fails_is_told_once_and_the_next_ones_are_made(path):
    warned = []
    file = HistoryFile(path, 30.0, warned.append)

    def fail(_):
        raise sqlite3.OperationalError("database or disk is full")

    file._queue.put(fail)
    file._queue.put(fail)
    file.put_move(a_move("a", 10.0))
    file.close()
    assert warned == [f"the history {path} was not written: database or disk is full"]
    assert len(read_moves(path, 0.0)) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "No such file; restow run --history"), (b"text " * 300, "file is not a database"), (b"", "is no history of restow")],
    ids=["none", "text", "empty"],
)  # fmt: skip
def test_what_is_no_history(tmp_path, content, sentence):
    path = tmp_path / "restow.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_moves(str(path), 0.0)


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="unable to open database file"):
        HistoryFile(str(tmp_path / "nowhere" / "restow.db"), 30.0, pytest.fail)


def test_a_file_of_a_newer_restow_is_left_alone(path, written):
    written(a_move("a", 10.0))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")
    for use in (lambda: read_moves(path, 0.0), lambda: HistoryFile(path, 30.0, pytest.fail)):
        with pytest.raises(InputError, match=r"is of a newer restow \(version 9 of the schema, not 1\)"):
            use()
