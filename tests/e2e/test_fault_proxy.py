"""The proxy makes the trouble that it is told to make, and otherwise cannot be told from the API server."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2e.control_plane import ControlPlane
from e2e.fault_proxy import FaultProxy
from e2e.faults import (
    AnswerLost,
    Fault,
    Forgotten,
    Held,
    Mute,
    NeverSent,
    Paged,
    Refused,
    Slow,
    Truncated,
    all_of,
    callers_with,
    calls,
    later_pages,
)
from e2e.kinds import collection
from e2e.rest import RefusedError, Rest
from e2e.waiting import wait_until
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as made:
        yield made


@pytest.fixture
def rest(plane: ControlPlane, proxy: FaultProxy) -> Iterator[Rest]:
    config = json.loads(plane.kubeconfig.read_text())
    token = config["users"][0]["user"]["token"]
    made = Rest(proxy.server, plane.layout.certificates.authority.certificate, token)
    yield made
    made.close()


def a_map(name: str, namespace: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


def test_without_trouble_everything_goes_through(plane: ControlPlane, rest: Rest, namespace: str) -> None:
    rest.create(deployment("web", 2, namespace=namespace))
    pods = wait_for_ready(rest, "web", 2, namespace)
    seen = next(iter(rest.watch("Pod", namespace)))
    assert seen["object"]["metadata"]["name"] in {pod["metadata"]["name"] for pod in pods}
    assert rest.items("Node") == plane.admin.items("Node")


def test_refusals_are_counted_and_say_when_to_ask_again(proxy: FaultProxy, rest: Rest) -> None:
    with proxy.trouble(calls("list", "nodes"), Refused(429, "TooManyRequests", retry_after=3), times=2) as trouble:
        assert [rest.ask("GET", "/api/v1/nodes").status for _ in range(3)] == [429, 429, 200]
        assert rest.ask("GET", "/api/v1/pods").status == 200
    assert trouble.happened == 2


def test_an_answer_that_is_lost_was_given_all_the_same(
    plane: ControlPlane, proxy: FaultProxy, rest: Rest, namespace: str
) -> None:
    with proxy.trouble(calls("create"), AnswerLost()), pytest.raises((OSError, http.client.HTTPException)):
        rest.create(a_map("done", namespace))
    assert plane.admin.find("ConfigMap", "done", namespace)
    with proxy.trouble(calls("create"), NeverSent()), pytest.raises((OSError, http.client.HTTPException)):
        rest.create(a_map("not-done", namespace))
    assert not plane.admin.find("ConfigMap", "not-done", namespace)


@pytest.mark.parametrize("fault", [Truncated(100), Truncated(0)], ids=str)
def test_half_an_answer(proxy: FaultProxy, rest: Rest, fault: Fault) -> None:
    with proxy.trouble(calls("list", "nodes"), fault), pytest.raises((OSError, http.client.HTTPException)):
        rest.items("Node")


def test_a_slow_answer_is_whole(plane: ControlPlane, proxy: FaultProxy, rest: Rest) -> None:
    began = time.monotonic()
    with proxy.trouble(calls("list", "nodes"), Slow(size=1000, pause=0.02)):
        assert rest.items("Node") == plane.admin.items("Node")
    assert time.monotonic() - began > 0.05


def test_small_pages_of_which_a_later_one_is_forgotten(proxy: FaultProxy, rest: Rest) -> None:
    with proxy.trouble(later_pages, Refused(410, "Expired")), proxy.trouble(calls("list"), Paged(2)):
        page = rest.call("GET", collection("Node", None), query={"limit": "500"})
        assert len(page["items"]) == 2
        with pytest.raises(RefusedError, match="410"):
            rest.call("GET", collection("Node", None), query={"limit": "500", "continue": page["metadata"]["continue"]})


def test_watches_are_cut_or_forgotten(proxy: FaultProxy, rest: Rest) -> None:
    began = time.monotonic()
    with proxy.cutting_watches(every=0.2):
        list(rest.watch("Node", seconds=60))
    assert time.monotonic() - began < 30
    with proxy.trouble(calls("watch"), Forgotten()):
        (event,) = rest.watch("Node")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_mute_watch_tells_nothing_until_the_trouble_is_over(proxy: FaultProxy, rest: Rest) -> None:
    with ThreadPoolExecutor(1) as pool:
        with proxy.trouble(calls("watch"), Mute()) as trouble:
            watching = pool.submit(lambda: list(rest.watch("Node", seconds=1)))
            wait_until("it is asked for", lambda: trouble.happened)
            with pytest.raises(TimeoutError):
                watching.result(timeout=2.0)
        assert watching.exception(timeout=10.0) or not watching.result()


def test_a_call_is_held_until_the_trouble_is_over(
    plane: ControlPlane, proxy: FaultProxy, rest: Rest, namespace: str
) -> None:
    with ThreadPoolExecutor(1) as pool:
        with proxy.trouble(all_of(calls("create"), calls(resource="configmaps")), Held()) as trouble:
            asking = pool.submit(rest.create, a_map("held", namespace))
            wait_until("it is asked for", lambda: trouble.happened)
            assert not plane.admin.find("ConfigMap", "held", namespace)
        assert asking.result(timeout=10.0)["metadata"]["name"] == "held"


def test_a_token_that_is_not_accepted(plane: ControlPlane, proxy: FaultProxy, namespace: str) -> None:
    token = plane.service_account("jane", namespace)
    with proxy.trouble(callers_with(token), Refused(401, "Unauthorized")):
        jane = Rest(proxy.server, plane.layout.certificates.authority.certificate, token)
        assert jane.ask("GET", "/api/v1/nodes").status == 401
    assert jane.ask("GET", "/api/v1/nodes").status == 403
    jane.close()
