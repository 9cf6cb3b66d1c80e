"""What one input is, and what came of it. Both travel between processes and are kept as files."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import msgspec
from msgspec import Struct, field

#: Where inputs that showed something are kept.
FOLDER = Path("build/fuzz")
#: Stands in files for the port of the API server that a worker runs.
PORT = b"@PORT@"
#: What most inputs are handed to.
RESTOW = "restow.cli.main:run"


class Answer(Struct, frozen=True):
    """One answer of the API server."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    #: Written one after another.
    pieces: tuple[bytes, ...] = ()
    #: Break the connection after the last piece.
    cut: bool = False
    #: The pieces are the whole answer, status line and headers included.
    raw: bool = False


class Facts(Struct, frozen=True):
    """What is known of an input and may be held against the answer."""

    #: Pods that the files hold, as NAMESPACE/NAME; empty where nobody knows.
    pods: tuple[str, ...] = ()
    #: Names of the objects that were made hostile.
    suspects: tuple[str, ...] = ()
    #: The API server would take all of it, so it must be planned.
    accepted: bool = False
    #: The last command gets what the first one has called valid.
    validated: bool = False


class Case(Struct, frozen=True):
    """One input: files, what the API server answers, and the commands that read both, in the folder of the files."""

    kind: str
    commands: tuple[tuple[str, ...], ...]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    #: Answers by path, of lists and of watches (``PATH?watch``), one after another; the last one is repeated.
    answers: dict[str, tuple[Answer, ...]] = field(default_factory=dict)
    facts: Facts = Facts()
    #: MODULE:FUNCTION that takes the arguments and returns an exit status.
    entry: str = RESTOW

    def __repr__(self) -> str:
        return f"<{self.kind}, {self.size} bytes, {self.commands}>"[:300]

    @property
    def size(self) -> int:
        """Bytes that somebody has to look at to understand it."""
        answers = [piece for each in self.answers.values() for answer in each for piece in answer.pieces]
        words = [word for command in self.commands for word in command]
        return sum(map(len, (*self.files.values(), *answers, *words)))


#: Bytes of one output that are kept: a policy of thousands of profiles is a plan of many megabytes.
LONGEST_OUTPUT = 8 << 20


class Ran(Struct, frozen=True):
    """How one command of a case ended."""

    status: int
    out: bytes
    err: str
    #: Of processor time.
    seconds: float
    #: The traceback of an exception that nobody foresaw.
    trace: str = ""


class Death(Struct, frozen=True):
    """The process that ran a case is no more, or did not answer in time."""

    why: str
    #: What it wrote last, such as the stack of a crash.
    last_words: str = ""


def save(case: Case, path: Path) -> None:
    """Write a case as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(case)))


def keep(case: Case, signature: str) -> Path:
    """Write an input to ``build/fuzz``, named after its kind and what it showed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    words = re.sub(r"[^a-zA-Z0-9]+", "-", signature).strip("-")[:60]
    path = FOLDER / f"{case.kind}-{words}.json"
    for number in itertools.count(2):
        if not path.exists():
            break
        path = path.with_stem(f"{case.kind}-{words}-{number}")
    save(case, path)
    return path


def load(path: Path) -> Case:
    """Read a case that ``save`` has written."""
    return msgspec.json.decode(path.read_bytes(), type=Case)
