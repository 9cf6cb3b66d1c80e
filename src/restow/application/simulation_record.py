"""What a simulation was made of, so that it can be made again: the files that it read, with their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from restow.errors import InputError
from restow.reporting.simulation_document import InputFile, SimulationInputs
from restow.simulating.scenarios.folder import Folder
from restow.sources.reading import STDIN, input_files


def recorded_inputs(paths: Sequence[str], policy: str | None, folder: Folder) -> SimulationInputs:
    """Return what a run that has begun was made of: what ``-f`` names, the policy's file, what the scenario names."""
    named = [*paths, *([] if policy is None else [policy]), *folder.read]
    return SimulationInputs(tuple(paths), policy, tuple(_files(named)))


def _files(paths: Iterable[str]) -> Iterator[InputFile]:
    for path in dict.fromkeys(name for each in paths for name in input_files([each])):
        yield InputFile(path, _digest(path))


def _digest(path: str) -> str:
    """The digest of a file; nothing of what can be read only once."""
    if path == STDIN or not Path(path).is_file():
        return ""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_unchanged(inputs: SimulationInputs, name: str) -> None:
    """Raise InputError with everything that is not as it was when the result of that name was made."""
    problems = [each for file in inputs.files for each in _problem(file, name)]
    if problems:
        raise InputError(*problems)


def _problem(file: InputFile, name: str) -> Iterator[str]:
    if not file.sha256:
        what = "standard input" if file.path == STDIN else file.path
        yield f"{name} was made from {what}, which cannot be read again; simulate from files to replay a run"
    elif not Path(file.path).is_file():
        yield f"{name} was made from {file.path}, which is not there; replay it in the folder in which it was simulated"
    elif _digest(file.path) != file.sha256:
        yield f"{file.path} has changed since {name} was made; simulate again, or bring the old file back"
