"""``restow explain node`` on a terminal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from restow.descheduling.plan import Move, OutputMetadata, PodRef
from restow.explaining.explanation import NodeClassification, NodeExplanation, NodeResource, Staying
from restow.reporting.explain_table import node_sections

POD = PodRef("shop", "db-0", "uid")
VIEW = NodeClassification(
    "P", "Low", "over", "between", True, {"cpu": 92.0}, {"cpu": 45.0}, {"cpu": 20.0}, {"cpu": 50.0}
)
NODE = NodeExplanation(
    metadata=OutputMetadata("2026-01-01T00:00:00Z", "prove", "0"),
    node="n1",
    zone="a",
    ready=True,
    selected=True,
    unschedulable=False,
    taints=(),
    resources=(
        NodeResource("memory", 2**30, 2**29, 2**29),
        NodeResource("cpu", 4000, 3680, 1800),
        NodeResource("gpu", 1, 0, 0),
    ),
    pods_before=3,
    pods_after=2,
    strategies=(VIEW,),
    leaving=(Move(POD, None, "n1", "n2", "certain", plugin="Low", reason="n1 is full"),),
    coming=(),
    staying=(Staying("evictor", "NoOwner", "no owner", ("Low",), (PodRef("shop", "x", ""),)),),
)


def lines(explanation, width=80):
    return [line.plain for section in node_sections(explanation, width) for line in section]


def told(explanation):
    return " ".join(" ".join(lines(explanation)).split())


def test_the_first_line_counts_who_leaves_and_who_stays():
    assert lines(NODE)[0] == "n1  zone a     1 pod leaves, 1 candidate refused"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ready": False}, "is not ready: strategies skip it"),
        ({"selected": False}, "is excluded by the policy's nodeSelector"),
        ({"leaving": (), "staying": ()}, "nothing moves"),
        ({"unschedulable": True}, "cordoned no new pods"),
        ({"taints": ("gpu=yes:NoSchedule",)}, "taints gpu=yes:NoSchedule"),
    ],
    ids=["not ready", "not selected", "nothing", "cordoned", "tainted"],
)
def test_what_is_special_about_the_node_is_told(fields, expected):
    assert expected in told(replace(NODE, **fields))


def test_the_load_is_told_with_cpu_first_and_without_what_nobody_asks_for():
    assert lines(NODE)[1:4] == [
        "cpu        92 % -> 45 % of 4 (3680m requested)",
        "memory     50 % of 1Gi (512Mi requested)",
        "pods       3 -> 2",
    ]


def test_the_class_is_told_with_figures_and_thresholds():
    expected = "Low: overused -> between its thresholds; cpu 92 % -> 45 % (thresholds 20 % and 50 %)"
    assert expected in told(NODE)
    one = replace(VIEW, before="under", after="under", load_after={"cpu": 92.0}, high={})
    assert "Low: underused; cpu 92 % (threshold 20 %)" in told(replace(NODE, strategies=(one,)))


def test_a_strategy_that_does_not_see_the_node_says_why():
    unseen = replace(VIEW, before=None, after=None, message="n1 is not ready")
    assert "Low: n1 is not ready" in told(replace(NODE, strategies=(unseen,)))


def test_moves_are_told_with_where_and_why():
    assert "1 pod leaves shop/db-0 to n2, gain certain Low: n1 is full" in told(NODE)
    assert "1 pod arrives shop/db-0 from n1 to n2, gain certain" in told(replace(NODE, coming=NODE.leaving))
    assert "target not predicted" in told(
        replace(NODE, leaving=(replace(NODE.leaving[0], target=None, certainty=None),))
    )


def test_moves_say_how_sure_they_are_and_where_they_land():
    (leaving,) = NODE.leaving
    likely = replace(leaving, certainty="likely", probability=0.93)
    assert "to n2, gain likely 0.93 Low" in told(replace(NODE, leaving=(likely,)))
    open_target = replace(likely, candidates=("n2", "n3"), candidate_count=2, target_probability=0.93)
    assert "to n2 0.93, gain likely 0.93 Low" in told(replace(NODE, leaving=(open_target,)))
    assert "to n2 steered, gain certain Low" in told(replace(NODE, leaving=(replace(leaving, steering="nominate"),)))


def test_of_many_moves_the_first_are_listed():
    assert "12 pods leave" in told(replace(NODE, leaving=NODE.leaving * 12))
    assert "... and 2 more: see -o json" in told(replace(NODE, leaving=NODE.leaving * 12))


def test_pods_that_stay_are_counted_by_reason():
    assert "1 evictor NoOwner no owner (shop/x)" in told(NODE)


def test_the_next_command_asks_about_the_pod_of_which_there_is_most_to_tell():
    more = replace(NODE, staying=(*NODE.staying, Staying("placement", "NoFit", "no", ("Low",), (POD,))))
    assert lines(more)[-1].startswith("restow explain pod shop/db-0 ...")
