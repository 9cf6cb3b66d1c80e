"""The exception that people see as a sentence, and the one that leaves an object out."""

from __future__ import annotations


class InputError(Exception):
    """Unusable arguments, policy or input: each sentence names file, object and field. The CLI prints them and exits with 2."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*sentences)
        #: One a line. Line feeds within a sentence are somebody's input.
        self.sentences = sentences

    def __str__(self) -> str:
        return "\n".join(self.sentences)


class OutOfRangeError(Exception):
    """A value that the API server accepts and int64 does not hold: the object that has it is left out, and nothing else."""
