"""What steers while ``restow apply`` carries a plan out: what the plan wants, where the cluster offers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from builders import NOW
from builders.policies import PLUGINS, as_json, strategy_policy
from client.double import a_double, a_status, an_api
from executing.fences import Nodes
from restow.cli.applying import Request, _Session
from restow.client.leadership import always
from restow.cluster.pods_now import PodNow
from restow.descheduling.plan import Fenced, Metadata
from restow.descheduling.saved_plan import SavedPlan
from restow.policies.load import load_policy
from restow.running import guards
from restow.running.applying import Order
from restow.running.offering import UNSTEERED
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from running.guarded import path_of
from running.hearing import Heard
from running.test_steering import offers

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


@dataclass
class Quiet(Nodes):
    """Nodes, and no pod that waits behind the gate."""

    def gated(self) -> list[PodNow]:
        return []


def a_session(effect: str | None) -> _Session:
    """For a plan that counts on a fence of this effect, or on none."""
    policy = load_policy(as_json(strategy_policy("RemoveDuplicates")), "p", PLUGINS).policy
    fence = None if effect is None else Fenced(("a",), effect)
    plan = SavedPlan(Metadata(NOW, "prove", "0"), (), {}, fence=fence)
    request = Request("plan.json", True, False, "json", "kube-system/descheduler", None, None)
    return _Session(request, Order("plan.json", plan, policy, (DEFAULT_PROFILE,)), "kube-system", "descheduler")


@pytest.mark.parametrize(
    ("effect", "kind"), [(None, "nominate"), ("NoSchedule", "fence"), ("PreferNoSchedule", "prefer")]
)
async def test_a_plan_is_steered_as_it_was_made(effect: str | None, kind: str) -> None:
    live: Any = Quiet({"a": []})
    async with a_double() as double, an_api(double.url) as api:
        offers(double)
        async with a_session(effect)._steering(always, live, api, Heard().log) as choice:
            assert choice.kind == kind
            assert (choice.steering is not None) == (kind == "nominate")
            assert (choice.fencing is not None) == (kind != "nominate")


async def test_what_is_missing_when_it_begins_is_told_and_nothing_is_steered() -> None:
    heard = Heard()
    live: Any = Quiet({"a": []})
    async with a_double() as double, an_api(double.url) as api:
        offers(double)
        double._answers["GET", path_of(guards.FENCING, "ValidatingAdmissionPolicyBinding")] = [
            a_status(404, "NotFound")
        ]
        async with a_session("NoSchedule")._steering(always, live, api, heard.log) as choice:
            assert choice == UNSTEERED
    (said,) = heard.messages
    assert said.startswith("replacements are not steered: there is no ValidatingAdmissionPolicyBinding restow-fencing,")
