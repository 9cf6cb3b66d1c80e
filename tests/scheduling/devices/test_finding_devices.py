"""Which devices the first fit finds, by features of claims, classes, and pools.

The scheduler itself is asked the same in ``oracle.test_scheduler_differential``, on random clusters.
"""

from __future__ import annotations

import pytest

from builders import ZONE, Object, a_node
from builders.devices import a_device, a_device_class, a_request, a_slice, first_available
from scheduling.devices.finding import GPU, GPUS, NODES, Finding, claiming, gpus, on


def found(*objects: Object, of: tuple[Object, ...] = (GPUS,)) -> list[str]:
    """What the pod gets; empty if it gets no node."""
    asked = Finding(*NODES, *of, *objects)
    asked.settle("p")
    return asked.devices()


def one(**more: object) -> Object:
    return a_request("r", "gpu", **more)  # type: ignore[arg-type]


def test_the_first_that_fits_in_order_of_names_is_taken() -> None:
    late, early = a_slice("b", gpus(1), node="n1", slices=2), a_slice("a", [a_device("z")], node="n1", slices=2)
    assert found(late, early, *claiming(one())) == ["r n1/z"]


def test_a_number_of_devices_is_all_or_nothing() -> None:
    assert found(on("n1", *gpus(2)), *claiming(one(count=2))) == ["r n1/gpu-0", "r n1/gpu-1"]
    assert found(on("n1", *gpus(2)), *claiming(one(count=3))) == []


def test_all_devices_that_are_selected_are_asked_for() -> None:
    devices = [a_device("a", {"good": True}), a_device("b", {"good": False}), a_device("c", {"good": True})]
    wanted = a_request("r", "gpu", f'device.attributes["{GPU}"].good', count=0)
    assert found(on("n1", *devices), *claiming(wanted)) == ["r n1/a", "r n1/c"]


def test_a_class_selects_too() -> None:
    big = a_device_class("big", f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("10Gi"))')
    devices = [a_device("small", None, {"memory": "10Gi"}), a_device("large", None, {"memory": "11Gi"})]
    assert found(on("n1", *devices), *claiming(a_request("r", "big")), of=(big,)) == ["r n1/large"]


def test_of_alternatives_the_first_that_there_is_counts_and_scores_higher() -> None:
    wanted = first_available("r", one() | {"name": "two", "count": 2}, one() | {"name": "one"})
    asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), on("n2", *gpus(2)), *claiming(wanted))
    assert asked.feasible() == ["n1", "n2"]
    asked.settle("p")
    assert asked.devices() == ["r/two n2/gpu-0", "r/two n2/gpu-1"]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param({"matchAttribute": f"{GPU}/switch"}, ["r n1/b", "r n1/c"], id="alike"),
        pytest.param({"distinctAttribute": f"{GPU}/switch"}, ["r n1/a"], id="different"),
        pytest.param({"matchAttribute": "example.org/none"}, [], id="nobody has it"),
    ],
)
def test_devices_of_a_claim_have_something_in_common_or_differ(constraint: Object, expected: list[str]) -> None:
    devices = [a_device("a", {"switch": "s0"}), a_device("b", {"switch": "s1"}), a_device("c", {"switch": "s1"})]
    count = 2 if "matchAttribute" in constraint else 1
    assert found(on("n1", *devices), *claiming(one(count=count), constraints=[constraint])) == expected


def test_what_a_request_found_is_given_back_where_the_next_finds_nothing() -> None:
    devices = [a_device("a", {"fast": True}), a_device("b", {"fast": False})]
    picky = a_request("picky", "gpu", f'device.attributes["{GPU}"].fast')
    assert found(on("n1", *devices), *claiming(one(), picky)) == ["r n1/b", "picky n1/a"]


@pytest.mark.parametrize(
    ("effect", "tolerations", "is_found"),
    [
        ("NoSchedule", [], False),
        ("NoExecute", [{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}], False),
        ("NoExecute", [{"key": "broken", "operator": "Exists"}], True),
        ("NoSchedule", [{"operator": "Exists"}], True),
        ("NoSchedule", [{"key": "broken", "value": "yes"}], True),
        ("NoSchedule", [{"key": "broken", "operator": "Equal", "value": "no"}], False),
        ("None", [], True),
    ],
)
def test_taints_of_devices_have_to_be_tolerated(effect: str, tolerations: list[Object], is_found: bool) -> None:
    tainted = a_device("a", taints=[{"key": "broken", "value": "yes", "effect": effect}])
    assert bool(found(on("n1", tainted), *claiming(one(tolerations=tolerations)))) == is_found


