"""What each answer to an eviction means. The texts are those of the eviction subresource, Kubernetes 1.36."""

from __future__ import annotations

import pytest

from client.double import Answer, Double, a_status, an_answer, an_api
from restow.client.credentials import Identity
from restow.client.errors import NoCredentials, NotPermitted
from restow.client.eviction import (
    AlreadyGone,
    BudgetExhausted,
    Busy,
    Denied,
    EvictionAccepted,
    EvictionFailed,
    EvictionUnanswered,
    Misconfigured,
    Outcome,
    evict,
)
from restow.client.objects import ObjectRef
from restow.client.transport import Api, always

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/namespaces/dev/pods/web-1/eviction"
POD = ObjectRef("dev", "web-1", "u1")
DONE = an_answer({"kind": "Status", "status": "Success"}, 201)
NO_ROOM = "Cannot evict pod as it would violate the pod's disruption budget."
BUDGET = "The disruption budget web needs 6 healthy pods and has 6 currently"
MISMATCH = "Precondition failed: UID in precondition: u1, UID in object meta: u2"
RECREATED = (
    'Operation cannot be fulfilled on Pod "web-1": the UID in the precondition (u1) does not match the UID in record '
    "(u2). The object might have been deleted and then recreated"
)
MODIFIED = 'Operation cannot be fulfilled on poddisruptionbudgets.policy "web": the object has been modified'
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
FORBIDDEN = (
    'pods "web-1" is forbidden: User "system:serviceaccount:kube-system:restow" '
    'cannot create resource "pods/eviction" in API group "" in the namespace "dev"'
)
RULE = '{apiGroups: [""], resources: ["pods/eviction"], verbs: [create]}'


async def test_the_request_names_the_uid(api: Api, double: Double) -> None:
    double.answers("POST", PATH, DONE)

    assert await evict(api, POD, permit=always) == EvictionAccepted()
    assert double.asked[0].json == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "web-1", "namespace": "dev"},
        "deleteOptions": {"preconditions": {"uid": "u1"}},
    }


async def test_grace_period_and_dry_run_are_passed_on(api: Api, double: Double) -> None:
    double.answers("POST", PATH, DONE)

    await evict(api, POD, permit=always, grace_period=0, dry_run=True)

    options = double.asked[0].json["deleteOptions"]
    assert options == {"preconditions": {"uid": "u1"}, "gracePeriodSeconds": 0, "dryRun": ["All"]}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param(a_status(404, message="gone"), AlreadyGone("gone"), id="gone"),
        pytest.param(a_status(409, message=MISMATCH), AlreadyGone(MISMATCH), id="another pod of that name"),
        pytest.param(a_status(409, message=RECREATED), AlreadyGone(RECREATED), id="another pod, told earlier"),
        pytest.param(
            a_status(429, message=NO_ROOM, causes=[{"reason": "DisruptionBudget", "message": BUDGET}]),
            BudgetExhausted(NO_ROOM, BUDGET, None),
            id="no room in the budget",
        ),
        pytest.param(
            a_status(
                429,
                message=NO_ROOM,
                retryAfterSeconds=10,
                causes=[{"reason": "DisruptionBudget", "message": "still being processed"}],
            ),
            BudgetExhausted(NO_ROOM, "still being processed", 10),
            id="the budget is not yet worked out",
        ),
        pytest.param(a_status(429, message="slow down", retry_after=1), Busy("slow down", 1), id="too many requests"),
        pytest.param(a_status(409, message=MODIFIED), Busy(MODIFIED, None), id="others used the budget"),
        pytest.param(a_status(504, message="late"), EvictionUnanswered("late"), id="time-out in the server"),
        pytest.param(
            a_status(502, message="bad gateway"), EvictionUnanswered("bad gateway"), id="a proxy heard no answer"
        ),
        pytest.param(a_status(401, message="expired"), Busy("expired", None), id="credentials that have run out"),
        pytest.param(a_status(503, message="starting"), Busy("starting", None), id="server not ready"),
        pytest.param(a_status(500, message=SEVERAL), Misconfigured(SEVERAL), id="several budgets"),
        pytest.param(a_status(500, message="oops"), EvictionFailed("oops", 500), id="server error"),
        pytest.param(a_status(400, message="wrong"), EvictionFailed("wrong", 400), id="bad request"),
        pytest.param(
            a_status(403, message=FORBIDDEN),
            Denied(
                "system:serviceaccount:kube-system:restow may not create pods/eviction; "
                f"add the rule {RULE} to its ClusterRole"
            ),
            id="no right",
        ),
        pytest.param(
            a_status(403, message="namespace dev is being terminated"),
            Denied("namespace dev is being terminated"),
            id="namespace on its way out",
        ),
    ],
)
async def test_answers(api: Api, double: Double, answer: Answer, outcome: Outcome) -> None:
    double.answers("POST", PATH, answer)

    assert await evict(api, POD, permit=always) == outcome
    # Only credentials may just have been replaced.
    assert len(double.asked) == (2 if answer.status == 401 else 1)


async def test_no_answer_is_an_outcome_too(api: Api, double: Double) -> None:
    double.answers("POST", PATH, Answer((), cut=True))

    assert isinstance(await evict(api, POD, permit=always), EvictionUnanswered)


async def test_a_former_leader_evicts_nothing(api: Api, double: Double) -> None:
    with pytest.raises(NotPermitted):
        await evict(api, POD, permit=lambda: -1)
    assert not double.asked


async def test_without_credentials_nothing_is_sent_and_it_may_be_asked_again(double: Double) -> None:
    class Nobody:
        async def identity(self) -> Identity:
            raise NoCredentials("the plugin failed")

        def rejected(self) -> None:
            raise AssertionError

    async with an_api(double.url, Nobody()) as api:
        assert await evict(api, POD, permit=always) == Busy("the plugin failed", None)
    assert not double.asked
