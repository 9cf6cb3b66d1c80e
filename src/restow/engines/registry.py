"""The engines that can be chosen by name: restow's own, and those of installed packages.

An engine is declared with the struct of its arguments, which the file of ``--engine-config`` decodes to, and the function that makes
pieces of work. That function imports what it needs beyond restow, so an engine that is not chosen costs nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from restow.documents.decoding import decode
from restow.documents.document import DocumentKind, further_documents, read_document, refusal, repeated_keys
from restow.engines.dask import DaskArgs, make_on_dask
from restow.engines.job_objects import KubernetesArgs
from restow.engines.local import LocalArgs, make_in_processes
from restow.engines.ray import RayArgs, make_on_ray
from restow.engines.work import EngineTask, Gathering, ResultJournal, ResultListener, Tick, Work
from restow.errors import InputError
from restow.installed_packages import Extensible, unusable
from restow.kube.excerpts import did_you_mean, excerpt

#: The group of entry points by which packages add engines.
ENTRY_POINTS: Final = "restow.engines"
_FILE: Final = DocumentKind("a configuration of an engine", "the fields of the engine, such as image:")


@dataclass(slots=True, frozen=True)
class Engine:
    """One engine.

    ``make`` is given its arguments, the pieces to make, and a listener for their results. It returns when all of them
    are finished. InputError is for what people can mend, ClientError for a service that does not answer.
    """

    name: str
    #: What the file of ``--engine-config`` decodes to; unknown fields in it are refused.
    args: type[Struct]
    make: Callable[[Any, EngineTask, ResultListener], None]


def _make_on_kubernetes(args: KubernetesArgs, task: EngineTask, listener: ResultListener) -> None:
    from restow.engines.kubernetes import make_on_kubernetes

    make_on_kubernetes(args, task, listener)


LOCAL: Final = Engine("local", LocalArgs, make_in_processes)
_OWN: Final = (
    LOCAL,
    Engine("kubernetes", KubernetesArgs, _make_on_kubernetes),
    Engine("dask", DaskArgs, make_on_dask),
    Engine("ray", RayArgs, make_on_ray),
)


def engines() -> Mapping[str, Engine]:
    """The engines by name; looking one up raises UnusablePackageError where its package is at fault."""
    return Extensible(ENTRY_POINTS, {each.name: each for each in _OWN}, "an engine of restow itself", _of_a_package)


def _of_a_package(name: str, offered: object) -> Engine:
    if not isinstance(offered, Engine):
        raise unusable(ENTRY_POINTS, name, "is no restow.plugins.Engine")
    if offered.name != name:
        raise unusable(
            ENTRY_POINTS, name, f'declares the engine "{offered.name}"; name the entry point like the engine'
        )
    return offered


@dataclass(slots=True, frozen=True)
class ChosenEngine:
    """An engine with its arguments."""

    engine: Engine
    args: Any
    #: How many pieces are made at a time at most; None: as many as the engine thinks fit.
    workers: int | None = None


def in_processes(workers: int | None) -> ChosenEngine:
    """Return the engine that needs nothing but this machine."""
    return ChosenEngine(LOCAL, LocalArgs(), workers)


def choose_engine(name: str, workers: int | None, config: bytes, filename: str) -> ChosenEngine:
    """Return an engine with what a file says about it; InputError where there is no such engine, or the file is of no use."""
    known = engines()
    if name not in known:
        hint = did_you_mean(name, known) or f"it is one of {', '.join(known)}"
        raise InputError(f"--engine {excerpt(name)}: there is no such engine; {hint}")
    if workers is not None and workers < 1:
        raise InputError("--workers must be 1 or more")
    engine = known[name]
    document = read_document(config, filename, _FILE)
    decoded = decode(document.data, engine.args, ())
    errors = (*repeated_keys(document), *further_documents(document), *decoded.strictly())
    if errors or decoded.value is None:
        raise refusal(document, errors)
    return ChosenEngine(engine, decoded.value, workers)


def new_name() -> str:
    """Return a name for a run that no other has."""
    return f"restow-{secrets.token_hex(4)}"


@dataclass(slots=True, frozen=True)
class Run:
    """How a run of pieces is known, and where its results are kept."""

    name: str
    journal: ResultJournal | None = None
    #: Whether it may have begun before.
    resumes: bool = False


@dataclass(slots=True, frozen=True)
class RunFeedback:
    """Receives the progress of a run."""

    #: Gets how much of all pieces is done.
    tick: Tick = lambda _: None
    #: How much a piece is.
    size: int = 1
    #: Gets sentences for people.
    say: Callable[[str], None] = lambda _: None


def make_all(
    work: Work, chosen: ChosenEngine, feedback: RunFeedback, result: Any = Any, run: Run | None = None
) -> list[Any]:
    """Return the results of all pieces, in order, each of the type ``result``; those that are kept are not made again.

    Raises the first error of a piece, and what ``Engine`` says.
    """
    run = run or Run(new_name())
    gathering = Gathering(
        feedback.tick, feedback.say, run.journal, feedback.size, dict(run.journal.found) if run.journal else {}
    )
    missing = [number for number in range(len(work)) if number not in gathering.found]
    if missing:
        task = EngineTask(work, missing, result, run.name, chosen.workers, run.resumes, run.journal is not None)
        chosen.engine.make(chosen.args, task, gathering)
    return [gathering.found[number] for number in range(len(work))]
