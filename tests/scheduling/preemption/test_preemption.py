"""DefaultPreemption by the rows of the table (section O): who may preempt, whom, and where.

Not here: how many nodes kube-scheduler tries in large clusters (restow tries all); errors of dry runs (it has none).
"""

from __future__ import annotations

import pytest

from builders import HOSTNAME, a_condition, a_container, a_pdb, ago, pod_anti_affinity, pod_term, running, selector
from scheduling.preempting import one_pod, preempt, room, sized

FOO = {"app": "foo"}
NOT_HELPFUL = "1 Preemption is not helpful for scheduling."


def pods_of(text: str, **more):
    """``n1: a=low small@4, b=mid large; n2: ...``: pods on nodes, each started at so many seconds."""
    for part in text.split(";"):
        node, _, pods = part.strip().partition(": ")
        for pod in pods.split(", "):
            name, _, what = pod.partition("=")
            priority, _, size = what.partition(" ")
            size, _, start = size.partition("@")
            yield sized(name, priority, size, node=node, start=float(start or 0), **more)


def test_one_pod_makes_room_o01() -> None:
    told = preempt(one_pod("n1"), sized("p1", "low", "zero", node="n1"), sized("p", "high", "zero"))
    assert (told.victims, told.best, told.message) == ({"n1": ["p1"]}, ["n1"], "")


@pytest.mark.parametrize(
    ("cluster", "priority", "size", "lasting", "message"),
    [
        pytest.param(
            [one_pod("n1"), sized("p1", "low", "zero", node="n1")],
            "low",
            "zero",
            (),
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="O02-none-below",
        ),
        pytest.param(
            [one_pod("n1"), sized("p1", "low", "zero", node="n1")],
            "high",
            "zero",
            ("n1",),
            f"0/1 nodes are available: {NOT_HELPFUL}",
            id="O03-O04-rejected-for-good",
        ),
        pytest.param(
            [room("n1", 200), room("n2", 200), *pods_of("n1: a=low zero; n2: b=low zero")],
            "high",
            "large",
            (),
            "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.",
            id="O07-too-large-anyway",
        ),
        pytest.param(
            [
                one_pod("n1"),
                room("n2", 200),
                one_pod("n3"),
                *pods_of("n1: a=high zero; n2: b=low zero; n3: c=high zero"),
            ],
            "high",
            "large",
            (),
            "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, "
            "2 No preemption victims found for incoming pod.",
            id="O08-mixed",
        ),
    ],
)
def test_where_preemption_does_not_help_the_message_says_why(cluster, priority, size, lasting, message) -> None:
    told = preempt(*cluster, sized("p", priority, size), lasting=lasting)
    assert (told.victims, told.message) == ({}, message)


@pytest.mark.parametrize(
    ("policy", "victims"),
    [
        pytest.param("Never", {}, id="O12-never"),
        pytest.param("PreemptLowerPriority", {"n1": ["p1"]}, id="O13-default"),
    ],
)
def test_the_pods_policy_may_forbid_preemption(policy, victims) -> None:
    pod = sized("p", "high", "zero", spec={"preemptionPolicy": policy}, nominated_node="n1")
    told = preempt(one_pod("n1"), sized("p1", "low", "zero", node="n1"), pod)
    assert (told.victims, told.keeps_nomination) == (victims, not victims)
    assert (told.message == "not eligible due to preemptionPolicy=Never.") == (not victims)


