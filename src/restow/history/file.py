"""A history in one SQLite file, bounded in days and in rows.

Writes are queued and made by a thread of their own, so that a slow disk holds up no eviction; one that fails is reported once,
and the descheduler continues. A reader may open the file at any time (write-ahead log). Only names, nodes, results and times
are kept: no labels, no annotations, no environment. The version of the schema is the file's ``user_version``.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from restow.errors import InputError
from restow.history.records import CycleRecord, MoveRecord

VERSION: Final = 1
DAY: Final = 86_400.0
#: Rows of each table that are kept at most.
_MOST_ROWS: Final = 1_000_000
#: Seconds to wait for another process that writes, and for the last writes at the end.
_BUSY: Final = 10.0
_MOVE: Final = MoveRecord.__struct_fields__
_CYCLE: Final = CycleRecord.__struct_fields__
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS cycles (began REAL PRIMARY KEY, {", ".join(_CYCLE[1:])});
CREATE TABLE IF NOT EXISTS moves ({", ".join(_MOVE)});
CREATE INDEX IF NOT EXISTS moves_at ON moves (at, uid);
PRAGMA user_version = {VERSION};
"""

_Write = Callable[[sqlite3.Connection], object]


class HistoryFile:
    """Writes a history; ``close`` waits for what is queued."""

    def __init__(self, path: str, days: float, warn: Callable[[str], None]) -> None:
        """InputError where the file cannot be used. ``days`` is for how long a history is kept."""
        self._path = path
        self._days = days
        self._warn = warn
        self._warned = False
        with closing(_opened(path)) as connection, _in_words(path):
            connection.executescript(_SCHEMA)
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="history", daemon=True)
        self._thread.start()

    def put_move(self, move: MoveRecord) -> None:
        """Keep a move; one of the same pod and time is replaced."""
        values = tuple(getattr(move, name) for name in _MOVE)
        marks = ", ".join("?" * len(_MOVE))

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM moves WHERE uid = ? AND at = ?", (move.uid, move.at))
            connection.execute(f"INSERT INTO moves VALUES ({marks})", values)  # noqa: S608 - only question marks

        self._queue.put(write)

    def put_cycle(self, cycle: CycleRecord) -> None:
        """Keep a cycle, and drop what is older than the history reaches back."""
        row = msgspec.structs.asdict(cycle) | {"spread": msgspec.json.encode(cycle.spread).decode()}
        marks = ", ".join("?" * len(_CYCLE))

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                f"INSERT OR REPLACE INTO cycles VALUES ({marks})",  # noqa: S608 - only question marks
                [row[name] for name in _CYCLE],
            )
            oldest = cycle.ended - self._days * DAY
            connection.execute("DELETE FROM cycles WHERE ended < ?", (oldest,))
            connection.execute("DELETE FROM moves WHERE at < ?", (oldest,))
            for table in ("cycles", "moves"):
                connection.execute(
                    f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?",  # noqa: S608 - a table of ours
                    (_MOST_ROWS,),
                )

        self._queue.put(write)

    def close(self) -> None:
        """Write what is queued, if the disk lets it."""
        self._queue.put(None)
        self._thread.join(_BUSY)

    def _write_all(self) -> None:
        connection: sqlite3.Connection | None = None
        while (write := self._queue.get()) is not None:
            try:
                connection = connection or _opened(self._path)
                with connection:
                    write(connection)
                self._warned = False
            except (sqlite3.Error, InputError) as error:
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
                connection = None
                self._warn_once(f"the history {self._path} was not written: {error}")
        if connection is not None:
            connection.close()

    def _warn_once(self, sentence: str) -> None:
        if not self._warned:
            self._warn(sentence)
        self._warned = True


def read_cycles(path: str, since: float) -> list[CycleRecord]:
    """Return the cycles that ended after a time, the oldest first; InputError where the file is no history."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT * FROM cycles WHERE ended >= ? ORDER BY began", (since,)).fetchall()
    return [_cycle(row) for row in rows]


def read_moves(path: str, since: float) -> list[MoveRecord]:
    """Return the moves since a time, the oldest first; InputError where the file is no history."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT * FROM moves WHERE at >= ? ORDER BY at, rowid", (since,)).fetchall()
    return [_move(row) for row in rows]


def _cycle(row: tuple[Any, ...]) -> CycleRecord:
    values = dict(zip(_CYCLE, row, strict=True))
    spread = msgspec.json.decode(values["spread"], type=dict[str, tuple[float, float]])
    return CycleRecord(**values | {"dry_run": bool(values["dry_run"]), "spread": spread})


def _move(row: tuple[Any, ...]) -> MoveRecord:
    values = dict(zip(_MOVE, row, strict=True))
    return MoveRecord(**values | {"steered": bool(values["steered"])})


def _opened(path: str) -> sqlite3.Connection:
    """A connection that writes, made with its file; InputError where that cannot be."""
    with _in_words(path):
        connection = sqlite3.connect(path, timeout=_BUSY, check_same_thread=False)
        try:
            _check_version(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection]:
    if not Path(path).is_file():
        raise InputError(f"{path}: No such file; restow run --history {path} writes one")
    with _in_words(path), closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as connection:
        _check_version(path, connection)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'moves'").fetchone():
            raise InputError(f"{path}: is no history of restow")
        yield connection


def _check_version(path: str, connection: sqlite3.Connection) -> None:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise InputError(f"{path}: is of a newer restow (version {found} of the schema, not {VERSION})")


@contextmanager
def _in_words(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"{path}: {error}") from error
