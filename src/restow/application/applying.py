"""A plan, carried out on the live cluster: read, decide again, show, ask, evict, report."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlsplit

from restow.application.feedback import Feedback
from restow.application.named_files import NamedFile
from restow.application.saved_plans import check_agreement, read_order
from restow.client.connection import connect
from restow.client.leadership import Permit, always
from restow.client.leases import LeaseLock
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterSnapshot
from restow.daemon.electing import holder_of, lease_lock, under_lease
from restow.daemon.logs import Log
from restow.daemon.settings import NAMESPACE
from restow.descheduler.applying import Application, Order, Promise
from restow.descheduler.descheduler import first_lists, kinds_of
from restow.descheduler.fences import fencing_by, unfencing
from restow.descheduler.offering import UNSTEERED, Choice, Offer
from restow.descheduler.steering import releasing, steering
from restow.descheduler.version_skew import check_version
from restow.descheduling.plan_cluster import foreign_cluster
from restow.descheduling.weaker_protections import weaker_protections
from restow.errors import ClientError, InputError
from restow.executing.outcomes import Outcome
from restow.executing.releasing import unthrottled
from restow.executing.surroundings import ApiEvictions
from restow.kube.duration import SECOND
from restow.kube.timestamps import parse_time
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.usage import QueriedUsage
from restow.policies.codes import OutcomeCode
from restow.reporting.apply_result import ApplyResult, apply_result
from restow.serving.metrics import Metrics
from restow.sources.reading import STDIN

#: The lease that ``restow run`` holds where it evicts.
LEASE: Final = f"{NAMESPACE}/descheduler"
_NO_LEASE = "without the lease of restow run it may disturb another restow (--no-lease)"


@dataclass(slots=True, frozen=True)
class ApplyRequest:
    """Which plan to carry out and where, as a user writes it."""

    plan: NamedFile
    dry_run: bool = False
    #: NAMESPACE/NAME; None: none is taken.
    lease: str | None = LEASE
    kubeconfig: str | None = None
    context: str | None = None
    #: A file whose policy the plan's has to be.
    policy: str | None = None
    #: Of the plan's file; None: any.
    digest: str | None = None

    def __post_init__(self) -> None:
        """InputError for a lease that is no NAMESPACE/NAME."""
        self.lease_place()

    def lease_place(self) -> tuple[str, str]:
        """Namespace and name of the lease; the namespace is needed without a lease, too."""
        if self.lease is None:
            return NAMESPACE, ""
        namespace, _, name = self.lease.partition("/")
        if not namespace or not name or "/" in name:
            raise InputError(f"--lease: must be NAMESPACE/NAME such as {LEASE}, not {self.lease}")
        return namespace, name


class Audience(Feedback, Protocol):
    """The user's side of an apply: sees the plan, agrees to it, and watches it."""

    def show(self, promise: Promise, plan: str, age: int, server: str) -> None:
        """Show what of a plan holds: ``age`` is in seconds, ``server`` the host and port of the API server."""
        ...

    async def agrees(self, moves: int) -> bool:
        """Whether the user agrees to this number of moves."""
        ...

    def watching(self, application: Application, log: Log) -> AbstractContextManager[Callable[[Outcome], None]]:
        """Take what happens while the moves are carried out; the application can be ended early."""
        ...


@dataclass(slots=True, frozen=True)
class ApplyOutcome:
    """The outcome of an applied plan."""

    result: ApplyResult
    #: Whether all that was promised was done.
    is_kept: bool


def order_of(request: ApplyRequest) -> Order:
    """Read the plan that is named; InputError where it cannot be used, or is not the one that was meant."""
    if request.policy == STDIN == request.plan:
        raise InputError("standard input (-) can be read only once; put the plan or the policy into a file")
    order = read_order(request.plan, request.digest)
    if request.policy is not None:
        check_agreement(order, request.policy)
    return order


async def apply(request: ApplyRequest, order: Order, audience: Audience) -> ApplyOutcome:
    """Carry a plan out; InputError for a plan of another cluster, ClientError where nothing was begun."""
    return await ApplySession(request, order, audience, *request.lease_place()).run()


@dataclass(slots=True, frozen=True)
class _Sentences:
    """Where the log goes: it is a few sentences for people."""

    feedback: Feedback

    def write(self, text: str, /) -> None:
        self.feedback.warn([text.rstrip("\n")])

    def flush(self) -> None:
        """Nothing is kept."""


