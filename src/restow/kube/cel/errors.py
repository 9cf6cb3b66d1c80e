"""What may go wrong with an expression."""

from __future__ import annotations


class UnsupportedError(Exception):
    """The expression does not parse, or uses what is not modelled here."""


class EvaluationError(Exception):
    """The expression has no value for these variables, in cel-go's words."""
