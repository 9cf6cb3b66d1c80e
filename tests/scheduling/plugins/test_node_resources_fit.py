"""NodeResourcesFit against the rows of upstream's own tests (A: filter, B: score)."""

from __future__ import annotations

import numpy as np
import pytest

from builders import a_condition, a_container, a_node, a_pod, ago, running
from restow.errors import InputError
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.plugins.resource_scoring import least_allocated, most_allocated, requested_to_capacity_ratio
from scheduling.configurations import fit, loaded
from scheduling.plugins.asking import INCOMING, a_context, pod_index, scores, statuses

NAMES = {
    "aaa": "example.com/aaa",
    "bbb": "example.com/bbb",
    "foo": "intel.com/foo",
    "gib": "hugepages-2Mi",
    "disk": "ephemeral-storage",
    "other": "kubernetes.io/something",
}
CPU, MEMORY, AAA = "Insufficient cpu", "Insufficient memory", "Insufficient example.com/aaa"
FULL = "Too many pods"


def req(cpu=None, memory=None, *, sidecar=False, **more):
    """A container that requests so many milli CPU and bytes, and more by the short names above."""
    amounts = {NAMES[name]: str(amount) for name, amount in more.items()}
    if cpu is not None:
        amounts |= {"cpu": f"{cpu}m"}
    if memory is not None:
        amounts |= {"memory": str(memory)}
    return a_container(requests=amounts, restart_policy="Always" if sidecar else None)


def holds(*containers, node=None, name=INCOMING, init=(), **more):
    """A pod with exactly these containers, maybe none."""
    spec = {"containers": list(containers)} | more.pop("spec", {})
    return a_pod(name, node=node, init_containers=list(init) or None, spec=spec, **more)


def used(cpu=0, memory=0, **more):
    """What is on the node already."""
    return holds(req(cpu, memory, **more), node="n", name="used")


def machine(pods=32):
    """10 milli CPU, 20 bytes, 5 of two other resources and 20 bytes of disk."""
    return a_node(
        "n", cpu="10m", memory="20", pods=pods, extended={NAMES["aaa"]: 5, NAMES["gib"]: 5, NAMES["disk"]: 20}
    )


def ones(count, *, leaving=0):
    """Pods without requests, some of which are on their way out."""
    return [holds(name=f"p{number}", node="n", deleted=ago(1) if number < leaving else None) for number in range(count)]


OVERHEAD = {"overhead": {"cpu": "1m", "memory": "15"}}
WHOLE_POD = {"resources": {"requests": {"cpu": "7m"}}}

FILTER = {
    "A01": (holds(), used(10, 20), ("OK",)),
    "A02": (holds(req(1, 1)), used(10, 20), ("U", CPU, MEMORY)),
    "A03": (holds(req(1, 1), init=[req(3, 1)]), used(8, 19), ("U", CPU)),
    "A04": (holds(req(1, 1), init=[req(3, 1), req(2, 1)]), used(8, 19), ("U", CPU)),
    "A07": (holds(req(1, 1), init=[req(1, 1)]), used(9, 19), ("OK",)),
    "A12": (holds(req(5, 1)), used(5, 19), ("OK",)),
    "A13": (holds(req(4, 1), init=[req(5, 1)]), used(5, 19), ("OK",)),
    "A15": (holds(init=[req(aaa=1)]), used(), ("OK",)),
    "A17": (holds(init=[req(1, 1, aaa=10)]), used(), ("UAU", AAA)),
    "A20": (holds(req(aaa=3), req(aaa=3)), used(aaa=2), ("UAU", AAA)),
    "A21": (holds(init=[req(aaa=3), req(aaa=3)]), used(aaa=2), ("OK",)),
    "A22": (holds(init=[req(aaa=6), req(aaa=3)]), used(aaa=2), ("UAU", AAA)),
    "A26": (holds(req(gib=3), req(gib=3)), used(gib=2), ("UAU", "Insufficient hugepages-2Mi")),
    "A29": (holds(req(1, 1), spec=OVERHEAD), used(5, 5), ("U", MEMORY)),
    "A31": (holds(req(aaa=0)), used(aaa=6), ("OK",)),
    "A36": (holds(req(disk=25)), used(), ("UAU", "Insufficient ephemeral-storage")),
    "A37": (holds(req(disk=5)), used(disk=10), ("OK",)),
    "A38": (holds(req(disk=10)), used(2, 2), ("OK",)),
    "A40": (holds(req(1, 1), init=[req(2, 2, sidecar=True), req(6, 1)]), used(2, 0), ("OK",)),
    "A40-one-less": (holds(req(1, 1), init=[req(2, 2, sidecar=True), req(6, 1)]), used(3, 0), ("U", CPU)),
    "A41": (holds(req(1, 1), init=[req(6, 1), req(2, 2, sidecar=True)]), used(4, 0), ("OK",)),
    "A41-one-less": (holds(req(1, 1), init=[req(6, 1), req(2, 2, sidecar=True)]), used(5, 0), ("U", CPU)),
    "A43": (holds(req(1, 1), req(1, 1), spec=WHOLE_POD), used(4, 0), ("U", CPU)),
    "A43-memory-of-the-containers": (holds(req(1, 1), req(1, 1), spec=WHOLE_POD), used(3, 18), ("OK",)),
}


