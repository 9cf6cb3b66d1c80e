"""Effective requests of pods, and the QoS class that containers imply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.objects import ResourceRequirements
from restow.kube.quantity import parse_quantity
from restow.kube.requests import QOS_CLASSES, ContainerRequests, pod_requests, qos_class


def cpu(amount: str, *, sidecar: bool = False) -> ContainerRequests:
    return ContainerRequests({"cpu": amount}, sidecar=sidecar)


def printed(containers=(), init_containers=(), pod_level=None, overhead=None) -> dict[str, str]:
    requests = pod_requests(containers, init_containers, pod_level or {}, overhead or {})
    return {resource: str(quantity) for resource, quantity in requests.items()}


@pytest.mark.parametrize(
    ("containers", "init_containers", "expected"),
    [
        pytest.param([], [], {}, id="nothing"),
        pytest.param([cpu("100m"), cpu("200m")], [], {"cpu": "300m"}, id="containers-add-up"),
        pytest.param([cpu("100m")], [cpu("1")], {"cpu": "1"}, id="larger-init-container"),
        pytest.param([cpu("2")], [cpu("1"), cpu("1")], {"cpu": "2"}, id="init-containers-take-turns"),
        pytest.param([cpu("1")], [cpu("1", sidecar=True)], {"cpu": "2"}, id="sidecars-keep-running"),
        pytest.param([cpu("1")], [cpu("1", sidecar=True), cpu("2")], {"cpu": "3"}, id="init-container-after-sidecar"),
        pytest.param([cpu("1")], [cpu("2"), cpu("1", sidecar=True)], {"cpu": "2"}, id="init-container-before-sidecar"),
        pytest.param([cpu("0")], [], {"cpu": "0"}, id="zero-is-named"),
        pytest.param(
            [cpu("1")], [ContainerRequests({"memory": "1Gi"})], {"cpu": "1", "memory": "1Gi"}, id="by-resource"
        ),
    ],
)
def test_the_larger_of_the_end_and_each_init_step(containers, init_containers, expected):
    assert printed(containers, init_containers) == expected


def test_supported_requests_of_the_pod_replace_those_of_its_containers():
    pod_level = {"cpu": "100m", "hugepages-2Mi": "2Mi", "x.io/gpu": "9"}

    assert printed([cpu("1"), ContainerRequests({"x.io/gpu": "1"})], (), pod_level) == {
        "cpu": "100m",
        "hugepages-2Mi": "2Mi",
        "x.io/gpu": "1",
    }


def test_overhead_is_added_for_every_resource_it_names():
    assert printed([cpu("1")], (), {"cpu": "2"}, {"cpu": "250m", "memory": "64Mi"}) == {
        "cpu": "2250m",
        "memory": "64Mi",
    }


def test_the_resource_with_a_bad_text_is_named():
    with pytest.raises(ValueError, match=r'^memory: "1Gx" is not a quantity'):
        pod_requests([ContainerRequests({"memory": "1Gx"})], [], {}, {})


amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 5))
steps = st.lists(st.tuples(amounts, st.booleans()).map(lambda each: ContainerRequests(*each)), max_size=4)


@given(st.lists(amounts.map(ContainerRequests), max_size=3), steps)
def test_requests_cover_the_end_and_every_step(containers, init_containers):
    """Recomputed step by step: what runs together never exceeds the request, and some step needs all of it."""
    requests = pod_requests(containers, init_containers, {}, {})

    for resource, quantity in requests.items():
        needs, sidecars = [], 0
        for container in init_containers:
            own = container.requests.get(resource, 0)
            sidecars += own if container.sidecar else 0
            needs.append(sidecars + (0 if container.sidecar else own))
        needs.append(sidecars + sum(container.requests.get(resource, 0) for container in containers))
        assert quantity == parse_quantity(max(needs))


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([], "BestEffort", id="no-containers"),
        pytest.param([(None, None)], "BestEffort", id="nothing-asked"),
        pytest.param([({"cpu": "0"}, {"memory": "0"})], "BestEffort", id="zero-counts-as-nothing"),
        pytest.param([({"x.io/gpu": "1"}, {"x.io/gpu": "1"})], "BestEffort", id="other-resources-do-not-count"),
        pytest.param([({"cpu": "1"}, None)], "Burstable", id="requests-only"),
        pytest.param([(FULL, FULL)], "Guaranteed", id="equal"),
        pytest.param([(FULL, {"cpu": "1000m", "memory": "1024Mi"})], "Guaranteed", id="equal-in-other-words"),
        pytest.param([(None, FULL)], "Burstable", id="limits-do-not-imply-requests"),
        pytest.param([({"cpu": "1"}, FULL)], "Burstable", id="request-missing"),
        pytest.param([(FULL, {"cpu": "2", "memory": "1Gi"})], "Burstable", id="larger-limit"),
        pytest.param([(FULL, FULL), (None, None)], "Burstable", id="one-container-without-limits"),
        pytest.param(
            [
                ({"cpu": "1", "memory": "1"}, {"cpu": "2", "memory": "1"}),
                ({"cpu": "3", "memory": "1"}, {"cpu": "2", "memory": "1"}),
            ],
            "Guaranteed",
            id="only-sums-are-compared",
        ),
    ],
)
def test_qos_class_of_containers(containers, expected):
    assert qos_class([ResourceRequirements(requests, limits) for requests, limits in containers]) == expected


def test_qos_classes_are_in_the_order_of_eviction():
    """PH-03: BestEffort goes before Burstable before Guaranteed."""
    assert QOS_CLASSES == ("BestEffort", "Burstable", "Guaranteed")
