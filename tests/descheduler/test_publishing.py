"""What is written of a plan, on a cycle in virtual time, and that it never is too much for a ConfigMap."""

from __future__ import annotations

import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from builders.memory_api import MemoryApi
from descheduler.cycling import Run, a_town, crowd, rules
from restow.application.applying import read_order
from restow.client.errors import Forbidden
from restow.client.transport import always
from restow.descheduler.publishing import fitting, publishing
from restow.descheduler.settings import PlanConfigMap
from restow.descheduling.plan import Move, PlanDocument, PlanMetadata, PlanTotals, PodRef, Refusal, Utilisation

pytestmark = pytest.mark.usefixtures("without_threads")

TARGET = PlanConfigMap("tools", "plan")
PATH = "/api/v1/namespaces/tools/configmaps/plan"


def published(api: MemoryApi, *, dry_run: bool = False, **policy: Any) -> Run:
    run = Run(a_town(*crowd("web"), nodes=3), dry_run=dry_run)
    made: Any = api
    run.cycles.publish = publishing(made, TARGET, always, run.heard.log, dry_run=dry_run)
    return run.perform(rules(**policy))


def summary(api: MemoryApi) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(api.stored[PATH]["data"]["summary.json"])
    return found


def test_a_summary_of_what_was_planned_and_what_came_of_it() -> None:
    api = MemoryApi()
    published(api)
    told = summary(api)
    assert (told["dryRun"], told["moves"], told["evicted"]) == (False, 2, 2)
    assert told["landed"] == {"asPredicted": 2, "elsewhere": 0, "missing": 0}
    assert told["nodesOutOfBalance"] == 1
    assert told["time"] == "2023-11-14T22:13:20Z"
    assert "binaryData" not in api.stored[PATH]


def test_a_dry_run_has_the_whole_plan_beside_it_and_evicts_nothing() -> None:
    api = MemoryApi()
    published(api, dry_run=True)
    told = summary(api)
    assert (told["dryRun"], told["moves"], told["evicted"]) == (True, 2, 0)
    assert (told["listedMoves"], told["listedRefusals"]) == (2, told["refused"])
    plan = json.loads(gzip.decompress(base64.b64decode(api.stored[PATH]["binaryData"]["plan.json.gz"])))
    assert plan["metadata"]["cluster"] == {"uid": None, "apiServer": "10.0.0.1:6443", "nodes": 3, "pods": 3}
    assert [each["from"] for each in plan["moves"]] == ["n0", "n0"]


def test_the_plan_is_all_that_apply_needs(tmp_path: Path) -> None:
    api = MemoryApi()
    configuration = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    run = Run(a_town(*crowd("web"), nodes=3), dry_run=True)
    made: Any = api
    run.cycles.publish = publishing(made, TARGET, always, run.heard.log, dry_run=True)
    decided = structs.replace(rules("prove", maxNoOfPodsToEvictTotal=2), scheduler_configuration=configuration)
    run.perform(decided)
    file = tmp_path / "plan.json"
    file.write_bytes(gzip.decompress(base64.b64decode(api.stored[PATH]["binaryData"]["plan.json.gz"])))
    order = read_order(str(file))
    # The plan was decided as ``prove`` says, whether or not the policy says so.
    wanted = decided.policy
    assert order.policy == replace(wanted, restow=replace(wanted.restow, placement="prove"))
    assert order.plan.scheduler_configuration == configuration
    assert len(order.plan.moves) == 2


def test_refusals_are_counted_by_their_codes() -> None:
    api = MemoryApi()
    published(api, maxNoOfPodsToEvictTotal=1)
    told = summary(api)
    assert told["moves"] == 1
    assert told["refused"] == sum(told["refusals"].values()) > 0


def test_a_summary_that_cannot_be_written_is_told_and_the_cycle_is_done() -> None:
    def forbidden(method: str, path: str) -> None:
        raise Forbidden(403, "Forbidden", "no configmaps for you")

    run = published(MemoryApi(trouble=forbidden))
    assert run.ended() == {"done": 1}
    assert any(each.startswith("the plan was not written to the ConfigMap tools/plan: ") for each in run.heard.messages)


def a_plan(moves: int, refusals: int) -> PlanDocument:
    chance = random.Random(1)

    def pod() -> PodRef:
        return PodRef("shop", f"web-{chance.getrandbits(200):x}", "")

    return PlanDocument(
        metadata=PlanMetadata("", "prove", ""),
        moves=tuple(Move(pod(), None, "n0") for _ in range(moves)),
        refusals=tuple(Refusal(pod(), "n0", "p", "s", "limit", "X", "") for _ in range(refusals)),
        summary=PlanTotals(1, 1, 0, moves, refusals, Utilisation({}, {})),
    )


def test_a_plan_that_fits_is_whole() -> None:
    plan = a_plan(20, 20)
    assert fitting(plan, 10_000)[0] == plan


def test_of_a_large_plan_refusals_go_first_and_then_moves_and_the_summary_keeps_the_counts() -> None:
    plan, packed = fitting(a_plan(20, 2000), 10_000)
    assert len(packed) <= 10_000
    assert (len(plan.moves), plan.summary.refusals) == (20, 2000)
    assert 0 < len(plan.refusals) < 2000
    plan, packed = fitting(replace(a_plan(2000, 20)), 10_000)
    assert len(packed) <= 10_000
    assert (0 < len(plan.moves) < 2000, plan.refusals) == (True, ())
