"""Whether a cluster lets replacements be steered, asked before each cycle, and what is left behind: nothing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from builders.policies import PLUGINS, as_json, strategy_policy
from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from descheduler.guarded import GUARDS, is_guarded, path_of
from descheduler.hearing import Heard
from executing.double import a_task
from executing.fences import Nodes
from executing.steered import steered
from executing.test_releasing import Gates, path, some_gated
from restow.client.events import FAREWELL
from restow.client.leader_election import RELEASE
from restow.client.transport import always
from restow.cluster.pod_reading import STEERING_GATE
from restow.daemon.background import ENDS_WITHIN
from restow.daemon.logs import Log
from restow.descheduler import prerequisites
from restow.descheduler.offering import Choice, Offer
from restow.descheduler.steering import steering
from restow.descheduler.webhook import Webhook
from restow.executing.execution import LAST_ANSWERS
from restow.executing.steering import REQUEST, Releasing
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.serving.metrics import Metrics

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

ENTRIES = "/api/v1/namespaces/kube-system/configmaps/restow-steering"
BINDING = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/restow-steering"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/restow-steering"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OK = an_answer({})
STEERED = "replacements are steered: "
NOT_STEERED = "replacements are not steered: "
NOT_AT_ALL = Choice("none")


def a_binding(name: str = "restow-steering", namespace: str = "kube-system") -> Answer:
    return an_answer({"spec": {"paramRef": {"name": name, "namespace": namespace}}})


def allowed(is_allowed: bool = True) -> Answer:
    return an_answer({"spec": {}, "status": {"allowed": is_allowed}}, 201)


def a_policy(wanted: str = "nominate") -> Policy:
    document = strategy_policy("RemoveDuplicates", restow={"steering": wanted})
    return load_policy(as_json(document), "policy.json", PLUGINS).policy


def offers(double: Double) -> None:
    """Everything is installed and permitted."""
    double.answers("GET", BINDING, a_binding())
    is_guarded(double)
    double.answers("PATCH", ENTRIES, OK)
    double.answers("POST", REVIEWS, allowed())


@asynccontextmanager
async def an_offer(double: Double, heard: Heard, gates: Gates | None = None) -> AsyncIterator[Offer]:
    gates = gates or Gates([])
    async with an_api(double.url) as api:
        keeper = Releasing(api.within(REQUEST), gates, gates.said.append, gates)
        fencing = replace(Nodes.of().fencing(), api=api)
        async with steering(api, "kube-system", always, keeper, heard.log, fencing=fencing) as offer:
            assert keeper.steering is not None
            yield offer
        assert keeper.steering is None


async def test_where_all_is_there_replacements_are_steered_and_it_is_told_once() -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        offers(double)
        for _ in range(3):
            assert (await offer.now(a_policy())).steering is offer.steering
    assert sum(STEERED in line for line in heard.messages) == 1


@pytest.mark.parametrize(
    ("method", "where", "answer", "said"),
    [
        ("GET", BINDING, a_status(404, "NotFound"), "restow-steering; docs/how-to/steer.md has the objects to install"),
        ("PATCH", ENTRIES, a_status(404, "NotFound", "no map"), "no map; docs/how-to/steer.md has the objects"),
        ("POST", REVIEWS, a_status(500, message="broken"), "broken"),
    ],
    ids=["nobody gates", "no ConfigMap", "trouble"],
)
async def test_what_is_missing_is_named(method: str, where: str, answer: Answer, said: str) -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        double.answers(method, where, answer)
        offers(double)
        for each in ("GET", BINDING), ("PATCH", ENTRIES), ("POST", REVIEWS):
            if each == (method, where):
                del double._answers[each][1:]
        assert await offer.now(a_policy()) == NOT_AT_ALL
    assert any(NOT_STEERED in line and said in line for line in heard.messages)


@pytest.mark.parametrize(
    ("permitted", "rule"),
    list(
        enumerate(
            (
                'resources: ["validatingadmissionpolicies"], verbs: [get]}; docs/',
                'resources: ["validatingadmissionpolicybindings"], verbs: [get]}; docs/',
                'resources: ["configmaps"], verbs: [patch]} in the namespace kube-system;',
                'resources: ["pods"], verbs: [patch]',
                'resources: ["pods/status"], verbs: [patch]',
            )
        )
    ),
)
async def test_a_right_that_is_missing_is_named_and_not_tried(permitted: int, rule: str) -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        double.answers("GET", BINDING, a_binding())
        # The first one is that to look for who gives the gate.
        double.answers("POST", REVIEWS, *[allowed()] * (1 + permitted), allowed(False))
        assert await offer.now(a_policy()) == NOT_AT_ALL
        assert {each.path for each in double.asked} == {REVIEWS, BINDING}
    assert any(NOT_STEERED in line and rule in line for line in heard.messages)


async def test_what_comes_and_goes_is_noticed_before_the_next_cycle() -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        offers(double)
        double._answers["GET", BINDING][:0] = [a_binding(), a_status(404, "NotFound", "gone")]
        found = [await offer.now(a_policy()) != NOT_AT_ALL for _ in range(3)]
    assert found == [True, False, True]
    assert [line.startswith(STEERED) for line in heard.messages] == [True, False, True]


async def test_a_policy_that_does_not_want_it_is_heeded_from_the_next_cycle_on() -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        offers(double)
        found = [await offer.now(a_policy(wanted)) != NOT_AT_ALL for wanted in ("auto", "none", "nominate")]
    assert found == [True, False, True]


async def test_a_policy_that_insists_makes_it_a_warning() -> None:
    levels = {}
    for wanted in ("auto", "nominate"):
        heard, written = Heard(), io.StringIO()
        heard.log = Log(written, "text", 0, lambda: 0)
        async with a_double() as double, an_offer(double, heard) as offer:
            double.answers("POST", REVIEWS, allowed(False))
            assert await offer.now(a_policy(wanted)) == NOT_AT_ALL
        levels[wanted] = next(line[0] for line in written.getvalue().splitlines() if NOT_STEERED in line)
    assert levels == {"auto": "I", "nominate": "W"}


async def test_who_gives_the_gate_is_told() -> None:
    config = {"service": {"name": "s", "namespace": "n", "path": "/admission/steer"}, "caBundle": "Zm9v"}
    told = []
    for method in (BINDING, CONFIGURATION):
        heard = Heard()
        async with a_double() as double, an_offer(double, heard) as offer:
            double.answers("POST", REVIEWS, allowed())
            double.answers("PATCH", ENTRIES, OK)
            is_guarded(double)
            found = a_binding() if method == BINDING else an_answer({"webhooks": [{"clientConfig": config}]})
            double.answers("GET", method, found)
            assert (await offer.now(a_policy())).steering is offer.steering
        told += [line.rpartition(" that ")[2] for line in heard.messages if STEERED in line]
    assert told == ["an admission policy gives", "restow's webhook gives"]


async def test_the_webhook_of_a_leader_knows_at_once_and_after_the_end_it_gates_nothing() -> None:
    """Before the ConfigMap is written; and nobody would let go what it gates then."""
    webhook, gates, heard = Webhook(Metrics().steering), Gates([]), Heard()
    async with a_double() as double, an_api(double.url) as api:
        double.answers("PATCH", ENTRIES, Answer((1.0, b"{}")))
        keeper = Releasing(api.within(REQUEST), gates, gates.said.append, gates)
        with webhook.asking(gates):
            fencing, ours = Nodes.of().fencing(), webhook
            async with steering(api, "kube-system", always, keeper, heard.log, fencing=fencing, webhook=ours) as offer:
                task = asyncio.create_task(offer.steering.announce(steered(a_task("web-0", candidates=["t"]))))
                await asyncio.sleep(0.1)
                assert not task.done()
                assert webhook._awaits("uid-web")
                await task
            assert not webhook._awaits("uid-web")
            gates.owners.add("uid-web")
            assert not webhook._awaits("uid-web")


@pytest.mark.parametrize("wanted", ["auto", "fence", "none"])
@pytest.mark.parametrize("answers", [[allowed()], [allowed(False), allowed()], [allowed(False)]])
async def test_who_writes_nothing_chooses_as_who_does_and_only_asks(wanted: str, answers: list[Answer]) -> None:
    """A dry run plans with what the real run would use, and tells it in the same words."""
    found, said = [], []
    for writes in (True, False):
        heard = Heard()
        async with a_double() as double, an_offer(double, heard) as real:
            offers(double)
            double._answers["POST", REVIEWS] = list(answers)
            offer = real if writes else Offer(real.api, "kube-system", heard.log)
            found.append(await offer.now(a_policy(wanted)))
            said.append(heard.messages)
            if not writes:
                assert {(each.method, each.path) for each in double.asked} <= ASKS
    assert found[0].kind == found[1].kind
    assert (found[1].steering, found[1].fencing) == (None, None)
    assert said[0] == said[1]


#: A review of access is created, and nothing is stored.
ASKS = {("GET", BINDING), ("GET", CONFIGURATION), *(("GET", each) for each in GUARDS), ("POST", REVIEWS)}
NODE_RULE = 'resources: ["nodes"], verbs: [patch]'


@pytest.mark.parametrize(
    ("wanted", "answers", "kind"),
    [
        ("auto", [allowed()], "nominate"),
        ("auto", [allowed(False)] * 2, "fence"),
        ("auto", [allowed(False)] * 3, "none"),
        ("nominate", [allowed(False), allowed()], "none"),
        ("fence", [allowed()], "fence"),
        ("fence", [allowed(False), allowed()], "none"),
        ("prefer", [allowed()], "prefer"),
        ("none", [allowed()], "none"),
    ],
)
async def test_a_way_to_steer_is_taken_in_order_and_only_if_it_is_wanted(
    wanted: str, answers: list[Answer], kind: str
) -> None:
    """Fences are the consent of whoever has installed their rights; a nomination disturbs nobody else, and goes first."""
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        double.answers("POST", REVIEWS, *answers)
        offers(double)
        choice = await offer.now(a_policy(wanted))
    assert choice.kind == kind
    assert (choice.steering is not None) == (kind == "nominate")
    assert (choice.fencing is not None) == (kind in ("fence", "prefer"))
    assert len(heard.messages) == (wanted != "none")


async def test_one_line_says_what_was_chosen_and_why() -> None:
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        is_guarded(double)
        double.answers("POST", REVIEWS, *[allowed(False)] * 2, *[allowed()] * 7, allowed(False))
        await offer.now(a_policy("auto"))
        await offer.now(a_policy("fence"))
    chosen, missing = heard.messages
    assert chosen.startswith(f"{STEERED}nodes where they should not land carry the taint restow.dev/fence:NoSchedule")
    assert 'resources: ["mutatingadmissionpolicybindings"], verbs: [get]' in chosen
    assert missing.startswith(NOT_STEERED)
    assert NODE_RULE in missing
    assert "docs/how-to/steer.md" in missing


@pytest.mark.parametrize("wanted", ["auto", "fence"])
async def test_who_may_do_everything_fences_no_nodes_where_nothing_holds_restow_to_one_taint(wanted: str) -> None:
    """An administrator who tries restow has not agreed to closed nodes: the admission policy comes with the rights."""
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        double.answers("POST", REVIEWS, allowed())
        assert await offer.now(a_policy(wanted)) == NOT_AT_ALL
        await offer.now(a_policy("fence"))
    assert "there is no ValidatingAdmissionPolicy restow-fencing, which limits" in heard.messages[-1]
    assert "(deploy/kubernetes/fencing/guarding.yaml); docs/how-to/steer.md" in heard.messages[-1]


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
async def test_who_may_patch_pods_nominates_none_where_nothing_limits_what_restow_may_change(kind: str) -> None:
    """Without its guard the token could change images of running pods, and nothing is written."""
    heard = Heard()
    async with a_double() as double, an_offer(double, heard) as offer:
        offers(double)
        double._answers["GET", path_of(prerequisites.STEERING_GUARD, kind)] = [a_status(404, "NotFound")]
        assert await offer.now(a_policy()) == NOT_AT_ALL
        assert not [each for each in double.asked if each.method == "PATCH"]
    (said,) = heard.messages
    assert said == (
        f"{NOT_STEERED}there is no {kind} restow-steering, which limits what restow may change "
        "(deploy/kubernetes/steering/guarding.yaml); docs/how-to/steer.md has the objects to install"
    )


async def test_entries_of_another_process_are_taken_out_before_a_cycle() -> None:
    async with a_double() as double, an_offer(double, Heard()) as offer:
        offers(double)
        await offer.now(a_policy())
        assert [each.json for each in double.asked if each.path == ENTRIES] == [{"data": None}]


async def test_what_could_not_be_taken_out_is_taken_out_within_seconds() -> None:
    task = steered(a_task("web-0", candidates=["t"]))
    async with a_double() as double, an_offer(double, Heard()) as offer:
        double.answers("PATCH", ENTRIES, OK, a_status(503), OK)
        await offer.steering.announce(task)
        await offer.steering.withdraw(task)
        await asyncio.sleep(6.0)
        assert [each.json["data"] for each in double.asked[1:]] == [{"uid-web": None}] * 2


async def test_at_the_end_no_entry_is_left_and_nothing_waits() -> None:
    gates = Gates(some_gated("web-0", "web-1"))
    async with a_double() as double:
        offers(double)
        for name in ("web-0", "web-1"):
            double.answers("PATCH", path(name), OK)
        async with an_offer(double, Heard(), gates) as offer:
            assert await offer.now(a_policy()) != NOT_AT_ALL
            # The watch tells of it.
            asyncio.get_running_loop().call_later(0.2, gates.pods.clear)
        last = {each.path for each in double.asked if each.method == "PATCH"}
        assert last == {ENTRIES, path("web-0"), path("web-1")}
        assert [each.json for each in double.asked if each.path == ENTRIES] == [{"data": None}] * 2
    assert gates.released == 2


async def test_a_place_that_is_still_held_at_the_end_is_given_back() -> None:
    """Its placeholder could not be deleted, and no next leader may come for long."""
    place, moving = "/api/v1/namespaces/kube-system/pods", "/api/v1/namespaces/default/pods/web-0"
    task = steered(a_task("web-0", candidates=["t"]))
    async with a_double() as double:
        offers(double)
        double.answers("GET", moving, an_answer({"spec": {"containers": []}}))
        double.answers("POST", place, OK)
        double.answers("GET", f"{place}/restow-holds-uid-web-0", an_answer({"spec": {"nodeName": "t"}}))
        double.answers("DELETE", f"{place}/restow-holds-uid-web-0", a_status(403, "Forbidden"), OK)
        async with an_offer(double, Heard()) as offer:
            await offer.now(a_policy())
            assert await offer.steering.reserve(task) is None
            await offer.steering.withdraw(task)
        assert [each.method for each in double.asked].count("DELETE") == 2


async def test_a_pod_that_comes_while_all_is_let_go_does_not_stay_gated() -> None:
    """It was created before the API server knew that nothing is awaited any more."""
    gates = Gates([])
    async with a_double() as double:
        offers(double)
        double.answers("PATCH", path("web-0"), OK)
        async with an_offer(double, Heard(), gates) as offer:
            assert await offer.now(a_policy()) != NOT_AT_ALL
            asyncio.get_running_loop().call_later(0.2, gates.pods.extend, some_gated("web-0"))
        assert {each.path for each in double.asked if each.method == "PATCH"} == {ENTRIES, path("web-0")}


async def test_where_nothing_was_steered_nothing_is_written_at_the_end() -> None:
    async with a_double() as double:
        async with an_offer(double, Heard()):
            pass
        assert double.asked == []


async def test_a_replacement_that_was_given_up_is_looked_for_at_the_end_where_the_watch_tells_of_none() -> None:
    """It comes later than the end begins, and the watch of pods is cut."""
    pods = "/api/v1/namespaces/default/pods"
    gated = {"metadata": {"name": "new-1", "namespace": "default", "uid": "u1"}}
    gated["spec"] = {"schedulingGates": [{"name": STEERING_GATE}]}  # type: ignore[dict-item]
    task = a_task("web-0")
    async with a_double() as double:
        offers(double)
        nobody, somebody = an_answer({"items": []}), an_answer({"items": [gated]})
        double.answers("GET", pods, nobody, nobody, somebody)
        double.answers("PATCH", path("new-1"), OK)
        async with an_offer(double, Heard()) as offer:
            await offer.now(a_policy())
            assert await offer.steering.announce(task) is None
            await offer.steering.withdraw(task)
        assert [each.path for each in double.asked if each.path == path("new-1")]


async def test_after_replacements_that_were_nominated_the_end_looks_for_none() -> None:
    task = a_task("web-0", candidates=["b"])
    async with a_double() as double:
        offers(double)
        double.answers("PATCH", f"{path('new-1')}/status", OK)
        double.answers("PATCH", path("new-1"), OK)
        async with an_offer(double, Heard()) as offer:
            await offer.now(a_policy())
            assert await offer.steering.announce(task) is None
            (pod,) = some_gated("new-1")
            await offer.steering.nominate(task, pod)
        assert not [each for each in double.asked if each.path.endswith("/pods")]


async def test_an_end_without_an_api_server_does_not_take_long() -> None:
    silent = Answer((60.0, b"{}"))
    gates = Gates(some_gated(*(f"web-{at}" for at in range(20))))
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, silent)
        for at in range(20):
            double.answers("PATCH", path(f"web-{at}"), silent)
        async with an_offer(double, Heard(), gates) as offer:
            offer.was_made = True
            began = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began <= REQUEST + 0.1


async def test_all_that_the_end_waits_for_is_less_than_the_whole() -> None:
    """The last answers, an entry under way and the last one, the farewell, events, the lease."""
    waits: Any = (LAST_ANSWERS, 2 * REQUEST, REQUEST, FAREWELL, RELEASE)
    assert sum(waits) < ENDS_WITHIN
