"""``restow record``: what happens in a cluster, in files that restow simulate replays."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated, Final

from cyclopts import App, Group, Parameter

from restow.cli.go_flags import duration
from restow.cli.options import PATHS, Context, Kubeconfig, time_span
from restow.cli.terminal import DONE, Terminal
from restow.errors import InputError
from restow.kube.duration import HOUR, MINUTE

_EXAMPLES: Final = """Examples:
  restow record -o recording
  restow record --context production -o /var/lib/restow/production \\
    --keep 720h --max-size 10240
  restow simulate -f recording
  restow simulate -f recording --from 2026-11-21T09:00:00Z \\
    --to 2026-11-21T10:00:00Z --policy-config-file policy.yaml
"""

app = App(name="record", usage="restow record -o DIRECTORY [OPTIONS]", help_epilogue=_EXAMPLES, sort_key=10)

_KEEP = "How long the past is kept; older files are deleted."
_SIZE = "How many MiB all files may take; the oldest are deleted."
_USAGE = "How often to record what pods and nodes use; 0 for never."

_GROUP = Group.create_default_parameters()
_Output = Annotated[
    str | None,
    PATHS,
    Parameter(
        name=["-o", "--output"], metavar="DIRECTORY", help="Directory for the files. One that has some is continued."
    ),
]
_Keep = Annotated[int, time_span(_GROUP, _KEEP, duration)]
_Size = Annotated[int, Parameter(metavar="MIB", help=_SIZE)]
_Usage = Annotated[int, time_span(_GROUP, _USAGE, duration)]


@app.default
def record(
    *,
    output: _Output = None,
    keep: _Keep = 7 * 24 * HOUR,
    max_size: _Size = 1024,
    usage_interval: _Usage = 5 * MINUTE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> int:
    """Record what happens in a cluster until Ctrl-C, for restow simulate to replay.

    Changes nothing in the cluster. Only what decisions and controllers read is recorded: no environment variables,
    commands, Secrets or ConfigMaps. Files are compressed; each begins with the whole cluster, a new one every hour.
    """
    from restow.application.recording import MIB, RecordRequest
    from restow.application.recording import record as run

    if output is None:
        raise InputError("-o is missing: name a directory for the recording")
    request = RecordRequest(output, kubeconfig, context, keep, max_size * MIB, usage_interval)
    terminal = Terminal()

    async def until_stopped() -> None:
        stopping = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stopping.set)
        await run(request, stopping, lambda sentence: terminal.warn([sentence]))

    asyncio.run(until_stopped())
    return DONE
