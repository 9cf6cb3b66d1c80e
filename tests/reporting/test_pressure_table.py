"""``restow pressure check`` on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from restow.pressure.situation import CheckedNode, CheckedRule, PressureCheck
from restow.reporting.pressure_table import check_warnings, print_check, short_number

RULES = (
    CheckedRule("cpu", "q", 0.8, "above", "label", nodes_over=1, held_back=False),
    CheckedRule("mem", "m", 2147483648.0, "below", "label", nodes_over=0, held_back=False),
)


def a_node(name, cpu=0.1, mem=12e9, **more):
    plain = {"problems": {}, "over": (), "waiting": {}, "label": "none", "taint": "none"}
    return CheckedNode(name=name, values={"cpu": cpu, "mem": mem}, **(plain | more))


def a_check(*nodes, rules=RULES, unmatched=()):
    return PressureCheck("v", "k", rules, nodes, unmatched)


def printed(check, width=100):
    stream = io.StringIO()
    print_check(check, Console(file=stream, width=width))
    return stream.getvalue().splitlines()


def test_nodes_with_something_to_tell_and_a_summary():
    nodes = [
        a_node("node-1"),
        a_node("node-2", over=("cpu",), cpu=0.912, label="set"),
        a_node("node-3", label="clear"),
        a_node("node-4", mem=None, problems={"mem": "no sample"}, label="keep"),
        a_node("node-5", over=("cpu",), cpu=0.9, waiting={"cpu": "2m0s"}),
        a_node("node-6", label="foreign"),
    ]
    assert printed(a_check(*nodes)) == [
        "NODE    cpu > 0.8  mem < 2.15G  STATUS",
        "node-2  0.912      12G          would get the label; over cpu",
        "node-3  0.1        12G          would lose the label",
        "node-4  0.1        -            keeps the label; mem: no sample",
        "node-5  0.9        12G          over cpu, which waits for 2m0s",
        "node-6  0.1        12G          label not set by restow: left alone",
        "2 rules, 6 nodes, 1 would be marked, 1 stay marked, 1 would be cleared; nothing was written",
    ]


def test_where_nothing_is_to_be_told_there_is_no_table():
    assert printed(a_check(a_node("a"))) == [
        "2 rules, 1 node, 0 would be marked, 0 stay marked, 0 would be cleared; nothing was written"
    ]


def test_of_very_many_nodes_the_first_are_listed():
    lines = printed(a_check(*(a_node(f"node-{number:03}", label="set") for number in range(60))))
    assert len(lines) == 1 + 50 + 1 + 1
    assert lines[51] == "... and 10 more nodes: see -o json"


def test_names_cannot_write_to_the_terminal():
    assert not any("\x1b" in line for line in printed(a_check(a_node("a\x1b[2J", label="set"))))


def test_warnings_say_why_nothing_is_marked():
    held_back = (CheckedRule("cpu", "q", 0.8, "above", "label", nodes_over=2, held_back=True), RULES[1])
    nodes = [a_node("a", mem=None), a_node("b", mem=None)]
    assert list(check_warnings(a_check(*nodes, rules=held_back, unmatched=tuple("123456")))) == [
        "rule cpu: 2 of 2 nodes are over its threshold, more than --max-share allows: it marks none",
        "rule mem: no node has a value; try its query in Prometheus: m",
        "instances that are no node of the cluster: 1, 2, 3, 4, 5 and 1 more",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.8, "0.8"), (0.91234, "0.912"), (85.34, "85.3"), (1234.0, "1234"), (12e9, "12G"), (-3e6, "-3M"), (0.0, "0")],
)
def test_numbers_are_short(value, text):
    assert short_number(value) == text
