"""The webhook of steering admits everything, and gates the new pods of controllers that are awaited."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Object
from builders.pods import a_pod
from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from restow.executing.admission import Announced, answer

GATE = {"name": "restow.dev/steer"}
OTHER = {"name": "other.dev/hold"}
AWAITED = "uid-awaited"
WEB = a_pod("web-1", owner=("ReplicaSet", "web", AWAITED))


PATH = "/api/v1/namespaces/kube-system/configmaps"
HANG = Answer((10_000.0,))


def a_review(pod: Any = WEB, **request: Any) -> Object:
    """What an API server 1.36 asks when a controller creates a pod."""
    pods = {"group": "", "version": "v1", "resource": "pods"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": pods,
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": pods,
            "name": "web-1",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": ["x"]},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        }
        | request,
    }


def answered(review: Any) -> Object:
    raw = review if isinstance(review, bytes) else json.dumps(review).encode()
    answered = answer(raw, lambda owner: owner == AWAITED)
    said: Object = json.loads(answered.review)
    assert (said["apiVersion"], said["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Object = said["response"]
    assert response["allowed"] is True
    assert answered.is_gating == ("patch" in response)
    return response


def changed(review: Any) -> list[Object] | None:
    """The operations of the patch."""
    response = answered(review)
    if "patch" not in response:
        assert "patchType" not in response
        return None
    assert response["patchType"] == "JSONPatch"
    patch: list[Object] = json.loads(base64.b64decode(response["patch"]))
    return patch


def a_pod_with(**spec: Any) -> Object:
    return a_pod("web-1", owner=("ReplicaSet", "web", AWAITED), spec=spec)


def test_a_replacement_that_is_awaited_is_gated_and_the_answer_names_the_question() -> None:
    assert changed(a_review()) == [{"op": "add", "path": "/spec/schedulingGates", "value": [GATE]}]
    assert answered(a_review())["uid"] == a_review()["request"]["uid"]


@pytest.mark.parametrize(("value", "is_gated"), [(AWAITED, True), ("uid-other", False)])
def test_a_pod_of_a_rollout_that_is_awaited_is_gated_whoever_owns_it(value: str, *, is_gated: bool) -> None:
    """Its ReplicaSet was not there when the rollout was announced."""
    pod = a_pod("web-1", owner=("ReplicaSet", "web", "uid-new"), annotations={"restow.dev/rollout": value})
    assert (changed(a_review(pod)) is not None) == is_gated


def test_the_gates_of_others_stay() -> None:
    patch = [{"op": "add", "path": "/spec/schedulingGates/-", "value": GATE}]
    assert changed(a_review(a_pod_with(schedulingGates=[OTHER]))) == patch


@pytest.mark.parametrize("gates", [None, []], ids=["null", "empty"])
def test_no_gates_are_no_gates_however_they_are_written(gates: list[Object] | None) -> None:
    patch = [{"op": "add", "path": "/spec/schedulingGates", "value": [GATE]}]
    assert changed(a_review(a_pod_with(schedulingGates=gates))) == patch


@pytest.mark.parametrize(
    "review",
    [
        a_review(a_pod("lone")),
        a_review(a_pod("db-1", owner=("StatefulSet", "db", "uid-db"))),
        a_review(a_pod("web-1", owner=[("ReplicaSet", "db", "uid-db"), ("ReplicaSet", "web", AWAITED)])),
        a_review(a_pod("log-1", owner=("DaemonSet", "log", AWAITED))),
        a_review(a_pod("kube-proxy-n1", owner=("Node", "n1", AWAITED))),
        a_review(a_pod_with(nodeName="n1")),
        a_review(a_pod_with(schedulingGates=[OTHER, GATE])),
        a_review(operation="UPDATE"),
        a_review(subResource="binding"),
        a_review(kind={"group": "apps", "version": "v1", "kind": "ReplicaSet"}),
        a_review(kind={"group": "policy", "version": "v1", "kind": "Eviction"}, subResource="eviction"),
    ],
    ids=[
        "no owner",
        "another controller",
        "not the first owner",
        "DaemonSet",
        "mirror pod",
        "has a node",
        "is gated",
        "no new pod",
        "binding",
        "another kind",
        "eviction",
    ],
)
def test_everything_else_is_created_as_it_is(review: Object) -> None:
    """A gate on a pod that has a node, or that is there already, would have the API server refuse it."""
    assert changed(review) is None
    assert answered(review)["uid"] == review["request"]["uid"]


def test_an_owner_that_is_no_controller_does_not_count() -> None:
    pod = json.loads(json.dumps(WEB))
    for controller in (False, None):
        pod["metadata"]["ownerReferences"][0]["controller"] = controller
        assert changed(a_review(pod)) is None


@pytest.mark.parametrize(
    "pod",
    [
        None,
        [],
        "pod",
        7,
        {},
        {"metadata": None, "spec": None},
        {"metadata": {"ownerReferences": "web"}, "spec": {}},
        {"metadata": {"ownerReferences": [None, 3]}},
        {"metadata": {"ownerReferences": [{"uid": 7, "controller": True}]}},
        {"metadata": WEB["metadata"], "spec": {"schedulingGates": {"name": "a"}}},
        {"metadata": WEB["metadata"], "spec": []},
    ],
)
def test_a_pod_that_cannot_be_read_is_created_as_it_is_and_the_question_is_answered(pod: Any) -> None:
    assert changed(a_review(pod)) is None
    assert answered(a_review(pod))["uid"] == a_review()["request"]["uid"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"request": null}',
        b'{"request": 7}',
        b'{"request": {"uid": 7, "operation": []}}',
        b"\xff\xfe",
        b'{"request": {"uid": "\xff"}}',
        b"[" * 100_000,
        b'{"request": {"object": ' + b"[" * 100_000,
        json.dumps(a_review()).encode()[:-40],
    ],
    ids=range(12),
)
def test_what_is_no_question_is_allowed_too(body: bytes) -> None:
    assert changed(body) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_PATHS = (
    ("request",),
    ("request", "uid"),
    ("request", "kind"),
    ("request", "operation"),
    ("request", "object"),
    ("request", "object", "metadata"),
    ("request", "object", "metadata", "ownerReferences"),
    ("request", "object", "metadata", "ownerReferences", 0),
    ("request", "object", "metadata", "ownerReferences", 0, "uid"),
    ("request", "object", "spec"),
    ("request", "object", "spec", "nodeName"),
    ("request", "object", "spec", "schedulingGates"),
)


@settings(max_examples=150)
@given(path=st.sampled_from(_PATHS), value=_JSON)
def test_whatever_stands_in_a_question_it_is_allowed(path: tuple[str | int, ...], value: Any) -> None:
    review = json.loads(json.dumps(a_review()))
    place = review
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    changed(review)


@settings(max_examples=200)
@given(body=st.binary(max_size=60))
def test_whatever_is_sent_is_allowed(body: bytes) -> None:
    assert changed(body) is None


@given(text=st.data())
def test_a_question_that_is_cut_or_damaged_anywhere_is_allowed(text: st.DataObject) -> None:
    whole = json.dumps(a_review()).encode()
    at = text.draw(st.integers(0, len(whole) - 1))
    answered(whole[:at])
    answered(whole[:at] + bytes([text.draw(st.integers(0, 255))]) + whole[at + 1 :])


def a_map(*owners: str, version: str = "10") -> dict[str, object]:
    metadata = {"name": "restow-steering", "namespace": "kube-system", "resourceVersion": version}
    return {"metadata": metadata} | ({"data": dict.fromkeys(owners, "default/web-0")} if owners else {})


def listed(*maps: dict[str, object]) -> Answer:
    return an_answer({"kind": "ConfigMapList", "metadata": {"resourceVersion": "10"}, "items": list(maps)})


def changes(*events: tuple[str, dict[str, object]], pause: float = 0.0, cut: bool = False) -> Answer:
    lines = (json.dumps({"type": what, "object": changed}).encode() + b"\n" for what, changed in events)
    return Answer((pause, *lines, *(() if cut else (10_000.0,))), cut=cut)


@asynccontextmanager
async def an_announced(double: Double, said: list[str] | None = None) -> AsyncIterator[Announced]:
    async with an_api(double.url) as api:
        announced = Announced(api, "kube-system", (said if said is not None else []).append)
        task = asyncio.create_task(announced.run())
        try:
            yield announced
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def awaited(announced: Announced, *owners: str) -> list[str]:
    announced.awaits("")
    await asyncio.sleep(0.1)
    return [owner for owner in owners if announced.awaits(owner)]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_nothing_is_asked_for_before_somebody_asks() -> None:
    async with a_double() as double, an_announced(double):
        await asyncio.sleep(60.0)
        assert double.asked == []


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_the_one_config_map_is_followed() -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(a_map("a")), changes(("MODIFIED", a_map("a", "b", version="11")), pause=5.0))
        assert await awaited(announced, "a", "b") == ["a"]
        await asyncio.sleep(5.0)
        assert await awaited(announced, "a", "b") == ["a", "b"]
    assert {each.params["fieldSelector"] for each in double.asked} == {"metadata.name=restow-steering"}


@pytest.mark.asyncio
@pytest.mark.looptime
@pytest.mark.parametrize(
    "event",
    [("MODIFIED", a_map(version="11")), ("DELETED", a_map("a", version="11"))],
    ids=["entries taken out", "deleted"],
)
async def test_what_is_taken_out_is_awaited_no_more(event: tuple[str, dict[str, object]]) -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(a_map("a")), changes(event, pause=5.0))
        assert await awaited(announced, "a") == ["a"]
        await asyncio.sleep(5.0)
        assert await awaited(announced, "a") == []


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_without_a_config_map_nobody_is_awaited() -> None:
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(), HANG)
        assert await awaited(announced, "a") == []


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_nobody_is_awaited_while_news_are_interrupted_and_what_is_written_then_comes_whole() -> None:
    async with a_double() as double, an_announced(double) as announced:
        broken = changes(("MODIFIED", a_map("a", version="11")), cut=True)
        later = changes(("MODIFIED", a_map("a", "b", version="12")), pause=5.0)
        double.answers("GET", PATH, listed(a_map("a")), broken, later)
        assert await awaited(announced, "a") == []
        await asyncio.sleep(10.0)
        assert await awaited(announced, "a", "b") == ["a", "b"]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_right_that_is_missing_is_told_once_and_found_when_it_comes() -> None:
    said: list[str] = []
    message = 'configmaps is forbidden: User "restow" cannot list resource "configmaps"'
    async with a_double() as double, an_announced(double, said) as announced:
        double.answers("GET", PATH, *[a_status(403, "Forbidden", message)] * 3, listed(a_map("a")), HANG)
        assert await awaited(announced, "a") == []
        await asyncio.sleep(60.0)
        assert await awaited(announced, "a") == ["a"]
    assert len(said) == 1
    assert 'resources: ["configmaps"], verbs: [list, watch]' in said[0]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_config_map_that_cannot_be_read_names_nobody() -> None:
    odd = {"metadata": {"name": "restow-steering"}, "data": {"a": 7}}
    async with a_double() as double, an_announced(double) as announced:
        double.answers("GET", PATH, listed(odd), HANG)
        assert await awaited(announced, "a") == []
