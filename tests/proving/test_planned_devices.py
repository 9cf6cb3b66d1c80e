"""Joint plans in clusters whose pods claim devices: what nodes have left of them counts before anything is proven."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from builders import HOSTNAME, Object, a_node, a_pod, ago
from builders.devices import (
    a_claim,
    a_claim_template,
    a_device,
    a_device_class,
    a_request,
    a_slice,
    allocated,
    exactly,
    uses,
)
from descheduling.harness import a_cluster
from proving.joint import planned, result
from proving.proven import landings, moved
from restow.cluster.state import ClusterState
from restow.scheduling.devices.claims import Claims
from restow.scheduling.devices.supply import DeviceSupply
from restow.scheduling.framework.context import Context

#: How many devices the pods on a node have, by node.
Layout = Mapping[str, tuple[int, ...]]


def a_template(count: int, of_class: str = "gpu") -> Object:
    return a_claim_template(f"{of_class}-{count}", exactly(a_request("r", of_class, count=count)))


def a_trainer(name: str, count: int, node: str | None = None, first: int = 0, of_class: str = "gpu") -> list[Object]:
    """A pod with a claim of its own, which has devices if the pod is on a node."""
    got = [allocated("r", f"{of_class}-{first + at}", pool=str(node)) for at in range(count)]
    request = exactly(a_request("r", of_class, count=count))
    has = {} if node is None else {"devices": got, "node": node, "reserved_for": (name,)}
    claim = a_claim(f"{name}-c", request, owner=name, **has)  # type: ignore[arg-type]
    template = f"{of_class}-{count}"
    spec = {"resourceClaims": [uses("r", template=template)]}
    controller = f"trainer-{template}"
    there = {"node": node} if node else {"phase": "Pending"}
    pod = a_pod(
        name,
        owner=("ReplicaSet", controller),
        cpu="100m",
        created=ago(3600),
        spec=spec,
        claims={"r": f"{name}-c"},
        **there,
    )
    return [claim, pod]


def a_controller(count: int, replicas: int, of_class: str = "gpu") -> Object:
    """What makes the next pods, each with a claim of the template."""
    template = f"{of_class}-{count}"
    name = f"trainer-{template}"
    claims = [uses("r", template=template)]
    containers = [{"name": "", "resources": {"requests": {"cpu": "100m", "memory": "0"}}}]
    spec = {"containers": containers, "resourceClaims": claims}
    return {
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }


def a_fleet(devices: int, layout: Layout, *waiting: int) -> Iterator[Object]:
    """Nodes with as many devices each, the pods that have some of them, and pods that wait for so many."""
    counts = [count for counts in layout.values() for count in counts]
    yield a_device_class("gpu")
    for count in sorted({*counts, *waiting}):
        yield a_template(count)
        yield a_controller(count, counts.count(count) + waiting.count(count))
    for node, of_pods in layout.items():
        yield a_node(node, cpu="8", labels={HOSTNAME: node})
        yield a_slice(f"{node}-gpus", [a_device(f"gpu-{at}") for at in range(devices)], node=node)
        first = 0
        for at, count in enumerate(of_pods):
            yield from a_trainer(f"{node}-{at}", count, node, first)
            first += count
    for at, count in enumerate(waiting):
        yield from a_trainer(f"waiting-{at}", count)


def test_moves_make_room_for_a_pod_that_waits_for_devices() -> None:
    """Two nodes of four devices have two left each, and a pod wants three."""
    (first,) = planned({"goal": "room"}, *a_fleet(4, {"a": (1, 1), "b": (1, 1)}, 3), most=1)
    assert len(moved(first)) == 1
    assert (result(first).before, result(first).after) == (1, 0)
    assert result(first).fewest_moves


def test_a_pod_whose_devices_are_there_needs_no_move() -> None:
    (first,) = planned({"goal": "room"}, *a_fleet(4, {"a": (1, 1), "b": (1,)}, 3), most=1)
    assert (moved(first), result(first).before) == ([], 0)


def test_no_pod_moves_for_one_that_no_node_has_devices_for() -> None:
    (first,) = planned({"goal": "room"}, *a_fleet(4, {"a": (1, 1), "b": (1, 1)}, 5), most=1)
    assert (moved(first), result(first).after) == ([], 1)
    assert result(first).optimal


def test_packing_goes_by_the_devices_that_nodes_have() -> None:
    """Requests of all pods fit on one node, their devices on two."""
    layout = {"a": (1,), "b": (1,), "c": (1,), "d": (1,)}
    (first,) = planned({"goal": "pack"}, *a_fleet(2, layout), most=1)
    assert (result(first).before, result(first).after, len(landings(first))) == (4, 2, 2)
    assert not first.record.refusals


def test_a_pod_that_names_a_claim_with_devices_stays() -> None:
    shared = a_claim(
        "shared",
        exactly(a_request("r", "gpu")),
        devices=[allocated("r", "gpu-1", pool="a")],
        node="a",
        reserved_for=("own",),
    )
    own = a_pod(
        "own",
        node="a",
        owner=("ReplicaSet", "other"),
        cpu="100m",
        created=ago(3600),
        spec={"resourceClaims": [uses("r", claim="shared")]},
    )
    (first,) = planned({"goal": "pack"}, *a_fleet(2, {"a": (1,), "b": (1,), "c": ()}), shared, own, most=1)
    assert "own" not in moved(first)


def test_what_a_class_serves_counts_as_devices_and_not_as_a_resource_that_no_node_has() -> None:
    def requesting(name: str, node: str) -> list[Object]:
        got = [allocated("container-0-request-1", "gpu-0", pool=node)]
        claim = a_claim(f"{name}-c", exactly(a_request("r", "gpu")), devices=got, node=node, owner=name)
        claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
        owner = ("ReplicaSet", "trainer")
        return [claim, a_pod(name, node=node, owner=owner, created=ago(3600), requests={"example.com/gpu": "1"})]

    objects = [a_device_class("gpu", extendedResourceName="example.com/gpu")]
    for name in "abcd":
        objects += [a_node(name, cpu="8", labels={HOSTNAME: name}), *requesting(f"p{name}", name)]
        objects.append(a_slice(f"{name}-gpus", [a_device("gpu-0"), a_device("gpu-1")], node=name))
    (first,) = planned({"goal": "pack"}, *objects, most=1)
    assert (result(first).before, result(first).after, len(landings(first))) == (4, 2, 2)
    assert not first.record.refusals


class TestSupply:
    @pytest.fixture
    def supply(self) -> DeviceSupply:
        big = a_device_class("big", 'device.attributes["gpu.example.com"].size > 1')
        mixed = [a_device(f"gpu-{at}", {"size": at}) for at in range(4)]
        objects = [
            a_node("a"),
            a_node("b"),
            a_device_class("gpu"),
            big,
            a_slice("a-gpus", mixed, node="a"),
            *a_trainer("p", 2, "a"),
            *a_trainer("q", 1, "a", 3, of_class="big"),
            *a_trainer("r", 3),
        ]
        state = ClusterState(a_cluster(*objects))
        return DeviceSupply(Claims(Context.of(state)), range(len(state.cluster.pods)))

    def test_kinds_are_what_claims_ask_for(self, supply: DeviceSupply) -> None:
        assert [each.of_class for each in supply.kinds] == ["gpu", "big"]
        assert [supply.wanted(pod) for pod in range(3)] == [[2, 0], [0, 1], [3, 0]]

    def test_a_device_may_be_of_two_kinds(self, supply: DeviceSupply) -> None:
        assert supply.on(0) == [(4, 2), (2, 0)]
        assert supply.on(1) == [(0, 0), (0, 0)]


def test_what_is_read_of_a_state_that_pods_have_left_is_what_one_knows_who_has_seen_them_leave() -> None:
    state = ClusterState(a_cluster(*a_fleet(4, {"a": (1, 2), "b": ()})))
    seen = DeviceSupply(Claims(Context.of(state)), range(2))
    state.remove(0)
    state.commit()
    assert seen.on(0) == DeviceSupply(Claims(Context.of(state)), range(2)).on(0) == [(4, 2)]
