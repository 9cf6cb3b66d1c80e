"""Moves of pods that claim devices: the next pod gets a claim of its own, made of the template, and devices for it."""

from __future__ import annotations

import pytest

from builders import HOSTNAME, Object, a_node, a_pod, ago
from builders.devices import a_claim, a_claim_template, a_device, a_device_class, a_request, allocated, exactly, uses
from descheduling.harness import a_policy
from explaining.explained import explained
from proving.proven import TOLD, codes, landings, plans, proven, reasons
from scheduling.devices.finding import GPUS, gpus, on

TRAIN = {"app": "train"}
ONE = exactly(a_request("gpu", "gpu"))
DUPLICATES = ("RemoveDuplicates", {})
RESOURCE = "example.com/gpu"


def a_replica_set(template: str = "one", replicas: int = 2) -> Object:
    claims = [uses("gpu", template=template)]
    spec = {
        "containers": [{"name": "", "resources": {"requests": {"cpu": "1", "memory": "0"}}}],
        "resourceClaims": claims,
    }
    return {
        "kind": "ReplicaSet",
        "metadata": {"name": "train", "namespace": "default", "uid": "u-train"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": TRAIN},
            "template": {"metadata": {"labels": TRAIN}, "spec": spec},
        },
    }


def training(name: str, device: str, node: str = "n0", **more: object) -> list[Object]:
    """A pod of the ReplicaSet on a node, with its device."""
    got = [allocated("gpu", device, pool=node)]
    claim = a_claim(f"{name}-gpu", ONE, devices=got, node=node, owner=name, reserved_for=(name,))
    owner, spec = ("ReplicaSet", "train", "u-train"), {"resourceClaims": [uses("gpu", template="one")]}
    pod = a_pod(
        name, node=node, owner=owner, cpu="1", labels=TRAIN, created=ago(3600), spec=spec, claims={"gpu": f"{name}-gpu"}
    )
    return [claim, pod | {"status": {**pod["status"], "phase": "Running"}} | more]


def nodes(*free: int) -> list[Object]:
    """Nodes of as many devices each."""
    made: list[Object] = []
    for at, count in enumerate(free):
        made.append(a_node(f"n{at}", cpu="8", labels={HOSTNAME: f"n{at}"}))
        made += [on(f"n{at}", *gpus(count))] if count else []
    return made


PODS = [*training("t0", "gpu-0"), *training("t1", "gpu-1")]
TEMPLATE = a_claim_template("one", ONE)


def planned(*objects: Object, template: Object = TEMPLATE) -> object:
    return proven(*DUPLICATES, GPUS, template, a_replica_set(), *PODS, *objects)


def test_a_pod_moves_to_the_node_that_has_a_device_left() -> None:
    assert landings(planned(*nodes(2, 0, 1))) == {"t1": "n2"}


def test_no_pod_moves_where_no_node_has_a_device_left() -> None:
    cycle = planned(*nodes(2, 0, 0))
    assert (landings(cycle), codes(cycle)) == ({}, {"t1": "SameNode"})


def test_the_explanation_says_how_many_devices_there_are_and_how_many_the_next_pod_wants() -> None:
    both = a_claim_template("one", exactly(a_request("gpu", "gpu", count=2)))
    places = explained(a_policy(*DUPLICATES), GPUS, both, a_replica_set(), *PODS, *nodes(2, 1, 0), pod="t1").places
    assert places is not None
    assert {name: text for each in places.rejected for name, text in each.details.items() if name != "n0"} == {
        "n1": "1 of 1 devices of class gpu free, and its claim wants 2",
        "n2": "no device of class gpu that its claim selects",
    }


def test_the_next_pod_claims_what_the_template_says_and_not_what_the_old_pod_has() -> None:
    both = a_claim_template("one", exactly(a_request("gpu", "gpu", count=2)))
    assert landings(planned(*nodes(2, 1, 2), template=both)) == {"t1": "n2"}


def test_without_the_template_nothing_is_proven() -> None:
    other = a_claim_template("another", ONE)
    cycle = planned(*nodes(2, 1), template=other)
    assert landings(cycle) == {}
    assert 'resourceclaimtemplate "one" not found' in reasons(cycle)["t1"][2]


def test_a_claim_that_a_pod_names_keeps_it_on_its_node() -> None:
    shared = a_claim(
        "shared", ONE, devices=[allocated("gpu", "gpu-0", pool="n0")], node="n0", reserved_for=("t0", "t1")
    )
    pods = [training(name, "gpu-0")[1] for name in ("t0", "t1")]
    for each in pods:
        each["spec"]["resourceClaims"] = [uses("gpu", claim="shared")]
        each["status"].pop("resourceClaimStatuses")
    owner = a_replica_set()
    owner["spec"]["template"]["spec"]["resourceClaims"] = [uses("gpu", claim="shared")]
    cycle = proven(*DUPLICATES, GPUS, shared, owner, *pods, *nodes(2, 1, 1))
    assert landings(cycle) == {}


def test_two_moves_do_not_get_one_device() -> None:
    """Three pods on one node and room for two elsewhere, on one node each."""
    pods = [*PODS, *training("t2", "gpu-2")]
    cycle = proven(*DUPLICATES, GPUS, TEMPLATE, a_replica_set(replicas=3), *pods, *nodes(3, 1, 1))
    assert sorted(landings(cycle).values()) == ["n1", "n2"]


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"])
def test_a_kind_that_the_input_lacks_leaves_the_move_open(kind: str) -> None:
    objects = [GPUS, TEMPLATE, a_replica_set(), *PODS, *nodes(2, 1), *TOLD]
    without = [each for each in objects if each["kind"] != kind]
    cycle = next(plans(without, a_policy(*DUPLICATES), most=1))
    assert codes(cycle) == {"t1": "Unknown"}


def test_a_pod_that_requests_what_a_class_serves_moves_to_a_node_with_devices() -> None:
    """Its claim was made by the scheduler; no node lists the resource."""
    served = a_device_class("gpu", extendedResourceName=RESOURCE)
    controller = a_replica_set()
    template = controller["spec"]["template"]["spec"]
    del template["resourceClaims"]
    template["containers"][0]["resources"]["requests"] |= {RESOURCE: "1"}
    pods: list[Object] = []
    for at, name in enumerate(("t0", "t1")):
        claim, pod = training(name, f"gpu-{at}")
        claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
        del pod["spec"]["resourceClaims"]
        pod["status"].pop("resourceClaimStatuses")
        pod["spec"]["containers"][0]["resources"]["requests"] |= {RESOURCE: "1"}
        pods += [claim, pod]
    assert landings(proven(*DUPLICATES, served, controller, *pods, *nodes(2, 0, 1))) == {"t1": "n2"}
    assert landings(proven(*DUPLICATES, served, controller, *pods, *nodes(2, 0, 0))) == {}


def test_other_devices_do_not_matter() -> None:
    big = a_device_class("gpu", 'device.attributes["gpu.example.com"].model == "h100"')
    small = [a_device("gpu-0", {"model": "t4"})]
    cycle = proven(*DUPLICATES, big, TEMPLATE, a_replica_set(), *PODS, *nodes(2), a_node("n1"), on("n1", *small))
    assert landings(cycle) == {}
