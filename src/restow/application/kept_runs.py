"""The results of a run in a directory, as they come, so that a run that was stopped goes on where it was.

``run.json`` says what was run: of which inputs, by which version, from when on. ``futures.jsonl`` gets a line for each future
when it ends, all with the same fields, so that DuckDB, polars and pandas read it as a table. A line that was not written to its end
is dropped. A run goes on only if everything that its results follow from is as it was. A search is made in parts, and which
pieces come next follows from those before; so it finds each piece where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from restow.application.files import prepare_directory, replace_file
from restow.engines.registry import Run, new_name
from restow.errors import InputError
from restow.reporting.simulation_document import InputFile
from restow.simulating.scenarios.reading import API_VERSION
from restow.simulating.scenarios.running import Future

_RUN: Final = "run.json"
_FUTURES: Final = "futures.jsonl"


class KeptRun(Struct, frozen=True, rename="camel"):
    """What the results in a directory follow from."""

    begins: str
    seconds: float
    until_stable: bool
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    #: Every file that was read.
    inputs: tuple[InputFile, ...]
    restow_version: str
    #: Of a search, the formulas, and how many trials.
    objectives: tuple[str, ...] = ()
    trials: int = 0
    #: How workers elsewhere know the run.
    name: str = msgspec.field(default_factory=new_name)
    api_version: str = API_VERSION
    kind: str = "SimulationRun"


def begun(directory: str, *, resumes: bool) -> KeptRun | None:
    """Return the run that a directory has results of; InputError where it has some that are not to be resumed."""
    file = Path(directory) / _RUN
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"--results {directory}: {error.strerror or error}") from error
    if not resumes:
        raise InputError(
            f"--results {directory}: has results already; add --resume to go on, or name another directory"
        )
    try:
        return msgspec.json.decode(content, type=KeptRun)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file}: is not what restow has written: {error}; name another directory") from error


class KeptFuture(NamedTuple):
    """A line of a file, all that stands in it, and the result."""

    line: bytes
    fields: dict[str, Any]
    future: Future


@dataclass(slots=True)
class KeptResults:
    """A run whose results a directory keeps."""

    name: str
    resumes: bool
    file: Path
    #: What earlier commands have found, by number.
    found: Mapping[int, KeptFuture]
    #: How many pieces were asked for so far.
    _count: int = 0

    def part(self, rows: Sequence[Mapping[str, Any]]) -> Run:
        """Return the next pieces as a run; ``rows`` are the first fields of the line of each.

        InputError where one was found for something else: a search has asked for other pieces then.
        """
        begin = self._count
        self._count += len(rows)
        found = {}
        for place, row in enumerate(rows):
            kept = self.found.get(begin + place)
            if kept is not None and not row.items() <= kept.fields.items():
                raise InputError(
                    f"{self.file}: number {begin + place} is of another search, such as that of another version of Optuna; "
                    "name another directory"
                )
            if kept is not None:
                found[place] = kept.future
        name = f"{self.name}-{begin}" if begin else self.name
        return Run(name, FutureJournal(self.file, begin, rows, found), resumes=self.resumes)


def keep(directory: str, run: KeptRun, earlier: KeptRun | None) -> KeptResults:
    """Return the results that a directory keeps; InputError where an earlier run there is of something else."""
    place = prepare_directory(directory, "--results")
    futures = place / _FUTURES
    if earlier is None:
        replace_file(place / _RUN, msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
        replace_file(futures, b"")
        return KeptResults(run.name, resumes=False, file=futures, found={})
    _check_same(earlier, run, directory)
    found = _read(futures)
    replace_file(futures, b"".join(each.line + b"\n" for each in found.values()))
    return KeptResults(earlier.name, resumes=True, file=futures, found=found)


@dataclass(slots=True)
class FutureJournal:
    """A file with a line for each piece that is finished."""

    file: Path
    #: The number of the first piece among those of the whole run.
    begin: int
    rows: Sequence[Mapping[str, Any]]
    found: dict[int, Any]

    def add(self, number: int, result: Future) -> None:
        """Append the line of one more piece; OSError where that fails."""
        fields = {"number": self.begin + number, **self.rows[number], **msgspec.to_builtins(result)}
        with self.file.open("ab") as stream:
            stream.write(msgspec.json.encode(fields) + b"\n")


class _Numbered(Struct, frozen=True):
    number: int


def _read(file: Path) -> dict[int, KeptFuture]:
    """The lines of a file, each piece once, by number."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    found: dict[int, KeptFuture] = {}
    for place, line in enumerate(lines, 1):
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            number = msgspec.convert(fields, _Numbered).number
            future = KeptFuture(line, fields, msgspec.convert(fields, Future))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                f"{file}:{place}: is not what restow has written: {error}; name another directory"
            ) from error
        found.setdefault(number, future)
    return dict(sorted(found.items()))


def _check_same(earlier: KeptRun, run: KeptRun, directory: str) -> None:
    """Raise InputError with what is not as it was when the earlier run began."""
    once = [each.path for each in run.inputs if not each.sha256]
    if once:
        raise InputError(
            f"--resume: {once[0]} can be read only once, so nobody knows whether it is as it was; use a file"
        )
    digests = {each.path: each.sha256 for each in earlier.inputs}
    problems = [
        f"--results {directory}: {each.path} is not as it was when this run began; bring the old file back"
        for each in run.inputs
        if each.path in digests and digests[each.path] != each.sha256
    ]
    ours, theirs = (structs.asdict(structs.replace(each, name="", inputs=())) for each in (run, earlier))
    for name in (each for each in ours if ours[each] != theirs[each]):
        was, is_now = (_shown(each[name]) for each in (theirs, ours))
        problems.append(f"--results {directory}: {_WORDS[name]} was {was} when this run began and is {is_now} now")
    if not problems and digests.keys() != {each.path for each in run.inputs}:
        problems.append(f"--results {directory}: is of {', '.join(digests)}; name another directory for other files")
    if problems:
        raise InputError(*problems)


_WORDS: Final = {
    "begins": "the begin (--now)",
    "seconds": "the length in seconds (--for)",
    "until_stable": "--until stable",
    "policies": "--compare",
    "seeds": "the seeds (--seed, --seeds)",
    "objectives": "--objective",
    "trials": "--trials",
    "restow_version": "restow's version",
    "api_version": "apiVersion",
    "kind": "kind",
}


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if len(value) < 4 else f"{value[0]}, ..., {value[-1]}"
    return str(value)
