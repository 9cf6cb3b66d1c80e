"""Writing a plan to stdout in the form that was asked for; each renderer is imported only for its own form."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from restow.cli.options import Output
from restow.descheduling.plan import Plan
from restow.reporting.report import Report

if TYPE_CHECKING:
    from rich.console import Console


def write_plan(output: Output, plan: Plan, report: Callable[[], Report]) -> None:
    """Write the plan; ``report`` makes the context that only the forms for people need."""
    match output:
        case "json":
            from restow.reporting.json import render_json

            write_pieces(render_json(plan))
        case "yaml":
            from restow.reporting.yaml import render_yaml

            write_bytes(render_yaml(plan).encode())
        case "html":
            from restow.reporting.html.page import render_html

            write_bytes(render_html(report()).encode())
        case "wide":
            from restow.reporting.wide import print_wide

            print_wide(report(), console())
        case "table":
            from restow.reporting.table import print_table

            print_table(report(), console())


def write_bytes(document: bytes) -> None:
    """Write a document that is UTF-8 whatever the terminal's encoding is."""
    write_pieces([document])


def write_pieces(document: Iterable[bytes]) -> None:
    """Write a document that comes in pieces."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(document)
    sys.stdout.buffer.flush()


def console(*, stderr: bool = False) -> Console:
    """A console on stdout, or stderr, that leaves long lines to the terminal."""
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False, stderr=stderr)