def status(*objects, **arguments):
    """What the plugin says of the only node."""
    context = a_context(*objects)
    return statuses(context, NodeResourcesFit(context, **arguments), pod_index(context))["n"]


@pytest.mark.parametrize(("pod", "present", "expected"), FILTER.values(), ids=FILTER)
def test_every_requested_resource_must_be_left(pod, present, expected):
    assert status(machine(), pod, present) == expected


@pytest.mark.parametrize(
    ("node", "pod", "present", "expected"),
    [
        pytest.param(machine(pods=1), holds(), ones(1), ("U", FULL), id="A33"),
        pytest.param(machine(pods=1), holds(req(11, 1)), ones(1), ("UAU", FULL, CPU), id="A39"),
        pytest.param(machine(), holds(), ones(32, leaving=5), ("U", FULL), id="A47"),
        pytest.param(machine(), holds(), ones(31, leaving=5), ("OK",), id="A47-one-less"),
    ],
)
def test_every_pod_takes_a_slot_until_it_is_gone(node, pod, present, expected):
    assert status(node, pod, *present) == expected


def resized(wanted, given, reason=None):
    """A pod on the node that wants so many milli CPU, was given so many, and why it does not get the others."""
    resources = {"cpu": f"{given}m", "memory": "0"}
    status = running() | {"name": "c", "allocatedResources": resources, "resources": {"requests": resources}}
    pending = [a_condition("PodResizePending", "True", reason=reason)] if reason else None
    containers = [req(wanted, 0) | {"name": "c"}]
    return holds(*containers, node="n", name="used", phase="Running", statuses=[status], conditions=pending)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param(resized(2, 5), ("U", CPU), id="A44-shrinking"),
        pytest.param(resized(9, 3, "Infeasible"), ("OK",), id="A45-will-not-be-done"),
        pytest.param(resized(9, 3, "Deferred"), ("U", CPU), id="A46-may-be-done-later"),
        pytest.param(resized(9, 3), ("U", CPU), id="growing"),
    ],
)
def test_a_pod_that_is_resized_counts_with_the_most_that_it_may_have(present, expected):
    assert status(machine(), holds(req(6, 1)), present) == expected


@pytest.mark.parametrize(
    ("pod", "arguments", "expected"),
    [
        pytest.param(holds(req(bbb=1)), {"ignored_resources": [NAMES["bbb"]]}, ("OK",), id="A27"),
        pytest.param(
            holds(req(bbb=1, other=1)),
            {"ignored_groups": ["example.com"]},
            ("UAU", "Insufficient kubernetes.io/something"),
            id="A30",
        ),
    ],
)
def test_resources_can_be_left_to_others(pod, arguments, expected):
    assert status(machine(), pod, **arguments) == expected


def rooms(*sizes, foo=()):
    """Nodes n0, n1... of milli CPU and bytes, some with so many foo."""
    more = [{NAMES["foo"]: amount} if amount else None for amount in (*foo, *[0] * len(sizes))]
    return [
        a_node(f"n{number}", cpu=f"{cpu}m", memory=str(memory), extended=more[number])
        for number, (cpu, memory) in enumerate(sizes)
    ]


def filled(*amounts, foo=()):
    """A pod on each of n0, n1... with these requests."""
    return [holds(req(*amount), name=f"u{number}", node=f"n{number}") for number, amount in enumerate(amounts)] + [
        holds(req(0, 0, foo=each), name=f"f{number}", node=f"n{number}") for number, each in enumerate(foo) if each
    ]


def asking(*containers):
    return holds(*containers)


SMALL_AND_LARGE, TENS, PAIR = [(4000, 10000), (6000, 10000)], [(10000, 20000), (10000, 50000)], [(4000, 10000)] * 2
TWICE_MEMORY = {"weights": [("memory", 2), ("cpu", 1)]}
WITH_FOO = {"weights": [("cpu", 1), ("memory", 1), ("intel.com/foo", 1)]}
MOST = {"strategy": most_allocated}
RATIO = {"strategy": requested_to_capacity_ratio([(0, 0), (100, 10)])}
FLAT_FOO = {"strategy": requested_to_capacity_ratio([(0, 0), (100, 1)]), "weights": [("intel.com/foo", 1)]}
LOADED = filled((2000, 4000), (1000, 2000))

