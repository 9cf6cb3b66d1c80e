"""The exception that people see as a sentence, the one that leaves an object out, and how many problems people see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

#: How many problems of one input are printed.
MOST_PROBLEMS: Final = 50

_Problem = TypeVar("_Problem")


class InputError(Exception):
    """Unusable arguments, policy or input: each sentence names file, object and field. The CLI prints them and exits with 2."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*sentences)
        #: One per line. Line feeds within a sentence come from the input.
        self.sentences = sentences

    def __str__(self) -> str:
        return "\n".join(problem_lines(self.sentences))


class ClientError(Exception):
    """An API server, Prometheus or another service does not answer, or refuses; one sentence for people. See ``client.errors``."""


class OutOfRangeError(Exception):
    """A value that the API server accepts and int64 does not hold: the object that has it is left out, and nothing else."""


def first_problems(problems: Sequence[_Problem]) -> tuple[Sequence[_Problem], list[str]]:
    """Return the problems that are printed, and the line that counts the others, if there are any."""
    more = len(problems) - MOST_PROBLEMS
    return problems[:MOST_PROBLEMS], [f"... and {more:,} more problem{'s' if more > 1 else ''}"] if more > 0 else []


def problem_lines(problems: Sequence[object]) -> list[str]:
    """Return one line for each problem that is printed, and the line that counts the others."""
    printed, more = first_problems(problems)
    return [*map(str, printed), *more]
