"""The page of ``restow pressure``: complete without script or network, and safe with anyone's names in it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec import structs

from builders.pressure_views import a_view
from reporting.html.test_page import Page
from restow.kube.duration import MINUTE
from restow.pressure.rules import Rule
from restow.pressure.situation import KEPT
from restow.reporting.html.pressure import MOST_NODES, line, render_pressure

RULE = Rule("cpu", "up", 0.8)


def page(*nodes: int, **more: object) -> Page:
    return Page(render_pressure(a_view(*nodes, **more)))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"situation": None, "leads": False},
        {"situation": None},
        {"minutes": 1},
        {"nodes": 0},
        {"pressed": 11},
    ],
)
def test_nothing_is_fetched_or_run(more):
    found = page(**({"minutes": 5} | more))
    assert not [attrs for _, attrs in found.tags if {"src", "href", "style", "onload"} & attrs.keys()]
    assert "script" not in {name for name, _ in found.tags}
    assert not re.findall(r"url\(|@import", found.scripts["style"])


def test_nodes_under_pressure_come_first_then_those_nearest_to_it():
    names = re.findall(r"node-\d+", page(6, minutes=60, pressed=2, silent=0).text.partition("Nodes")[2])
    assert set(names[:2]) == {"node-0000", "node-0001"}
    assert len(names) == 6


def test_a_large_cluster_is_cut_with_a_note():
    found = page(150, minutes=2)
    assert len(found.having("svg")) <= 2 * MOST_NODES
    assert "... and 50 more nodes, farther from their thresholds" in found.text


def test_what_is_wrong_and_who_waits_is_told():
    assert "Prometheus is down." in page(minutes=2, trouble="Prometheus is down").text
    waiting = page(minutes=2, situation=None, leads=False)
    assert "This replica waits for the lease" in waiting.text
    assert "node-0000" in waiting.text
    assert "too many, so it marks none" in page(4, minutes=60, pressed=3).text


def test_a_node_without_a_value_says_why_and_since_when():
    assert "no sample for 1m4s" in page(minutes=2).text


def test_names_of_others_are_text():
    view = a_view(2, minutes=1)
    odd = structs.replace(view.situation.nodes[0].metadata, name="<b onload=x>")
    view.situation.nodes[0] = structs.replace(view.situation.nodes[0], metadata=odd)
    assert "<b onload=x>" in Page(render_pressure(view)).text


def values(**by_minute: float) -> np.ndarray:
    made = np.full(KEPT, np.nan, dtype=np.float32)
    for minute, value in by_minute.items():
        made[int(minute.removeprefix("m"))] = value
    return made


def test_a_line_has_gaps_where_there_is_no_value():
    drawn = line(RULE, values(m10=0.5, m11=0.6, m30=0.7), 100, 100 * MINUTE)
    assert drawn.count("<polyline") == 2
    assert "last hour: 0.5 to 0.7" in drawn


def test_a_line_moves_on_while_there_are_no_rounds():
    now = line(RULE, values(m59=0.5), 100, 100 * MINUTE)
    assert 'points="58,' in now
    assert 'points="48,' in line(RULE, values(m59=0.5), 100, 110 * MINUTE)
    assert line(RULE, values(m59=0.5), 100, 200 * MINUTE) == ""


def test_a_value_and_its_threshold_are_inside_the_picture():
    for threshold, value in ((0.0, 0.0), (0.8, -5.0), (2e9, 1e12)):
        drawn = line(Rule("x", "up", threshold), values(m59=value), 1, MINUTE)
        heights = [float(each) for each in re.findall(r'y1="([\d.-]+)"|\d,([\d.-]+)"', drawn) for each in each if each]
        assert heights
        assert all(0 < height < 20 for height in heights)
