"""Extended resources that a DeviceClass serves: which class, what the scheduler claims, and whose devices these are."""

from __future__ import annotations

import pytest

from builders import Object, a_container, a_node, a_pod
from builders.devices import a_claim, a_device_class, a_request, allocated, exactly
from descheduling.harness import a_cluster
from restow.cluster.pod_parts import RequestParts
from restow.scheduling.devices.extended_resources import claim_for, serving_classes
from scheduling.devices.finding import NODES, Finding, gpus, on

GPU = "example.com/gpu"
SERVED = a_device_class("gpu", extendedResourceName=GPU)
#: So that it is known that there are claims.
UNUSED = a_claim("unused", exactly(a_request("r", "gpu")))
ANNOTATED = {"resource.kubernetes.io/extended-resource-claim": "true"}


def created(at: str, device_class: Object) -> Object:
    return device_class | {"metadata": device_class["metadata"] | {"creationTimestamp": at}}


def requesting(name: str = "p", count: int = 1, **more: object) -> Object:
    return a_pod(name, requests={GPU: str(count)}, **more)  # type: ignore[arg-type]


def made_for(pod: str, *devices: str, node: str = "n1") -> Object:
    """The claim that the scheduler has made for a pod."""
    got = [allocated("container-0-request-0", each, pool=node) for each in devices]
    claim = a_claim(f"{pod}-extended", exactly(a_request("r", "gpu")), devices=got, node=node, owner=pod)
    return claim | {"metadata": claim["metadata"] | {"annotations": ANNOTATED}}


class TestClasses:
    def test_one_serves_what_it_names_and_what_is_called_after_it(self) -> None:
        found = serving_classes(a_cluster(a_node("n"), SERVED, a_device_class("bare")))
        implicit = "deviceclass.resource.kubernetes.io"
        assert found == {GPU: "gpu", f"{implicit}/gpu": "gpu", f"{implicit}/bare": "bare"}

    @pytest.mark.parametrize(
        ("first", "second", "serves"),
        [("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "b"), ("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z", "a")],
    )
    def test_of_two_the_newer_one_serves(self, first: str, second: str, serves: str) -> None:
        a, b = (a_device_class(name, extendedResourceName=GPU) for name in "ab")
        assert serving_classes(a_cluster(a_node("n"), created(first, a), created(second, b)))[GPU] == serves

    def test_of_two_of_one_age_the_first_by_name_serves_and_the_other_serves_nothing(self) -> None:
        both = [a_device_class(name, extendedResourceName=GPU) for name in "ba"]
        found = serving_classes(a_cluster(a_node("n"), *both))
        assert found == {GPU: "a", "deviceclass.resource.kubernetes.io/a": "a"}


def gpu(count: int) -> dict[str, str]:
    return {"cpu": "1", GPU: str(count)} if count else {"cpu": "1"}


@pytest.mark.parametrize(
    ("init", "regular", "wanted"),
    [
        pytest.param([], [2, 1], {"container-0-request-1": 2, "container-1-request-1": 1}, id="each container"),
        pytest.param(
            [(2, False)], [1], {"container-0-request-1": 1, "container-1-request-1": 1}, id="one more at first"
        ),
        pytest.param([(2, False)], [3], {"container-1-request-1": 3}, id="enough later"),
        pytest.param(
            [(1, False), (3, False)], [1], {"container-1-request-1": 2, "container-2-request-1": 1}, id="the most"
        ),
        pytest.param(
            [(2, True), (3, False)],
            [1],
            {"container-0-request-1": 2, "container-1-request-1": 2, "container-2-request-1": 1},
            id="a sidecar keeps its own",
        ),
        pytest.param([], [0, 1], {"container-1-request-1": 1}, id="one that wants none"),
    ],
)
def test_what_is_claimed(init: list[tuple[int, bool]], regular: list[int], wanted: dict[str, int]) -> None:
    parts = RequestParts([gpu(each) for each in regular], [(gpu(each), sidecar) for each, sidecar in init], {}, {})
    claim = claim_for(parts, {GPU: "gpu"}, [GPU])
    assert {each.name: each.exactly.count for each in claim.requests or () if each.exactly} == wanted


class TestWhoHasWhat:
    def test_a_pod_gets_devices_where_they_are(self) -> None:
        asked = Finding(*NODES, SERVED, UNUSED, on("n2", *gpus(1)), requesting())
        assert asked.feasible() == ["n2"]

    def test_two_pods_do_not_get_one_device(self) -> None:
        asked = Finding(*NODES, SERVED, UNUSED, on("n1", *gpus(2)), requesting("a"), requesting("b"), requesting("c"))
        asked.settle("a")
        asked.settle("b")
        assert asked.feasible("c") == []
        assert asked.decide("c").message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")

    def test_what_a_running_pod_has_is_taken_until_it_leaves(self) -> None:
        running = requesting("u", node="n1")
        asked = Finding(*NODES, SERVED, made_for("u", "gpu-0"), running, on("n1", *gpus(1)), requesting())
        assert asked.feasible() == []
        asked.state.remove(asked.row("u"))
        asked.state.commit()
        assert asked.feasible() == ["n1"]

    def test_a_claim_of_containers_counts_all_of_them(self) -> None:
        both = a_pod("p", containers=[a_container("a", requests={GPU: "2"}), a_container("b", requests={GPU: "1"})])
        assert Finding(*NODES, SERVED, UNUSED, on("n1", *gpus(2)), on("n2", *gpus(3)), both).feasible() == ["n2"]