@pytest.mark.parametrize(
    ("priority", "status", "reason", "lasting", "waits"),
    [
        pytest.param("low", "True", "PreemptionByScheduler", ("n1",), False, id="O14-node-rejected-for-good"),
        pytest.param("low", "True", "PreemptionByScheduler", (), True, id="O15-victim-is-leaving"),
        pytest.param("high", "True", "PreemptionByScheduler", (), False, id="O17-not-below"),
        pytest.param("low", "False", "PreemptionByScheduler", (), False, id="O18-condition-false"),
        pytest.param("low", "True", "EvictionByEvictionAPI", (), False, id="O18-evicted"),
    ],
)
def test_a_preemptor_waits_for_its_victims_only(priority, status, reason, lasting, waits) -> None:
    condition = a_condition("DisruptionTarget", status, reason=reason)
    leaving = sized("p1", priority, "zero", node="n1", deleted=ago(1), conditions=[condition])
    told = preempt(one_pod("n1"), leaving, sized("p", "high", "zero", nominated_node="n1"), lasting=lasting)
    assert told.keeps_nomination == waits
    assert (told.message == "not eligible due to a terminating pod on the nominated node.") == waits


@pytest.mark.parametrize(
    ("pods", "preemptor", "victims"),
    [
        pytest.param("n1: p1=mid large; n2: p2=mid large", "high large", {"n1": ["p1"], "n2": ["p2"]}, id="O20"),
        pytest.param(
            "n1: p11=low small, p12=mid large; n2: p2=mid large",
            "high large",
            {"n1": ["p12"], "n2": ["p2"]},
            id="O22-reprieved",
        ),
        pytest.param(
            "n1: p11=mid small, p12=low small, p13=mid medium, p14=high small; n2: p2=high large",
            "high large",
            {"n1": ["p13", "p12"]},
            id="O23",
        ),
        pytest.param(
            "n1: p11=low small@5, p12=low small@4, p13=mid medium@3, p14=high small@2",
            "high large",
            {"n1": ["p13", "p11"]},
            id="O24-the-later-start-is-less-important",
        ),
        pytest.param(
            "n1: p1=mid medium, p2=low medium, p3=low small", "high medium", {"n1": ["p2"]}, id="O32-not-in-a-row"
        ),
        pytest.param(
            "n1: p1=high medium, p2=mid small, p3=low small", "high large", {"n1": ["p2", "p3"]}, id="O34-equals-stay"
        ),
    ],
)
def test_victims_are_as_unimportant_as_can_be(pods, preemptor, victims) -> None:
    told = preempt(room("n1"), room("n2"), *pods_of(pods), sized("p", *preemptor.split()))
    assert told.victims == victims


def test_a_pod_that_repels_the_preemptor_is_its_victim_o25() -> None:
    repelling = pod_anti_affinity([pod_term(selector(("foo", "Exists")), topology=HOSTNAME)])
    pods = [
        sized("p11", "low", "small", node="n1", labels={"foo": ""}, affinity=repelling),
        *pods_of("n1: p12=mid small, p13=high small; n2: p2=high small"),
    ]
    told = preempt(room("n1"), room("n2"), *pods, sized("p", "high", "small", labels={"foo": ""}), lasting=("n2",))
    assert told.victims == {"n1": ["p11"]}


@pytest.mark.parametrize(
    ("pods", "allowed", "disrupted", "violations"),
    [
        pytest.param("n1: p1=mid medium, p2=mid medium", 1, [], 1, id="O28"),
        pytest.param("n1: p1=mid medium, p2=mid medium", 1, ["other"], 1, id="O29-another-disrupted"),
        pytest.param("n1: p1=mid medium, p2=mid medium", 1, ["p2"], 0, id="O30-disrupted-already"),
        pytest.param("n1: p1=mid medium, p2=mid medium, p3=mid medium", 1, ["p3"], 1, id="O31-overfull"),
    ],
)
def test_a_budget_may_be_violated(pods, allowed, disrupted, violations) -> None:
    budget = a_pdb("b", selector=selector(labels=FOO), disruptions_allowed=allowed)
    budget["status"]["disruptedPods"] = dict.fromkeys(disrupted, ago(1))
    told = preempt(room("n1"), budget, *pods_of(pods, labels=FOO), sized("p", "high", "vlarge"))
    assert (told.victims, told.violations) == (
        {"n1": sorted(each[:2] for each in pods[4:].split(", "))},
        {"n1": violations},
    )


