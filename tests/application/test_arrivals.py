"""What Prometheus knows of pods becomes a trace: who came by itself, when it went, and what it requested."""

from __future__ import annotations

import math

import pytest

from restow.application import arrivals
from restow.application.arrivals import QUERIES, ArrivalsRequest, recorded_arrivals
from restow.application.feedback import Collected
from restow.client.credentials import Endpoint, Fixed, Identity
from restow.client.prometheus import LabelledSample
from restow.errors import InputError

#: 2026-11-21T00:00:00Z, when Prometheus has seen pods last.
NOW = 1_795_219_200
HOUR = 3600


class Pods:
    """Pods as kube-state-metrics shows them."""

    def __init__(self) -> None:
        self.found: dict[str, list[LabelledSample]] = {name: [] for name in QUERIES}
        self.add("newest", created=NOW - 48 * HOUR)

    def add(self, name, *, created, seen=NOW, completed=math.nan, owner="Job", namespace="batch", **requests):
        labels = {"namespace": namespace, "pod": name}
        for query, value in (("created", created), ("seen", seen), ("completed", completed)):
            self.found[query].append(LabelledSample(labels, float(value)))
        self.found["owner"].append(LabelledSample(labels | {"owner_kind": owner}, 1.0))
        for resource, value in requests.items():
            self.found["requests"].append(LabelledSample(labels | {"resource": resource}, float(value)))


@pytest.fixture
def pods(monkeypatch):
    found = Pods()

    async def ask(_request):
        return found.found

    monkeypatch.setattr(arrivals, "_ask", ask)
    return found


@pytest.fixture
def recorded():
    endpoint = Endpoint(server="http://prometheus", credentials=Fixed(Identity()))
    return lambda since=24 * HOUR: recorded_arrivals(ArrivalsRequest(endpoint, since), Collected())


def test_a_pod_that_completed_goes_then_and_one_that_vanished_when_it_was_seen_last(pods, recorded):
    pods.add("vanished", created=NOW - 5 * HOUR, seen=NOW - 4 * HOUR)
    pods.add("completed", created=NOW - 3 * HOUR, completed=NOW - 2 * HOUR, seen=NOW - HOUR)
    pods.add("there", created=NOW - 2 * HOUR)
    assert recorded().text.splitlines() == [
        "namespace,name,arrives,departs",
        "batch,vanished-again,2026-11-20T19:00:00Z,2026-11-20T20:00:00Z",
        "batch,completed-again,2026-11-20T21:00:00Z,2026-11-20T22:00:00Z",
        "batch,there-again,2026-11-20T22:00:00Z,",
    ]


def test_requests_are_quantities_and_names_that_are_not_known_are_told(pods, recorded):
    pods.add("one", created=NOW - HOUR, cpu=0.25, memory=2**27, nvidia_com_gpu=2)
    pods.add("two", created=NOW - HOUR / 2, cpu=1, example_com_fpga=1)
    found = recorded()
    assert found.text.splitlines()[0] == "namespace,name,arrives,departs,cpu,memory,nvidia.com/gpu"
    assert [line.rsplit(",", 3)[1:] for line in found.text.splitlines()[1:]] == [
        ["250m", "134217728", "2"],
        ["1000m", "0", "0"],
    ]
    assert found.sentence == "2 pods that came and went by themselves; without requests of example_com_fpga"


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node"])
def test_pods_that_a_controller_of_the_simulation_makes_are_left_out(pods, recorded, kind):
    pods.add("web", created=NOW - HOUR, owner=kind)
    pods.add("alone", created=NOW - HOUR, owner="")
    found = recorded()
    assert (found.pods, found.replicated) == (1, 1)
    assert "alone-again" in found.text
    assert "1 pod of Deployments and the like left out" in found.sentence


def test_pods_from_before_are_left_out(pods, recorded):
    pods.add("before", created=NOW - 2 * HOUR)
    pods.add("since", created=NOW - HOUR / 2)
    assert [line.split(",")[1] for line in recorded(HOUR).text.splitlines()[1:]] == ["since-again"]


@pytest.mark.parametrize("created", [math.nan, math.inf, -1.0, 1e300])
def test_what_is_no_time_is_left_out(pods, recorded, created):
    pods.add("odd", created=created)
    pods.add("one", created=NOW - HOUR, completed=1e300, memory=math.inf)
    assert [line.split(",")[1:] for line in recorded().text.splitlines()[1:]] == [
        ["one-again", "2026-11-20T23:00:00Z", ""]
    ]


def test_without_any_pods_it_is_said_what_is_missing(pods, recorded):
    pods.found["created"].clear()
    with pytest.raises(InputError, match="kube_pod_created has no series"):
        recorded()