@dataclass(slots=True)
class ApplySession:
    """One plan, applied to one cluster."""

    request: ApplyRequest
    order: Order
    audience: Audience
    namespace: str
    lease: str

    async def run(self) -> ApplyOutcome:
        """Apply the plan."""
        # Only warnings and errors.
        log = Log(_Sentences(self.audience), "sentences", verbosity=-1)
        asked = (self.request.kubeconfig, self.request.context)
        async with connect(*asked) as watching, connect(*asked) as api:
            api.server_time = watching.server_time
            self.audience.warn(api.endpoint.warnings)
            # Fails at once if the API server does not answer; the lists would wait for it.
            minor = await check_version(watching, log)
            async with live_cluster(watching, kinds_of(self.order.policy), warn=log.warning) as live:
                live.server_minor = minor
                with self.audience.working("reading the live cluster"):
                    await first_lists(live)
                self.check_cluster(live.snapshot(), _host(api))
                return await self._apply(self._application(live, api, log), api, log)

    def check_cluster(self, cluster: ClusterSnapshot, api_server: str) -> None:
        """Raise InputError where the plan is of another cluster than this one."""
        foreign = foreign_cluster(self.order.plan.metadata, self.order.moves, cluster, api_server)
        if foreign is not None:
            raise InputError(f"{self.order.name}: {foreign}")

    async def _apply(self, application: Application, api: Api, log: Log) -> ApplyOutcome:
        lock = lease_lock(api, self.namespace, self.lease)
        if self.request.lease is not None and not self.request.dry_run:
            await self._check_free(lock, api)
        with self.audience.working("deciding about the plan again"):
            promise = await application.promise()
        self._show(promise, api)
        promised = len(application.ledger.open)
        began = time.monotonic()
        if promised and not self.request.dry_run:
            if await self.audience.agrees(promised):
                await self._carry_out(application, lock, log)
            else:
                application.ledger.close(OutcomeCode.DECLINED, "nobody agreed to it")
        return self._applied(application, time.monotonic() - began)

    async def _check_free(self, lock: LeaseLock, api: Api) -> None:
        held = await holder_of(lock, api.server_time.now())
        if held is not None:
            raise ClientError(f"{held}; stop it first, or use --no-lease, with which nothing is steered")

    async def _carry_out(self, application: Application, lock: LeaseLock, log: Log) -> None:
        """Evict under the lease; the ledger records each outcome."""
        with self.audience.watching(application, log) as show:

            async def work(permit: Permit) -> None:
                await application.carry_out(permit, show)

            try:
                if self.request.lease is None:
                    await work(always)
                else:
                    await under_lease(lock, work, application.interrupted, log.warning)
            except ClientError as error:
                self.audience.warn([f"restow failed: {error}"])
        application.ledger.close(OutcomeCode.STOPPED, "it was not begun")

    def _application(self, live: LiveCluster, api: Api, log: Log) -> Application:
        grace = self.order.policy.grace_period_seconds

        async def not_offered() -> str | None:
            if self.request.lease is None:
                return _NO_LEASE
            found = await Offer(unthrottled(api), self.namespace, log).choice(self.order.steering)
            return found if isinstance(found, str) else None

        return Application(
            order=self.order,
            live=live,
            evictions=lambda permit: ApiEvictions(api, permit, grace),
            not_offered=not_offered,
            steering=lambda permit: self.steering(permit, live, api, log),
            clock=api.server_time.now,
            usage=QueriedUsage(api, os.environ).results,
        )

    @asynccontextmanager
    async def steering(self, permit: Permit, live: LiveCluster, api: Api, log: Log) -> AsyncIterator[Choice]:
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
                        log.warning(f"replacements are not steered: {choice}")
                    yield UNSTEERED if isinstance(choice, str) else choice

    def _show(self, promise: Promise, api: Api) -> None:
        generated = parse_time(self.order.plan.metadata.generated_at) // SECOND
        age = int(api.server_time.now()) - generated
        self.audience.show(promise, self.order.name, age, _host(api))
        if promise.plan.moves:
            weaker = weaker_protections(self.order.policy)
            self.audience.warn(f"the plan's policy protects less than the default: {each}" for each in weaker)

    def _applied(self, application: Application, seconds: float) -> ApplyOutcome:
        result = apply_result(
            application.ledger.entries,
            plan=self.order.name,
            plan_generated_at=self.order.plan.metadata.generated_at,
            dry_run=self.request.dry_run,
            interrupted=application.interrupted.is_set(),
            seconds=seconds,
        )
        return ApplyOutcome(result, self.request.dry_run or application.ledger.kept)


def _host(api: Api) -> str:
    """Host and port of the API server."""
    return urlsplit(api.endpoint.server).netloc