SCORE = {
    "B01": (rooms(*PAIR), [], asking(), {}, [100, 100]),
    "B02": (rooms(*SMALL_AND_LARGE), [], asking(req(1000, 2000), req(2000, 3000)), {}, [37, 50]),
    "B05": (rooms(*TENS), filled((3000, 0), (3000, 5000)), asking(req(3000, 5000)), {}, [57, 60]),
    "B06": (rooms(*PAIR), filled((3000, 0), (3000, 5000)), asking(req(3000, 0)), {}, [50, 25]),
    "B07": (rooms((0, 0), (0, 0)), filled((3000, 0), (3000, 5000)), asking(), {}, [0, 0]),
    "B08": (rooms(*SMALL_AND_LARGE), [], asking(req(3000, 5000)), TWICE_MEMORY, [41, 50]),
    "B09": (rooms(*[(6000, 10000)] * 2, foo=(0, 4)), [], asking(req(3000, 5000)), WITH_FOO, [50, 50]),
    "B10": (rooms(*[(6000, 10000)] * 2, foo=(4, 10)), [], asking(req(3000, 5000, foo=2)), WITH_FOO, [50, 60]),
    "B12": (rooms(*SMALL_AND_LARGE), LOADED, asking(req(1000, 2000)), {}, [32, 63]),
    "B13": (rooms(*SMALL_AND_LARGE), LOADED, asking(req(1000, 2000)), MOST, [67, 36]),
    "B15": (rooms(*SMALL_AND_LARGE), LOADED, asking(req(3000, 5000)), RATIO, [95, 68]),
    "B15-pod-of-B12": (rooms(*SMALL_AND_LARGE), LOADED, asking(req(1000, 2000)), RATIO, [68, 37]),
    "B17": (rooms(*PAIR, foo=(8, 4)), [], asking(req(foo=2)), FLAT_FOO, [2, 5]),
    "B18": (rooms(*PAIR, foo=(8, 4)), filled(foo=(0, 2)), asking(req(foo=2)), FLAT_FOO, [2, 10]),
    "B19": (rooms(*PAIR, foo=(8, 4)), [], asking(req(foo=4)), FLAT_FOO, [5, 10]),
}


@pytest.mark.parametrize(("nodes", "present", "pod", "arguments", "expected"), SCORE.values(), ids=SCORE)
def test_nodes_score_by_what_is_left_or_used(nodes, present, pod, arguments, expected):
    context = a_context(*nodes, *present, pod)
    assert scores(context, NodeResourcesFit(context, **arguments), pod_index(context)) == expected


def test_the_shape_is_a_broken_line_b23():
    """Its scores of 0 to 10 are scaled to 100; above full it is as when full."""
    shape = requested_to_capacity_ratio([(0, 2), (40, 10), (100, 0)])
    used_up = np.array([[0, 20, 30, 40, 70, 100, 110]])
    found = shape(used_up, np.full_like(used_up, 100), np.array([[1]]))
    assert found.tolist() == [20, 60, 80, 100, 50, 0, 0]


@pytest.mark.parametrize("weight", [pytest.param(-1, id="B11-negative"), pytest.param(101, id="B11-too-large")])
def test_weights_out_of_range_are_refused(weight):
    with pytest.raises(InputError, match=f"Invalid value: {weight}: resource weight of cpu not in valid range"):
        loaded(fit(type="LeastAllocated", resources=[{"name": "cpu", "weight": weight}]))


def test_a_weight_that_is_not_told_is_one_b11():
    (profile,) = loaded(fit(type="LeastAllocated", resources=[{"name": "cpu", "weight": 0}])).profiles
    assert [each.weight for each in profile.arguments["NodeResourcesFit"].scoring_strategy.resources] == [1]


def test_the_strategy_by_default_prefers_the_emptiest():
    used_up, capacity, weights = np.array([[25]]), np.array([[100]]), np.array([[1]])
    assert least_allocated(used_up, capacity, weights).tolist() == [75]


DEFAULTED = {
    "B24": (0, req(100, 128 << 20), 98),
    "B25": (0, req(), 97),
    "B26": (10, req(), 79),
    "B27": (0, req(0), 99),
}


@pytest.mark.parametrize(("present", "container", "expected"), DEFAULTED.values(), ids=DEFAULTED)
def test_a_container_without_requests_counts_for_something(present, container, expected):
    """100m and 200Mi, each where that one is not requested, be it as 0; the same for pods on the node."""
    pods = [holds(req(), name=f"p{number}", node="n") for number in range(present)]
    context = a_context(a_node("n", cpu="4", memory="16Gi"), *pods, holds(container))
    assert scores(context, NodeResourcesFit(context), pod_index(context)) == [expected]