def test_partitions_share_the_counters_of_their_device() -> None:
    def part(name: str, slots: str) -> Object:
        return a_device(name, consumesCounters=[{"counterSet": "chip", "counters": {"slots": {"value": slots}}}])

    chip = [{"name": "chip", "counters": {"slots": {"value": "4"}}}]
    counters = a_slice("counters", None, node="n1", slices=2, sharedCounters=chip)
    parts = [part("half-0", "2"), part("half-1", "2"), part("whole", "4")]
    pool = [counters, a_slice("parts", parts, node="n1", slices=2)]
    assert found(*pool, *claiming(one(count=2))) == ["r n1/half-0", "r n1/half-1"]
    assert found(*pool, *claiming(one(count=3))) == []


def test_a_shared_device_has_room_for_many_until_its_capacity_is_consumed() -> None:
    shared = a_device("a", None, {"memory": "40Gi"}, allowMultipleAllocations=True)
    wanted = one(capacity={"requests": {"memory": "15Gi"}})
    pods = [each for name in ("p", "q", "r") for each in claiming(wanted, name=name)]
    asked = Finding(*NODES, GPUS, on("n1", shared), *pods)
    asked.settle("p")
    asked.settle("q")
    assert asked.devices("q") == ["r n1/a"]
    assert asked.feasible("r") == []


@pytest.mark.parametrize(
    ("policy", "asked", "room"),
    [
        ({"default": "5Gi", "validValues": ["5Gi", "10Gi", "40Gi"]}, "6Gi", 4),
        ({"default": "5Gi", "validValues": ["5Gi", "10Gi"]}, "11Gi", 0),
        ({"default": "2Gi", "validRange": {"min": "2Gi", "step": "4Gi"}}, "3Gi", 6),
        ({"default": "2Gi", "validRange": {"min": "2Gi", "max": "9Gi"}}, "10Gi", 0),
        ({"default": "20Gi"}, None, 2),
        (None, None, 1),
    ],
)
def test_what_a_request_consumes_is_rounded_up_to_what_the_policy_permits(
    policy: Object | None, asked: str | None, room: int
) -> None:
    """``room``: how many requests fit into 40Gi."""
    memory = {"value": "40Gi"} | ({} if policy is None else {"requestPolicy": policy})
    shared = a_device("a", None, {"memory": memory}, allowMultipleAllocations=True)
    wanted = one(capacity={"requests": {"memory": asked}}) if asked else one()
    for count in (room, room + 1):
        requests = [wanted | {"name": f"r{at}"} for at in range(count)]
        assert len(found(on("n1", shared), *claiming(*requests))) == (count if count == room else 0)


def test_a_claim_that_looks_after_a_device_keeps_nobody_off_it() -> None:
    watching, working = claiming(one(adminAccess=True)), claiming(one(), name="q")
    asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), *watching, *working)
    asked.settle("p")
    asked.settle("q")
    assert asked.devices("p") == asked.devices("q") == ["r n1/gpu-0"]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        pytest.param([a_slice("s", gpus(1), pool="net", allNodes=True)], ["n1", "n2"], id="everywhere"),
        pytest.param(
            [
                a_slice(
                    "s",
                    gpus(1),
                    pool="net",
                    nodeSelector={
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x"]}]}]
                    },
                )
            ],
            ["n1"],
            id="by labels",
        ),
        pytest.param(
            [a_slice("s", [a_device("a", nodeName="n2")], pool="net", perDeviceNodeSelection=True)], ["n2"], id="each"
        ),
        pytest.param([a_slice("s", gpus(1), node="n1", slices=2)], [], id="a slice is missing"),
        pytest.param(
            [a_slice("s", gpus(1), node="n1"), a_slice("t", [], node="n1", generation=2)], [], id="replaced by nothing"
        ),
        pytest.param([a_slice("s", [a_device("a"), a_device("a")], node="n1")], [], id="one name twice"),
    ],
)
def test_which_nodes_reach_a_pool(pool: list[Object], expected: list[str]) -> None:
    nodes = (a_node("n1", labels={ZONE: "x"}), a_node("n2", labels={ZONE: "y"}))
    assert Finding(*nodes, GPUS, *pool, *claiming(one())).feasible() == expected


def test_a_search_that_takes_too_long_is_given_up_and_not_guessed() -> None:
    """Whoever may write a claim may write one for which there are more attempts than anybody waits for."""
    devices = [a_device(f"d{at:02}", {"index": at}) for at in range(24)]
    requests = [a_request(f"r{at}", "gpu", count=3) for at in range(4)]
    never = a_request("never", "gpu", "false")
    asked = Finding(*NODES, GPUS, on("n1", *devices), *claiming(*requests, never))
    assert asked.decide().unknown == "the search for its devices takes more than 20000 steps on n1"
