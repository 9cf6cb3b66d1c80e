"""``restow serve``: a live page of a cluster, its next plan, what if, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter, validators

from restow import garbage
from restow.cli.help_pages import PlainPages
from restow.cli.options import (
    PATHS,
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    PolicyConfigFile,
    SchedulerConfig,
    SchedulerVersion,
)
from restow.cli.terminal import DONE, Terminal
from restow.policies.codes import Placement, SteeringMode

if TYPE_CHECKING:
    from restow.web.server import SiteSettings

_EXAMPLES = """Examples:
  restow serve
  restow serve -f cluster.json --policy-config-file policy.yaml
  restow serve --context staging --history restow.db --port 9000
"""
_ADDRESS: Final = "Address of this machine to listen on: 127.0.0.1 or ::1."
_PORT: Final = "Port to listen on; 0 is any free one."
_EVERY: Final = "Seconds from one look at the live cluster to the next."
_PLAN_EVERY: Final = "Seconds from one plan to the next, where the cluster has changed."
_HISTORY: Final = "The file that restow run --history writes, to show what was done."
_PLACEMENT: Final = "prove or upstream; as in restow plan."
_STEERING: Final = "none, nominate or fence; as in restow plan."

app = App(name="serve", help_epilogue=_EXAMPLES, help_formatter=PlainPages(), sort_key=7.5)
_Seconds = validators.Number(gte=1)


@app.default
def serve(
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    placement: Annotated[Placement | None, Parameter(metavar="MODE", help=_PLACEMENT)] = None,
    steering: Annotated[SteeringMode | None, Parameter(metavar="MODE", help=_STEERING)] = None,
    scheduler_config: SchedulerConfig = None,
    scheduler_version: SchedulerVersion = None,
    history: Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_HISTORY)] = None,
    bind_address: Annotated[str, Parameter(metavar="ADDRESS", help=_ADDRESS)] = "127.0.0.1",
    port: Annotated[int, Parameter(metavar="PORT", help=_PORT, validator=validators.Number(gte=0, lte=65535))] = 8080,
    every: Annotated[float, Parameter(metavar="SECONDS", help=_EVERY, validator=_Seconds)] = 5.0,
    plan_every: Annotated[float, Parameter(metavar="SECONDS", help=_PLAN_EVERY, validator=_Seconds)] = 30.0,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
) -> int:
    """Serve a page that shows the cluster, and the plan of the next cycle, as they change.

    Reads the cluster, and changes nothing in it. The page also plans what would follow if nodes were gone, cordoned or
    more, or the policy another one, and shows where moves of the past were to land and where they did.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.planning import PlanRequest
    from restow.web.server import SiteSettings

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version)
    request = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now)
    return _run(SiteSettings(request, bind_address, port, every, plan_every, history))


def _run(settings: SiteSettings) -> int:
    import asyncio
    import signal

    from restow.web.server import serve as serve_pages

    garbage.collect()
    terminal = Terminal()

    async def run() -> None:
        stopping = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stopping.set)
        await serve_pages(settings, stopping, lambda sentence: terminal.warn([sentence]))

    asyncio.run(run())
    return DONE
