"""What steers while ``restow apply`` carries a plan out: what the plan wants, where the cluster offers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import structs

from builders import NOW, a_namespace, a_node
from builders.plans import small_report
from builders.policies import PLUGINS, as_json, strategy_policy
from client.double import a_double, a_status, an_api
from descheduler.guarded import path_of
from descheduler.hearing import Heard
from descheduler.test_steering import offers
from descheduling.harness import a_cluster
from executing.fences import Nodes
from restow.api.applying import Unattended
from restow.application.applying import ApplyRequest, ApplySession
from restow.cli.apply_audience import TerminalAudience
from restow.client.transport import always
from restow.cluster.pod_values import PodNow
from restow.descheduler import prerequisites
from restow.descheduler.applying import Order, Promise
from restow.descheduler.offering import UNSTEERED
from restow.descheduling.plan import Fenced, PlanCluster, PlanMetadata
from restow.descheduling.plan_reading import SavedPlan
from restow.errors import InputError
from restow.policies.load import load_policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


@dataclass
class Quiet(Nodes):
    """Nodes, and no pod that waits behind the gate."""

    def gated(self) -> list[PodNow]:
        return []


def a_session(effect: str | None) -> ApplySession:
    """For a plan that counts on a fence of this effect, or on none."""
    policy = load_policy(as_json(strategy_policy("RemoveDuplicates")), "p", PLUGINS).policy
    fence = None if effect is None else Fenced(("a",), effect)
    plan = SavedPlan(PlanMetadata(NOW, "prove", "0"), (), {}, fence=fence)
    request = ApplyRequest("plan.json")
    return ApplySession(
        request, Order("plan.json", plan, policy, (DEFAULT_PROFILE,)), Unattended(), "kube-system", "descheduler"
    )


async def test_a_plan_of_another_cluster_is_refused_before_anything_is_decided() -> None:
    session = a_session(None)
    plan = structs.replace(
        session.order.plan, metadata=PlanMetadata(NOW, "prove", "0", cluster=PlanCluster("other", None, 9, 9))
    )
    session = replace(session, order=replace(session.order, plan=plan))
    cluster = a_cluster(a_namespace("kube-system"), a_node("a"))
    with pytest.raises(InputError) as refused:
        session.check_cluster(cluster, "10.0.0.1:6443")
    (sentence,) = refused.value.sentences
    assert sentence.startswith("plan.json: is the plan of another cluster than 10.0.0.1:6443: ")


@pytest.mark.parametrize(
    ("effect", "kind"), [(None, "nominate"), ("NoSchedule", "fence"), ("PreferNoSchedule", "prefer")]
)
async def test_a_plan_is_steered_as_it_was_made(effect: str | None, kind: str) -> None:
    live: Any = Quiet({"a": []})
    async with a_double() as double, an_api(double.url) as api:
        offers(double)
        async with a_session(effect).steering(always, live, api, Heard().log) as choice:
            assert choice.kind == kind
            assert (choice.steering is not None) == (kind == "nominate")
            assert (choice.fencing is not None) == (kind != "nominate")


async def test_what_is_missing_when_it_begins_is_told_and_nothing_is_steered() -> None:
    heard = Heard()
    live: Any = Quiet({"a": []})
    async with a_double() as double, an_api(double.url) as api:
        offers(double)
        double._answers["GET", path_of(prerequisites.FENCING_GUARD, "ValidatingAdmissionPolicyBinding")] = [
            a_status(404, "NotFound")
        ]
        async with a_session("NoSchedule").steering(always, live, api, heard.log) as choice:
            assert choice == UNSTEERED
    (said,) = heard.messages
    assert said.startswith("replacements are not steered: there is no ValidatingAdmissionPolicyBinding restow-fencing,")


WEAK = {"podProtections": {"defaultDisabled": ["DaemonSetPods", "PodsWithLocalStorage"]}}


@pytest.mark.parametrize("dry_run", [False, True], ids=["yes", "dry run"])
async def test_beside_a_document_the_table_and_weaker_protections_are_on_stderr(
    capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    document = strategy_policy("RemoveDuplicates", gracePeriodSeconds=0)
    document["profiles"][0]["pluginConfig"].append({"name": "DefaultEvictor", "args": WEAK})
    session = a_session(None)
    order = replace(session.order, policy=load_policy(as_json(document), "p", PLUGINS).policy)
    audience = TerminalAudience(asks=False, has_stdout=False)
    session = replace(session, order=order, audience=audience, request=replace(session.request, dry_run=dry_run))
    async with a_double() as double, an_api(double.url) as api:
        session._show(Promise(small_report().plan, (), (), None), api)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "plan     plan.json" in shown.err
    told = [line for line in shown.err.splitlines() if "protects less than the default: " in line]
    assert [line.rpartition("(")[2] for line in told[:2]] == [
        "the protection PodsWithLocalStorage is off)",
        "the protection DaemonSetPods is off)",
    ]
    assert "gracePeriodSeconds: 0" in told[2]
