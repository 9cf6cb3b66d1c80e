"""The one exception that people see as a sentence."""

from __future__ import annotations


class InputError(Exception):
    """Unusable arguments, policy or input: the message names file, object and field. The CLI prints it and exits with 2."""
