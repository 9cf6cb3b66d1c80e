"""From the arguments of ``restow apply`` to its exit status: read, decide again, show, ask, carry out, report."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from restow.application.saved_plans import check_agreement, read_order
from restow.cli.apply_progress import applying
from restow.cli.feedback import working
from restow.cli.options import STDIN
from restow.cli.output import write_bytes
from restow.cli.streams import warn
from restow.client.connection import connect
from restow.client.errors import ClientError
from restow.client.leadership import Permit, always
from restow.client.leases import LeaseLock
from restow.client.transport import Api
from restow.descheduling.plan_cluster import foreign_cluster
from restow.descheduling.weaker_protections import weaker_protections
from restow.errors import InputError
from restow.executing.releasing import hurried
from restow.executing.surroundings import ApiEvictions
from restow.kube.duration import SECOND
from restow.kube.timestamps import parse_time
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.usage import QueriedUsage
from restow.policies.codes import OutcomeCode
from restow.reporting.apply_table import apply_result, print_promise, print_result
from restow.reporting.json import indented_json
from restow.reporting.terminal import console
from restow.reporting.wording import counted
from restow.running.applying import Application, Order, Promise
from restow.running.background import end_at_last
from restow.running.descheduler import first_lists, kinds_of
from restow.running.electing import holder_of, lease_lock, under_lease
from restow.running.fences import fencing_by, unfencing
from restow.running.logs import Log
from restow.running.offering import UNSTEERED, Choice, Offer
from restow.running.settings import NAMESPACE
from restow.running.steering import releasing, steering
from restow.running.version_skew import check_version
from restow.serving.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rich.console import Console

    from restow.cluster.snapshot import Cluster

_DONE, _FAILED, _INTERRUPTED = 0, 1, 130
_NO_LEASE = "without the lease of restow run it may disturb another restow (--no-lease)"


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    plan: str
    yes: bool
    dry_run: bool
    output: Literal["table", "json"]
    #: NAMESPACE/NAME; None: none is taken.
    lease: str | None
    kubeconfig: str | None
    context: str | None
    #: A file whose policy the plan's has to be.
    policy: str | None = None
    #: Of the plan's file; None: any.
    digest: str | None = None


def apply_plan(request: Request) -> int:
    """Do it and tell; returns the exit status. InputError for what cannot be used, ClientError where nothing was begun."""
    namespace, name = _lease_of(request)
    if not (request.yes or request.dry_run) and not _asks(request):
        raise InputError("there is no terminal to ask at: add --yes to carry the plan out, or --dry-run to look at it")
    if request.policy == STDIN == request.plan:
        raise InputError("standard input (-) can be read only once; put the plan or the policy into a file")
    order = read_order(request.plan, request.digest)
    if request.policy is not None:
        check_agreement(order, request.policy)
    # Unlike the commands that only read, this one lasts as long as pods take to start.
    gc.enable()
    return asyncio.run(_Session(request, order, namespace, name).run())


def _lease_of(request: Request) -> tuple[str, str]:
    """Namespace and name; the namespace is needed without a lease, too."""
    if request.lease is None:
        return NAMESPACE, ""
    namespace, _, name = request.lease.partition("/")
    if not namespace or not name or "/" in name:
        raise InputError(f"--lease: must be NAMESPACE/NAME such as {NAMESPACE}/descheduler, not {request.lease}")
    return namespace, name


def _asks(request: Request) -> bool:
    """Whether somebody can be asked; the plan may come from where answers would."""
    return STDIN not in (request.plan, request.policy) and sys.stdin.isatty() and sys.stderr.isatty()


class _Sentences:
    """Where the log goes: it is a few sentences for people."""

    def write(self, text: str, /) -> None:
        warn([text.rstrip("\n")])

    def flush(self) -> None:
        sys.stderr.flush()


@dataclass(slots=True)
class _Session:
    """One plan, applied to one cluster."""

    request: Request
    order: Order
    namespace: str
    lease: str

    async def run(self) -> int:
        # Only what somebody should look at.
        log = Log(_Sentences(), "sentences", verbosity=-1)
        asked = (self.request.kubeconfig, self.request.context)
        async with connect(*asked) as watching, connect(*asked) as api:
            api.server_time = watching.server_time
            warn(api.endpoint.warnings)
            # The lists would be waited for; here it shows at once whether there is anybody.
            minor = await check_version(watching, log)
            async with live_cluster(watching, kinds_of(self.order.policy), warn=log.caution) as live:
                live.server_minor = minor
                with working("reading the live cluster"):
                    await first_lists(live)
                self._check_cluster(live.snapshot(), _host(api))
                return await self._apply(self._application(live, api, log), api, log)

    def _check_cluster(self, cluster: Cluster, api_server: str) -> None:
        """Raise InputError where the plan is of another cluster than this one."""
        foreign = foreign_cluster(self.order.plan.metadata, self.order.moves, cluster, api_server)
        if foreign is not None:
            raise InputError(f"{self.order.name}: {foreign}")

    async def _apply(self, application: Application, api: Api, log: Log) -> int:
        lock = lease_lock(api, self.namespace, self.lease)
        if self.request.lease is not None and not self.request.dry_run:
            await self._check_free(lock, api)
        with working("deciding about the plan again"):
            promise = await application.promise()
        self._show(promise, api)
        promised = len(application.ledger.open)
        began = time.monotonic()
        if promised and not self.request.dry_run:
            if self.request.yes or await asyncio.to_thread(_agrees, promised):
                await self._carry_out(application, lock, log)
            else:
                application.ledger.close(OutcomeCode.DECLINED, "nobody agreed to it")
        self._report(application, time.monotonic() - began)
        return self._status(application)

    async def _check_free(self, lock: LeaseLock, api: Api) -> None:
        held = await holder_of(lock, api.server_time.now())
        if held is not None:
            raise ClientError(f"{held}; stop it first, or use --no-lease, with which nothing is steered")

    async def _carry_out(self, application: Application, lock: LeaseLock, log: Log) -> None:
        """Whatever happens is in the ledger afterwards."""
        _end_early_on_signals(application, log)
        with applying(len(application.ledger.open)) as show:

            async def work(permit: Permit) -> None:
                await application.carry_out(permit, show)

            try:
                if self.request.lease is None:
                    await work(always)
                else:
                    await under_lease(lock, work, application.interrupted, log.caution)
            except ClientError as error:
                warn([f"restow failed: {error}"])
        application.ledger.close(OutcomeCode.STOPPED, "it was not begun")

    def _application(self, live: LiveCluster, api: Api, log: Log) -> Application:
        grace = self.order.policy.grace_period_seconds

        async def not_offered() -> str | None:
            if self.request.lease is None:
                return _NO_LEASE
            found = await Offer(hurried(api), self.namespace, log).choice(self.order.steering)
            return found if isinstance(found, str) else None

        return Application(
            order=self.order,
            live=live,
            evictions=lambda permit: ApiEvictions(api, permit, grace),
            not_offered=not_offered,
            steering=lambda permit: self._steering(permit, live, api, log),
            clock=api.server_time.now,
            usage=QueriedUsage(api, os.environ).results,
        )

    @asynccontextmanager
    async def _steering(self, permit: Permit, live: LiveCluster, api: Api, log: Log) -> AsyncIterator[Choice]:
        """What steers as the plan wants it; no gate, no entry and no fence is left behind after it."""
        namespace, metrics = self.namespace, Metrics().steering
        async with (
            releasing(api, live, log, metrics) as gates,
            unfencing(api, namespace, live, log, metrics) as fences,
        ):
            with fencing_by(fences, namespace, permit) as fencing:
                async with steering(api, namespace, permit, gates, log, fencing=fencing) as offer:
                    choice = await offer.choice(self.order.steering)
                    if isinstance(choice, str):
                        log.caution(f"replacements are not steered: {choice}")
                    yield UNSTEERED if isinstance(choice, str) else choice

    def _page(self) -> Console:
        """Where people read: beside a document for programs that is stderr."""
        return console() if self.request.output == "table" else console(stderr=True)

    def _show(self, promise: Promise, api: Api) -> None:
        generated = parse_time(self.order.plan.metadata.generated_at) // SECOND
        age = int(api.server_time.now()) - generated
        print_promise(promise, self.order.name, age, _host(api), self._page())
        if promise.plan.moves:
            warn(
                [
                    f"the plan's policy protects less than the default: {each}"
                    for each in weaker_protections(self.order.policy)
                ]
            )

    def _report(self, application: Application, seconds: float) -> None:
        result = apply_result(
            application.ledger.entries,
            plan=self.order.name,
            plan_generated_at=self.order.plan.metadata.generated_at,
            dry_run=self.request.dry_run,
            interrupted=application.interrupted.is_set(),
            seconds=seconds,
        )
        if self.request.output == "json":
            write_bytes(indented_json(result) + b"\n")
        elif not self.request.dry_run and result.summary.refused < result.summary.moves:
            print_result(result, self._page())

    def _status(self, application: Application) -> int:
        if application.interrupted.is_set():
            return _INTERRUPTED
        return _DONE if self.request.dry_run or application.ledger.kept else _FAILED


def _host(api: Api) -> str:
    """Host and port of the API server."""
    return urlsplit(api.endpoint.server).netloc


def _agrees(moves: int) -> bool:
    """Ask at the terminal; no answer is a no."""
    sys.stderr.write(f"\nCarry out {counted(moves, 'move')}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _end_early_on_signals(application: Application, log: Log) -> None:
    def stop() -> None:
        application.stop()
        end_at_last(log)

    def interrupt() -> None:
        if application.interrupted.is_set():
            stop()
            return
        warn(["no more evictions are begun; waiting for the replacements on their way, until Ctrl-C is pressed again"])
        application.interrupt()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, stop)
