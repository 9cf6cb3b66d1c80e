"""What is said of a node that lacks devices: how many are free, and how many are wanted."""

from __future__ import annotations

import pytest

from builders import Object
from builders.devices import a_device, a_request, first_available
from restow.scheduling.devices.claims import Claims
from scheduling.devices.finding import GPU, GPUS, NODES, Finding, claiming, gpus, on

SWITCH = [{"matchAttribute": f"{GPU}/switch"}]
TAINTED = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
SHARED = {"allowMultipleAllocations": True}


def lacking(*objects: Object) -> str:
    """What the pod ``p`` lacks on n1."""
    asked = Finding(*NODES, GPUS, *objects)
    names = asked.state.cluster.nodes.names
    assert ("n1" in asked.feasible()) is False
    return asked.context.shared(Claims).lacking(asked.row("p"), names.index("n1"))


def wanting(count: int, **more: object) -> Object:
    return a_request("r", "gpu", count=count, **more)


@pytest.mark.parametrize(
    ("slice", "request_", "said"),
    [
        (on("n1", *gpus(2)), wanting(3), "2 of 2 devices of class gpu free, and its claim wants 3"),
        (on("n2", *gpus(2)), wanting(1), "no device of class gpu that its claim selects"),
        (
            on("n1", *gpus(1), a_device("bad", **TAINTED)),
            wanting(2),
            "1 of 2 devices of class gpu free, and its claim wants 2",
        ),
        (
            on("n1", a_device("a", None, {"memory": "4"}, **SHARED)),
            wanting(1, capacity={"requests": {"memory": "5"}}),
            "0 of 1 devices of class gpu free, and its claim wants 1",
        ),
    ],
)
def test_a_request(slice: Object, request_: Object, said: str) -> None:
    assert lacking(slice, *claiming(request_)) == said


def test_devices_of_others_are_not_free() -> None:
    asked = Finding(*NODES, GPUS, on("n1", *gpus(3)), *claiming(wanting(2), name="a"), *claiming(wanting(2)))
    asked.settle("a")
    claims = asked.context.shared(Claims)
    assert claims.lacking(asked.row("p"), 0) == "1 of 3 devices of class gpu free, and its claim wants 2"


def test_all_devices() -> None:
    both = [*claiming(wanting(1), name="a"), *claiming(wanting(0))]
    asked = Finding(*NODES, GPUS, on("n1", *gpus(2)), *both)
    asked.settle("a")
    said = asked.context.shared(Claims).lacking(asked.row("p"), 0)
    assert said == "1 of 2 devices of class gpu free, and its claim wants all of them"


def test_what_devices_must_have_in_common() -> None:
    switches = [a_device(f"d{at}", {"switch": switch}) for at, switch in enumerate("aabb")]
    said = lacking(on("n1", *switches), *claiming(wanting(3), constraints=SWITCH))
    assert said == "4 of 4 devices of class gpu free, at most 2 with one switch, and its claim wants 3"


def test_every_alternative() -> None:
    either = first_available("r", a_request("big", "gpu", count=4), a_request("small", "gpu", count=2))
    assert lacking(on("n1", *gpus(1)), *claiming(either)) == (
        "1 of 1 devices of class gpu free, and its claim wants 4; 1 of 1 devices of class gpu free, and its claim wants 2"
    )


def test_nothing_is_said_where_each_request_alone_finds_its_devices() -> None:
    two = [wanting(1) | {"name": name} for name in ("a", "b")]
    assert lacking(on("n1", *gpus(1)), *claiming(*two)) == ""


def test_nothing_is_said_of_a_claim_that_does_not_exist() -> None:
    _, pod = claiming(wanting(1))
    asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), pod)
    assert asked.context.shared(Claims).lacking(asked.row("p"), 0) == ""
