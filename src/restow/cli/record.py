"""``restow record``: what happens in a cluster, in files that restow simulate replays."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import Annotated, BinaryIO, Final

from cyclopts import App, Group, Parameter

from restow.cli.go_flags import duration
from restow.cli.options import (
    PATHS,
    PROMETHEUS_AUTHORITIES,
    PROMETHEUS_TOKEN,
    PROMETHEUS_URL,
    Context,
    Kubeconfig,
    time_span,
)
from restow.cli.terminal import DONE, Terminal, write
from restow.errors import InputError
from restow.kube.duration import HOUR, MINUTE, SECOND

_EXAMPLES: Final = """Examples:
  restow record -o recording
  restow record --context production -o /var/lib/restow/production \\
    --keep 720h --max-size 10240
  restow simulate -f recording
  restow simulate -f recording --from 2026-11-21T09:00:00Z \\
    --to 2026-11-21T10:00:00Z --policy-config-file policy.yaml
"""

_ARRIVALS: Final = """Examples:
  restow record arrivals --prometheus-url http://prometheus:9090 -o arrivals.csv
  restow record arrivals --prometheus-url http://prometheus:9090 \\
    --since 168h --match 'cluster="prod-1"' -o arrivals.csv

In a scenario: arrivals: [{trace: arrivals.csv}]
"""

app = App(name="record", usage="restow record -o DIRECTORY [OPTIONS]", help_epilogue=_EXAMPLES, sort_key=10)

_KEEP = "How long the past is kept; older files are deleted."
_SIZE = "How many MiB all files may take; the oldest are deleted."
_USAGE = "How often to record what pods and nodes use; 0 for never."

_SINCE = "How far back."
_MATCH = "Further labels of the metrics, such as 'cluster=\"prod-1\"', where Prometheus has several clusters."
_HEADER = "A header for Prometheus, such as 'X-Scope-OrgID: team-a'. Repeatable."
_FILE = "File for the trace. Default: standard output."

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
_Url = Annotated[str | None, Parameter(metavar="URL", help=PROMETHEUS_URL)]
_Token = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=PROMETHEUS_TOKEN)]
_Authorities = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=PROMETHEUS_AUTHORITIES)]
_Headers = Annotated[
    list[str] | None, Parameter(name="--prometheus-header", metavar="HEADER", help=_HEADER, negative=())
]
_Since = Annotated[int, time_span(_GROUP, _SINCE, duration)]
_Match = Annotated[str, Parameter(metavar="LABELS", help=_MATCH, show_default=False)]
_File = Annotated[str | None, PATHS, Parameter(name=["-o", "--output"], metavar="FILE", help=_FILE)]


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


def _put(text: str, stream: BinaryIO) -> None:
    stream.write(text.encode())


@app.command(usage="restow record arrivals --prometheus-url URL [OPTIONS]", help_epilogue=_ARRIVALS, sort_key=1)
def arrivals(
    *,
    prometheus_url: _Url = None,
    prometheus_token_file: _Token = None,
    prometheus_ca_file: _Authorities = None,
    prometheus_header: _Headers = None,
    since: _Since = 24 * HOUR,
    match: _Match = "",
    output: _File = None,
) -> int:
    """Ask Prometheus which pods have come and gone, as a trace for a scenario.

    By the metrics of kube-state-metrics. Pods of Deployments, StatefulSets and DaemonSets are left out, because their
    controllers make them in a simulation, too. Left are pods that run for a while, such as those of Jobs.
    """
    import os

    from restow.application.arrivals import ArrivalsRequest, recorded_arrivals
    from restow.application.files import check_target, write_file
    from restow.client.prometheus import prometheus_endpoint

    if prometheus_url is None:
        raise InputError("--prometheus-url is missing: where to ask, such as http://prometheus:9090")
    if output is not None:
        check_target(output)
    headers = tuple(prometheus_header or ())
    endpoint = prometheus_endpoint(
        prometheus_url, prometheus_token_file, prometheus_ca_file, os.environ, headers=headers
    )
    terminal = Terminal()
    found = recorded_arrivals(ArrivalsRequest(endpoint, since // SECOND, match), terminal)
    if output is None:
        write(found.text)
    else:
        write_file(output, partial(_put, found.text))
    terminal.warn([found.sentence])
    return DONE
