"""``restow apply``: a plan that was written, carried out on the live cluster: read, decide again, show, ask, evict, report.

The plan brings the policy and the schedulers that it was made by. The user's side is an `Audience`.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from restow.application import LEASE
from restow.application.feedback import Feedback
from restow.application.files import NamedFile, NamedText, file_name
from restow.application.policies import read_policy_file
from restow.client.connection import connect
from restow.client.leader_election import LeaseLock
from restow.client.transport import Api, Permit, always
from restow.cluster.snapshot import ClusterSnapshot
from restow.daemon.connecting import NAMESPACE
from restow.daemon.electing import holder_of, lease_lock, under_lease
from restow.daemon.logs import Log
from restow.descheduler.applying import Application, Order, Promise
from restow.descheduler.descheduler import check_version, first_lists, kinds_of
from restow.descheduler.offering import UNSTEERED, Choice, Offer
from restow.descheduler.steering import fencing_by, releasing, steering, unfencing
from restow.descheduling.plan_reading import read_plan
from restow.descheduling.policy_remarks import weaker_protections
from restow.descheduling.registry import plugins
from restow.documents.findings import Path as FieldPath
from restow.documents.findings import path_text
from restow.errors import ClientError, InputError
from restow.executing.replacing import ways_through
from restow.executing.steering import unthrottled
from restow.executing.surroundings import ApiEvictions
from restow.executing.task import Outcome
from restow.kube.duration import SECOND
from restow.kube.excerpts import excerpt
from restow.kube.timestamps import parse_time
from restow.live.cluster import LiveCluster, live_cluster
from restow.live.usage import QueriedUsage
from restow.policies.codes import OutcomeCode
from restow.policies.fallbacks import Fallbacks
from restow.policies.load import load_policy
from restow.policies.understood import decided_document
from restow.proving.planning import foreign_cluster
from restow.proving.replaying import check_plugins_enabled
from restow.reporting.apply_result import ApplyResult, apply_result
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.serving.metrics import Metrics
from restow.sources.reading import STDIN
from restow.usage.sources import usage_schemas

_DIGEST: Final = re.compile(r"sha256:[0-9a-fA-F]{64}")


def read_order(path: NamedFile, digest: str | None = None) -> Order:
    """The plan at a path; InputError where it cannot be read, or is no plan that this restow can carry out.

    A file with another digest than the one that is given (``sha256:`` and 64 hexadecimal digits) is refused unread.
    """
    name = file_name(path)
    content = _content(path)
    if digest is not None:
        _check_digest(content, name, digest)
    plan = read_plan(content, name)
    policy = load_policy(msgspec.json.encode(plan.policy), f"{name}: policy", plugins(), usage_schemas()).policy
    check_plugins_enabled(plan.moves, policy, name)
    return Order(name, plan, policy, _profiles(plan.scheduler_configuration, name))


def check_agreement(order: Order, path: str) -> None:
    """Raise InputError that names the first field in which the plan's policy differs from that of a file.

    ``restow.placement`` and ``restow.steering`` are not compared: in a plan they are those of its options.
    """
    settings = order.policy.restow
    file = read_policy_file(path, Fallbacks())
    given = decided_document(file.loaded.policy, placement=order.placement, steering=settings.steering)
    planned = decided_document(order.policy, placement=order.placement, steering=settings.steering)
    difference = _first_difference(planned, given, ())
    if difference is not None:
        where, in_plan, in_file = difference
        raise InputError(
            f"{order.name}: policy: {path_text(where)} is {_shown(in_plan)} in the plan and {_shown(in_file)} in {file.name}: "
            "the plan was made with another policy; plan again with this one"
        )


def _first_difference(planned: Any, given: Any, path: FieldPath) -> tuple[FieldPath, Any, Any] | None:
    """The path and both values of the first difference; None if there is none."""
    if isinstance(planned, dict) and isinstance(given, dict):
        pairs = [(key, planned.get(key), given.get(key)) for key in dict.fromkeys((*planned, *given))]
    elif isinstance(planned, list) and isinstance(given, list):
        pairs = [(index, *pair) for index, pair in enumerate(zip_longest(planned, given))]
    else:
        return None if planned == given else (path, planned, given)
    found = (_first_difference(ours, theirs, (*path, key)) for key, ours, theirs in pairs)
    return next((each for each in found if each is not None), None)


def _shown(value: Any) -> str:
    return "not set" if value is None else excerpt(msgspec.json.encode(value).decode())


def _check_digest(content: bytes, name: str, digest: str) -> None:
    if not _DIGEST.fullmatch(digest):
        raise InputError(
            f"--digest: must be sha256: and 64 hexadecimal digits, as sha256sum prints them, not {excerpt(digest)}"
        )
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if found != digest.lower():
        raise InputError(f"{name}: has the digest {found}, not the one of --digest: it is not the plan that was meant")


def _content(path: NamedFile) -> bytes:
    """A plan may be as large as it is, but it comes to an end."""
    if isinstance(path, NamedText):
        return path.content
    try:
        if path == STDIN:
            return sys.stdin.buffer.read()
        if Path(path).is_char_device():
            raise InputError(f"{path}: is a device, not a plan")
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _profiles(configuration: dict[str, Any] | None, name: str) -> tuple[SchedulerProfile, ...]:
    if configuration is None:
        return (DEFAULT_PROFILE,)
    text = msgspec.json.encode(configuration)
    return tuple(load_scheduler_configuration(text, f"{name}: schedulerConfiguration").profiles)


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
                live.server_minor = self.order.policy.restow.scheduler_minor or minor
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
                application.ledger.close(OutcomeCode.DECLINED, "it was not confirmed")
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
        application.ledger.close(OutcomeCode.STOPPED, "it was not started")

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
            ways=lambda permit: ways_through(api, permit, log.warning),
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
