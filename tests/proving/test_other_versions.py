"""The minor version of the API server: where restow does not know its scheduler, moves that depend on scores say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import HOSTNAME, NOW, Object, a_container, a_node, a_pod, ago
from builders.devices import (
    a_claim,
    a_claim_template,
    a_device,
    a_device_class,
    a_request,
    a_slice,
    a_taint_rule,
    allocated,
    exactly,
    uses,
)
from descheduling.harness import a_cluster, a_policy
from proving.proven import TOLD, codes, moved, read_policy, reasons
from restow.descheduling.cycle import Cycle
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.policies.codes import Certainty
from restow.proving.search import prove_cycle
from restow.scheduling.framework.minors import FOLLOWED

NODES = [a_node(f"n{at}", cpu="4", labels={HOSTNAME: f"n{at}"}) for at in range(3)]
REQUESTING = a_container(image="web:1", requests={"cpu": "1", "example.com/gpu": "1"})
#: Two replicas on n0; the scheduler puts the next one on an empty node.
DUPLICATES = [
    a_pod(f"p{at}", node="n0", cpu="1", owner=("ReplicaSet", "web"), created=ago(3600), images=["web:1"])
    for at in range(2)
]
UNKNOWN = FOLLOWED[-1] + 1
SAID = f"the API server is Kubernetes 1.{UNKNOWN}, and restow knows the scheduler of 1.33 to 1.37: it goes by 1.37"


def planned(minor: int | None, *objects: Object, policy: Object, steering: str = "none") -> Cycle:
    cluster = replace(a_cluster(*NODES, *objects, *TOLD), server_minor=minor)
    return prove_cycle(cluster, read_policy(policy), strategies(), parse_time(NOW), steering=steering)  # type: ignore[arg-type]


@pytest.mark.parametrize("minor", [*FOLLOWED, None])
def test_a_version_that_is_followed_and_a_file_are_no_caveat(minor: int | None) -> None:
    (eviction,) = planned(minor, *DUPLICATES, policy=a_policy("RemoveDuplicates", {})).record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (Certainty.CERTAIN, "")


@pytest.mark.parametrize(("minor", "says"), [(UNKNOWN, SAID), (FOLLOWED[0] - 1, "it goes by 1.33")])
def test_a_move_that_depends_on_scores_is_likely_at_most(minor: int, says: str) -> None:
    """On its own node the pod would fit as well."""
    (eviction,) = planned(minor, *DUPLICATES, policy=a_policy("RemoveDuplicates", {})).record.evictions
    assert eviction.landing.certainty == Certainty.LIKELY
    assert says in eviction.landing.caveat


def test_where_moves_must_be_certain_it_stays() -> None:
    cycle = planned(UNKNOWN, *DUPLICATES, policy=a_policy("RemoveDuplicates", {}, restow={"certainty": "certain"}))
    assert (moved(cycle), codes(cycle)) == ([], {"p1": "NotCertain"})
    assert reasons(cycle)["p1"][2].startswith(SAID)


def test_a_move_for_which_every_node_will_do_stays_certain() -> None:
    policy = a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 60})
    (eviction,) = planned(UNKNOWN, DUPLICATES[0], policy=policy).record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (Certainty.CERTAIN, "")


GPUS = [
    a_device_class("gpu"),
    a_claim_template("one", exactly(a_request("gpu", "gpu"))),
    *(a_slice(f"gpus-{at}", [a_device("a"), a_device("b")], node=f"n{at}") for at in range(3)),
    a_claim(
        "mine", exactly(a_request("gpu", "gpu")), devices=[allocated("gpu", "a", pool="n0")], node="n0", owner="p1"
    ),
]
CLAIMING = a_pod(
    "p1",
    node="n0",
    cpu="1",
    owner=("ReplicaSet", "web"),
    created=ago(3600),
    images=["web:1"],
    spec={"resourceClaims": [uses("gpu", template="one")]},
    claims={"gpu": "mine"},
)


@pytest.mark.parametrize(
    ("minor", "certainty", "says"),
    [
        (35, Certainty.LIKELY, "it claims devices, and Kubernetes 1.35 tries pools of them in an order of chance"),
        (36, Certainty.CERTAIN, ""),
        (37, Certainty.LIKELY, "it claims devices, and objects of kind DeviceTaintRule are not known here"),
    ],
)
@pytest.mark.parametrize("steering", ["none", "nominate"])
def test_where_the_devices_of_a_pod_are_open_its_move_is_likely_at_most(
    minor: int, certainty: Certainty, says: str, steering: str
) -> None:
    cycle = planned(minor, DUPLICATES[0], CLAIMING, *GPUS, policy=a_policy("RemoveDuplicates", {}), steering=steering)
    (eviction,) = cycle.record.evictions
    assert (moved(cycle), eviction.landing.certainty, eviction.landing.caveat) == (["p1"], certainty, says)


def test_where_taint_rules_are_known_it_is_certain_in_1_37() -> None:
    rule = a_taint_rule("broken", {"device": "none"})
    cycle = planned(37, DUPLICATES[0], CLAIMING, *GPUS, rule, policy=a_policy("RemoveDuplicates", {}))
    (eviction,) = cycle.record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (Certainty.CERTAIN, "")


def test_where_drivers_prepare_devices_late_it_is_likely_at_most() -> None:
    late = a_slice("late", [a_device("z", bindingConditions=["ready"])], node="n2", pool="late")
    cycle = planned(36, DUPLICATES[0], CLAIMING, *GPUS, late, policy=a_policy("RemoveDuplicates", {}))
    (eviction,) = cycle.record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (
        Certainty.LIKELY,
        "it claims devices, of which some are prepared once a node is chosen (bindingConditions), and that may fail",
    )


def test_so_is_the_move_of_a_pod_that_requests_what_a_class_serves() -> None:
    served = a_device_class("gpu", extendedResourceName="example.com/gpu")
    slices = [a_slice(f"gpus-{at}", [a_device("a"), a_device("b")], node=f"n{at}") for at in range(3)]
    unused = a_claim("unused", exactly(a_request("gpu", "gpu")))
    pods = [each | {"spec": each["spec"] | {"containers": [REQUESTING]}} for each in DUPLICATES]
    objects = [*pods, served, *slices, unused]
    for minor, certainty in ((36, Certainty.CERTAIN), (37, Certainty.LIKELY)):
        (eviction,) = planned(minor, *objects, policy=a_policy("RemoveDuplicates", {})).record.evictions
        assert eviction.landing.certainty == certainty


def test_where_moves_must_be_certain_a_pod_whose_devices_are_open_stays() -> None:
    policy = a_policy("RemoveDuplicates", {}, restow={"certainty": "certain"})
    assert codes(planned(37, DUPLICATES[0], CLAIMING, *GPUS, policy=policy)) == {"p1": "NotCertain"}


def test_a_steered_move_does_not_depend_on_scores() -> None:
    (eviction,) = planned(
        UNKNOWN, *DUPLICATES, policy=a_policy("RemoveDuplicates", {}), steering="nominate"
    ).record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (Certainty.CERTAIN, "")
