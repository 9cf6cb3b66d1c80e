"""The table of ``restow schedule``: the answer first, names and reasons that fit the width, counts where there is much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporting.scheduling import a_console
from reporting.scheduling import printed as text_of
from restow.reporting.schedule_table import PodRow, ScheduledCluster, headline, print_schedule

PLACE = ScheduledCluster(3, 9, "cluster.json")
#: What breaks a screen: names as long as Kubernetes allows.
LONG = "n" * 253


def placed(name="a/p", node="n1", why="2 nodes tie", rival=""):
    return PodRow(name, "placed", node, why, rival)


def unfit(name="a/u", message="0/3 nodes are available: 3 Insufficient cpu."):
    return PodRow(name, "unschedulable", why=message)


def preempting(name="a/v", victims=("b/x",)):
    clause = f"would preempt {len(victims)} pod{'s' * (len(victims) != 1)} on n2"
    message = "0/3 nodes are available: 3 Insufficient cpu."
    return PodRow(name, "preempting", "n2", message, victims=tuple(victims), clause=clause)


def gated(name="a/g"):
    return PodRow(name, "gated", why="waiting for scheduling gates: [quota]")


def printed(*rows, width=80, place=PLACE):
    console = a_console(width)
    print_schedule(rows, place, console)
    return text_of(console)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "No pod is pending: nothing to schedule"),
        ([placed()], "The only pending pod finds a node"),
        ([unfit()], "The only pending pod finds no node"),
        ([gated()], "The only pending pod finds no node"),
        ([placed()] * 3, "All 3 pending pods find a node"),
        ([unfit(), preempting(), gated()], "None of the 3 pending pods finds a node"),
        ([placed(), unfit(), gated()], "1 of 3 pending pods finds a node"),
        ([placed()] * 1200 + [preempting()], "1,200 of 1,201 pending pods find a node"),
    ],
)
def test_the_headline_counts_every_pending_pod(rows, sentence):
    assert headline(rows) == sentence


SCREEN = """\
cluster  3 nodes, 9 pods   cluster.json

2 of 5 pending pods find a node
 POD         NODE  WHY
 shop/web-1  n1    2 nodes tie
 shop/web-2  n3    next best -4: n1

2 pods find no node, 1 would preempt others
 a/u
 a/v  would preempt 1 pod on n2: b/x
    0/3 nodes are available: 3 Insufficient cpu.

1 pod is gated
 a/g
    waiting for scheduling gates: [quota]

restow schedule ... --pod a/u   why, node by node
restow schedule ... -o json     every node and score
"""


def test_a_whole_screen():
    rows = [placed("shop/web-1"), placed("shop/web-2", "n3", "next best -4", "n1"), unfit(), preempting(), gated()]
    assert printed(*rows) == SCREEN


def test_where_no_pod_finds_a_node_the_reasons_follow_at_once():
    lines = printed(unfit(), gated()).splitlines()
    assert lines[2:5] == [
        "None of the 2 pending pods finds a node",
        " a/u",
        "    0/3 nodes are available: 3 Insufficient cpu.",
    ]


def test_without_pods_there_is_no_next_command():
    assert printed().splitlines()[-1] == "No pod is pending: nothing to schedule"


def test_of_many_placed_pods_the_first_are_listed_and_the_nodes_counted():
    rows = [placed(f"a/p{at:02}", f"n{at % 7}") for at in range(40)]
    lines = printed(*rows).splitlines()
    assert lines[3] == " onto 7 nodes: n0 6, n1 6, n2 6, n3 6, ..."
    assert lines[5].startswith(" a/p00")
    assert lines[14].startswith(" a/p09")
    assert lines[15] == " ... and 30 more: see -o json"


def test_pods_with_the_same_message_share_it():
    text = printed(*(unfit(f"a/u{at}") for at in range(9)))
    assert text.count("Insufficient cpu") == 1
    assert " a/u2\n ... and 6 more pods\n    0/3 nodes" in text


def test_of_many_messages_the_first_are_shown():
    text = printed(*(unfit(f"a/u{at}", f"reason {at}.") for at in range(30)))
    assert "reason 7." in text
    assert "reason 8." not in text
    assert " ... and 22 more messages: see -o json" in text


def test_of_many_victims_the_first_are_named():
    text = printed(preempting(victims=[f"b/x{at}" for at in range(9)]))
    assert "would preempt 9 pods on n2: b/x0, b/x1, b/x2 and 6 more" in text


def test_a_configuration_is_named():
    assert "config   sched.yaml\n" in printed(place=ScheduledCluster(3, 9, "cluster.json", "sched.yaml"))


def test_what_matters_least_is_left_out_before_anything_is_cut():
    nodes = [f"ip-10-0-{at}-23.eu-west-1.compute.internal" for at in range(3)]
    rows = [placed("shop/web-7fc9d8b6c5-x2k9q", nodes[at], "next best -4", nodes[at + 1]) for at in range(2)]
    assert " shop/web-7fc9d8b6c5-x2k9q  ip-10-0-0-23…  next best -4: ip-10-0-1-23…\n" in printed(*rows)
    assert " shop/web-7fc9d8b6c5-x2k9q  ip-10-0-0-23…  next best -4\n" in printed(*rows, width=60)
    assert f" shop/web-7fc9d8b6c5-x2k9q  {nodes[0]}  next best -4: {nodes[1]}\n" in printed(*rows, width=140)


def test_nothing_that_a_terminal_obeys_gets_through():
    text = printed(placed("a/\x1b[31m"), unfit("a/u", "said \x1b]0;title\x07"))
    assert "\x1b" not in text
    assert "\x07" not in text


NAMES = st.text("abc-", min_size=1, max_size=60)
ROWS = st.one_of(
    st.builds(placed, NAMES, NAMES),
    st.builds(unfit, NAMES),
    st.builds(preempting, NAMES, st.lists(NAMES, min_size=1, max_size=5)),
    st.builds(gated, NAMES),
)


@given(st.lists(ROWS, max_size=30), st.sampled_from([60, 80, 120]))
def test_tables_of_placed_pods_fit_the_width(rows, width):
    """A sentence is wrapped at spaces; a name that is longer than a line is all that may stand out."""
    for line in printed(*rows, width=width).splitlines():
        assert len(line) <= width or " " not in line.strip() or "--pod" in line


def test_names_as_long_as_they_get_are_cut_in_columns():
    lines = printed(placed(LONG, LONG)).splitlines()
    assert all(len(line) <= 80 for line in lines[:5])
