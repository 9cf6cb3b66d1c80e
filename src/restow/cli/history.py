"""``restow history``: what a descheduler did, and whether it helped."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.help_pages import PlainPages
from restow.cli.options import PATHS, TableOrJson
from restow.cli.terminal import write, write_json

_EXAMPLES = """Examples:
  restow history restow.db
  restow history restow.db --since 8h -n shop
  restow history restow.db --since 168h -o json | jq .workloads
"""
_SINCE = "How far back, such as 24h."
_IN = "Only moves of pods of this namespace."
_FILE = "The file that restow run --history writes."

app = App(name="history", help_epilogue=_EXAMPLES, help_formatter=PlainPages(), sort_key=6.5)


@app.default
def history(
    file: Annotated[str, PATHS, Parameter(help=_FILE)],
    /,
    *,
    since: Annotated[str, Parameter(metavar="DURATION", help=_SINCE)] = "24h",
    namespace: Annotated[str | None, Parameter(name=["-n", "--namespace"], metavar="NAME", help=_IN)] = None,
    output: TableOrJson = "table",
) -> None:
    """Show what restow run did, and whether it helped: moves, where they landed, balance.

    Reads the file of restow run --history, which may be in use. Cycles are those of the whole cluster, also with -n.
    """
    from restow.application.past import HistoryRequest, past

    found = past(HistoryRequest(file, since, namespace))
    if output == "json":
        write_json(found)
        return
    from restow.reporting.history_table import print_history
    from restow.reporting.terminal import shown

    write(shown(lambda console: print_history(found, console)))