@pytest.mark.parametrize(
    ("namespace", "violations"), [pytest.param("default", 1, id="O33"), pytest.param("other", 0, id="O38-elsewhere")]
)
def test_only_budgets_of_the_namespace_count(namespace, violations) -> None:
    budget = a_pdb("b", namespace=namespace, selector=selector(labels=FOO))
    pods = pods_of("n1: p1=mid medium, p2=low medium, p3=low small", labels=FOO)
    told = preempt(room("n1"), budget, *pods, sized("p", "high", "medium"))
    assert (told.victims, told.violations) == ({"n1": ["p2"]}, {"n1": violations})


def test_a_terminating_pod_may_be_the_only_victim_o40() -> None:
    leaving = sized("p1", "low", "zero", node="n1", deleted=ago(1))
    assert preempt(one_pod("n1"), leaving, sized("p", "high", "zero")).victims == {"n1": ["p1"]}


@pytest.mark.parametrize(
    ("pods", "preemptor", "best"),
    [
        pytest.param(
            "n1: a=mid large, b=mid medium; n2: c=mid large, d=low medium; n3: e=mid large, f=mid medium",
            "high",
            ["n2"],
            id="O50-smallest-sum",
        ),
        pytest.param(
            "n1: a=mid small, b=low small, c=low small; n2: d=high large; "
            "n3: e=mid small, f=low small, g=low small, h=low medium; "
            "n4: i=mid small, j=mid small, k=mid small, l=neg medium",
            "vhigh",
            ["n1"],
            id="O53-sums-favour-fewer",
        ),
        pytest.param(
            "n1: a=mid medium@4, b=mid medium@2; n2: c=mid medium@5, d=mid medium@1; n3: e=mid medium@3, f=mid medium@6",
            "high",
            ["n3"],
            id="O55-latest-of-the-earliest-starts",
        ),
        pytest.param(
            "n1: a=low medium@4, b=mid medium@2; n2: c=mid medium@6, d=low medium@1; n3: e=low medium@3, f=mid medium@5",
            "high",
            ["n2"],
            id="O56-of-the-highest-priority",
        ),
        pytest.param(
            "n1: a=low small, b=low small; n2: c=high large; n3: d=mid medium",
            "vhigh",
            ["n1"],
            id="O57-lowest-priority",
        ),
        pytest.param(
            "n1: a=mid large; n2: b=low small, c=low small, d=low small", "high", ["n2"], id="O60-before-count"
        ),
        pytest.param("n1: a=mid large@3; n2: b=mid large@3", "high", ["n1", "n2"], id="tie"),
    ],
)
def test_the_best_candidates(pods, preemptor, best) -> None:
    nodes = [room(name) for name in sorted({part.strip()[:2] for part in pods.split(";")})]
    assert preempt(*nodes, *pods_of(pods), sized("p", preemptor, "vlarge")).best == best


def test_budgets_come_before_priorities_o59() -> None:
    protected = sized("a", "low", "large", node="n1", labels=FOO)
    told = preempt(
        room("n1"),
        room("n2"),
        a_pdb("b", selector=selector(labels=FOO)),
        protected,
        *pods_of("n2: c=mid large"),
        sized("p", "high", "vlarge"),
    )
    assert (told.violations, told.best) == ({"n1": 1, "n2": 0}, ["n2"])


def test_a_victim_that_is_resized_makes_the_room_that_it_still_holds() -> None:
    """It wants little and was given all; requests alone would leave the node too small without it."""
    given = {"cpu": "500m", "memory": "500"}
    status = running() | {"name": "c", "allocatedResources": given, "resources": {"requests": given}}
    shrinking = [a_container("c", requests={"cpu": "100m", "memory": "100"})]
    holder = sized("a", "low", "small", node="n1", phase="Running", containers=shrinking, statuses=[status])
    assert preempt(room("n1"), holder, sized("p", "high", "vlarge")).victims == {"n1": ["a"]}
