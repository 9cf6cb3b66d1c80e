"""Write the last plan of a descheduler to a ConfigMap: a summary, and in a dry run the whole plan.

Other programs show it, such as ``restow operator`` in the status of its resource. Writing the ConfigMap is the only right
that this needs, and nothing depends on it: a failure is logged, and the next cycle writes its own summary.
"""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.resources import CONFIG_MAPS
from restow.client.transport import Api, Permit
from restow.daemon.logs import Log
from restow.descheduler.reporter import Reporter
from restow.descheduler.settings import PlanConfigMap
from restow.descheduling.cycle import plugins_in_order
from restow.descheduling.plan import PlanDocument
from restow.errors import ClientError
from restow.executing.deciding import CycleDecision, CycleRules
from restow.in_thread import in_thread
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.policies.codes import Prediction
from restow.policies.policy import Policy
from restow.policies.understood import decided_document
from restow.proving.planning import make_plan

T = TypeVar("T")

#: Publishes the result of a cycle.
Publish = Callable[[CycleDecision, Reporter, CycleRules], Awaitable[None]]

#: The keys of the ConfigMap.
SUMMARY: Final = "summary.json"
PLAN: Final = "plan.json.gz"
_MANAGER: Final = "restow-run"
#: Bytes of a compressed plan: a ConfigMap holds 1 MiB, of which base64 makes a third more.
LARGEST: Final = 700_000
#: Seconds for making a plan, and for one request.
_MAKING: Final = 600.0
_REQUEST: Final = 10.0


class PublishedLandings(Struct, frozen=True, rename="camel"):
    """Where the replacements of evicted pods landed, as counts."""

    as_predicted: int = 0
    elsewhere: int = 0
    missing: int = 0


class PlanSummary(Struct, frozen=True, rename="camel"):
    """The plan of the last cycle and its outcome, as counts."""

    #: When the outcome was known.
    time: str
    dry_run: bool
    #: Planned, and made; in a dry run none is made.
    moves: int
    evicted: int
    refused: int
    #: By code.
    refusals: dict[str, int]
    #: Nodes from which strategies that balance want pods to go, whether or not these may.
    nodes_out_of_balance: int
    landed: PublishedLandings
    #: Moves and refusals in the published plan of a dry run; fewer than above only if the ConfigMap has no room for all.
    listed_moves: int = 0
    listed_refusals: int = 0


def publishing(api: Api, target: PlanConfigMap, permit: Permit, log: Log, *, dry_run: bool) -> Publish:
    """Return a function that writes plans to a ConfigMap; it logs errors of the API server and never raises them."""
    unhurried = api.without_limit().within(_REQUEST)

    async def publish(decision: CycleDecision, reporter: Reporter, rules: CycleRules) -> None:
        now = int(api.server_time.now()) * SECOND
        host = urlsplit(api.endpoint.server).netloc
        compute = partial(_content, decision, reporter, rules, format_time(now), host, dry_run=dry_run, now=now)
        body = _config_map(target, await in_thread(compute, _MAKING))
        try:
            await objects.apply(
                unhurried,
                CONFIG_MAPS,
                target.namespace,
                target.name,
                body,
                manager=_MANAGER,
                force=True,
                permit=permit,
            )
        except ClientError as error:
            log.warning(f"the plan was not written to the ConfigMap {target.namespace}/{target.name}: {error}")

    return publish


def _config_map(target: PlanConfigMap, content: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": target.name, "namespace": target.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def _content(
    decision: CycleDecision,
    reporter: Reporter,
    rules: CycleRules,
    time: str,
    api_server: str,
    *,
    dry_run: bool,
    now: int,
) -> dict[str, Any]:
    summary = summary_of(decision, reporter, rules.policy, time, dry_run=dry_run)
    if not dry_run:
        return {"data": {SUMMARY: msgspec.json.encode(summary).decode()}}
    plan, packed = fitting(_plan(decision, rules, now, api_server), LARGEST)
    summary = msgspec.structs.replace(summary, listed_moves=len(plan.moves), listed_refusals=len(plan.refusals))
    data = {SUMMARY: msgspec.json.encode(summary).decode()}
    return {"data": data, "binaryData": {PLAN: base64.b64encode(packed).decode()}}


def _plan(decision: CycleDecision, rules: CycleRules, now: int, api_server: str) -> PlanDocument:
    """Return the plan with all that ``restow apply`` needs."""
    policy = rules.policy
    return msgspec.structs.replace(
        make_plan(decision.cycle, now, rules.placement, api_server),
        policy=decided_document(policy, placement=rules.placement, steering=policy.restow.steering),
        scheduler_configuration=rules.scheduler_configuration,
    )


def summary_of(decision: CycleDecision, reporter: Reporter, policy: Policy, time: str, *, dry_run: bool) -> PlanSummary:
    """Summarize the first decision of a cycle and its outcome."""
    record = decision.cycle.record
    balancing = {ref for _, point, ref in plugins_in_order(policy) if point == "balance"}
    wanted = [(each.node, each.ref) for each in record.evictions] + [(each.node, each.ref) for each in record.refusals]
    unbalanced = {node for node, ref in wanted if ref in balancing}
    landed = reporter.predictions
    return PlanSummary(
        time=time,
        dry_run=dry_run,
        moves=len(record.evictions),
        evicted=0 if dry_run else reporter.evicted.total(),
        refused=len(record.refusals),
        refusals=dict(sorted(Counter(each.reason[1] for each in record.refusals).items())),
        nodes_out_of_balance=len(unbalanced),
        landed=PublishedLandings(*(landed[each] for each in (Prediction.HIT, Prediction.MISS, Prediction.MISSING))),
    )


def fitting(plan: PlanDocument, largest: int) -> tuple[PlanDocument, bytes]:
    """Compress a plan to at most ``largest`` bytes: drop refusals first, then moves."""
    while len(packed := gzip.compress(msgspec.json.encode(plan), mtime=0)) > largest and (plan.refusals or plan.moves):
        if plan.refusals:
            plan = msgspec.structs.replace(plan, refusals=_half(plan.refusals))
        else:
            plan = msgspec.structs.replace(plan, moves=_half(plan.moves))
    return plan, packed


def _half(items: Sequence[T]) -> tuple[T, ...]:
    return tuple(items[: len(items) // 2])
