"""The page's structure: complete without a network and without JavaScript, and safe with anyone's names in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from builders.plans import (
    SMALL_LOADS,
    SMALL_REFUSALS,
    a_clearance,
    a_likely_move,
    a_load,
    a_move,
    a_refusal,
    a_report,
    a_steered_move,
    large_report,
    small_report,
    upstream_report,
)
from reporting.work import calls
from restow.descheduling.plan import Remark
from restow.reporting.forms import Report
from restow.reporting.html.page import render_html
from restow.reporting.json import compact_json, document

VOID = {"meta", "input"}


class Page(HTMLParser):
    """Reads a page; fails on wrong nesting and repeated ids."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.open: list[str] = []
        self.hidden: list[bool] = []
        self.shown: set[str] = set()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: dict[str, str] = {}
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        hidden = "hidden" in dict(attrs) or any(self.hidden[-1:])
        if not hidden:
            self.shown.add(tag)
        if tag not in VOID:
            self.open.append(tag)
            self.hidden.append(hidden)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.hidden.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            self.scripts[self.tags[-1][1].get("id") or self.open[-1]] = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def having(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag and attributes.items() <= attrs.items()]


def page(report: Report) -> Page:
    return Page(render_html(report))


def nothing_to_do() -> Report:
    problem = Remark("default", "LowNodeUtilization", "no metrics for node-3")
    return a_report((), SMALL_REFUSALS, SMALL_LOADS, problems=(problem,), notes=("Note this.",), bundled=True)


PAGES = {
    "skyline": lambda: large_report(nodes=300, moves=400, refusals=50),
    "small": small_report,
    "upstream": upstream_report,
    "nothing to do": nothing_to_do,
    "empty cluster": a_report,
    "heat map": lambda: large_report(nodes=601, moves=50, refusals=50),
}


@pytest.mark.parametrize("name", PAGES)
def test_elements_nest_and_ids_are_unique(name: str) -> None:
    ids = [attrs["id"] for _, attrs in page(PAGES[name]()).tags if "id" in attrs]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched(name: str) -> None:
    found = page(PAGES[name]())
    assert not [attrs for _, attrs in found.tags if {"src", "srcset", "action", "style"} & attrs.keys()]
    assert all(attrs["href"] and attrs["href"].startswith("#") for _, attrs in found.tags if "href" in attrs)
    assert not re.findall(r"url\(|@import|fetch\(|XMLHttp", found.scripts["style"] + found.scripts["script"])
    assert "://" not in found.source.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_a_section(name: str) -> None:
    found = page(PAGES[name]())
    ids = {attrs.get("id") for _, attrs in found.tags}
    assert {attrs["href"] for attrs in found.having("a")} == {
        f"#{each}" for each in ("cluster", "strategies", "moves", "stays", "policy", "versions") if each in ids
    }
    assert {"cluster", "moves", "stays", "policy", "versions"} <= ids
    assert all((attrs["href"] or "")[1:] in ids for attrs in found.having("a"))


@pytest.mark.parametrize("name", PAGES)
def test_pictures_have_a_text_alternative(name: str) -> None:
    for attrs in page(PAGES[name]()).having("svg"):
        assert (attrs.get("role") == "img" and attrs.get("aria-label")) or attrs.get("aria-hidden") == "true"


def test_no_name_of_the_script_is_declared_twice_in_a_scope() -> None:
    """A second const or let of a name is a syntax error: no browser would run a line of the script."""
    scopes: list[set[str]] = [set()]
    for line in filter(str.strip, page(a_report()).scripts["script"].splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        scopes = [*scopes[: depth + 1], *(set() for _ in range(depth + 1 - len(scopes)))]
        declared = re.match(r"\s*(?:const|let|function) (\w+)", line)
        if declared:
            assert declared[1] not in scopes[depth], line
            scopes[depth].add(declared[1])


@pytest.mark.parametrize("name", PAGES)
def test_controls_that_need_a_script_are_hidden_without(name: str) -> None:
    assert not page(PAGES[name]()).shown & {"button", "input", "select", "output"}


def test_the_top_has_the_answer_and_four_figures() -> None:
    found = page(small_report())
    assert "3 moves take 31 points of CPU off node-2" in found.text
    assert "3 moves, the gain of all is certain; 3 targets certain." in found.text
    assert "Balance: CPU more even, 0.32 → 0.13; memory more even, 0.23 → 0.16." in found.text
    assert "13 candidates refused (14 refusals). Of them, 8 are protected" in found.text
    for figure in ("Moves", "Gain certain", "Refused", "CPU imbalance", "0.32", "0.13"):
        assert figure in found.texts


def test_every_move_is_a_row() -> None:
    report = small_report()
    text = page(report).text
    assert all(str(move.pod) in text and str(move.owner) in text for move in report.plan.moves)
    assert len(page(report).having("td", **{"data-head": "Pod"})) == 3


def test_a_few_of_the_other_nodes_that_could_win_are_named() -> None:
    move = a_move("a/1", ("node-1", "node-2"), candidates=tuple(f"node-{each}" for each in range(2, 8)))
    found = page(a_report((move,)))
    assert "one of 6 nodes (planned: node-2) or node-3, node-4, node-5 and 2 more" in " ".join(found.text.split())
    assert "whichever node the scheduler chooses" in found.text


def test_how_sure_each_move_is_and_which_node_is_how_probable() -> None:
    route = ("node-1", "node-2")
    found = page(a_report((a_steered_move("a/1", route), a_likely_move("a/2", route))))
    assert {"node-2 steered", "certain", "likely 0.93", "or node-9 (0.07, in vain)"} <= set(found.texts)
    assert "node-2 0.93 or node-9" in " ".join(found.text.split())
    assert "of 2 moves; 1 target steered, 1 open" in found.texts
    for meaning in (
        "Steered: the replacement is nominated",
        "Gain likely: the pod probably lands",
        "In vain: landing there",
    ):
        assert meaning in found.text


def test_a_pod_that_is_only_taken_away_is_cleared() -> None:
    assert "cleared" in page(a_report((a_clearance("a/1", "node-1"),))).texts


def test_each_strategy_says_what_is_done_and_what_holds_the_rest() -> None:
    found = page(small_report())
    assert "RemoveDuplicates 2 of 2" in " ".join(found.text.split())
    assert (
        "LowNodeUtilization 1 of 14 8 are protected; 2 have no disruption budget left; 3 have no acceptable"
        in " ".join(found.text.split())
    )


def test_up_to_200_moves_are_one_table() -> None:
    found = page(large_report(nodes=3, moves=200, refusals=1))
    assert len(found.having("table", **{"class": "moves"})) == 1
    assert len(found.having("td", **{"data-head": "Pod"})) == 200


def test_more_moves_fold_by_strategy_and_the_page_says_how_many_are_shown() -> None:
    found = page(large_report(nodes=3, moves=603, refusals=1))
    assert len(found.having("details", **{"class": "fold"})) == 3
    assert len(found.having("td", **{"data-head": "Pod"})) == 600
    assert found.text.count("Showing the first 200 of 201") == 3
    assert len(json.loads(found.scripts["plan"])["moves"]) == 603


def test_the_page_carries_the_plan() -> None:
    report = small_report()
    assert json.loads(page(report).scripts["plan"]) == json.loads(compact_json(document(report.plan)))


def test_in_upstream_placement_no_landing_place_is_shown() -> None:
    found = page(upstream_report())
    assert "2 evictions as the Kubernetes Descheduler would make them" in found.text
    assert "restow does not predict where they land" in found.text
    assert not found.having("td", **{"data-head": "To"})
    assert "Evictions" in found.texts


def test_refusals_open_into_pods() -> None:
    found = page(small_report())
    assert len(found.having("span", **{"class": "stage"})) == 3
    assert all(str(each.pod) in found.text for each in small_report().plan.refusals)


def test_a_group_lists_at_most_500_pods_and_says_so() -> None:
    refusals = tuple(a_refusal(f"a/{each}", "evictor", "X", "no") for each in range(501))
    found = page(a_report((), refusals))
    assert "Showing the first 500 of 501" in found.text
    assert "a/500" not in found.texts
    assert len(json.loads(found.scripts["plan"])["refusals"]) == 501


def nodes(count: int) -> Page:
    return page(a_report((), (), tuple(a_load(f"node-{each}", (50, 50), (50, 50)) for each in range(count))))


def test_up_to_200_nodes_are_cards_too() -> None:
    assert len(nodes(200).having("li", **{"class": "node"})) == 200
    assert not nodes(201).having("li", **{"class": "node"})


def test_up_to_600_nodes_are_bars_and_more_are_a_heat_map() -> None:
    assert len(nodes(600).having("g")) == 2 * 600
    heat = nodes(601)
    assert not heat.having("g")
    assert len(json.loads(heat.scripts["heat"])["names"]) == 601


def test_a_heat_map_has_a_block_for_each_zone_resource_and_side() -> None:
    found = page(large_report(nodes=700, moves=1, refusals=0))
    blocks = [
        (each["data-resource"], each["data-zone"], each["data-side"])
        for each in found.having("svg")
        if "data-side" in each
    ]
    assert len(blocks) == len(set(blocks)) == 2 * 3 * 2
    cells = sum(attrs["d"].count("M") for attrs in found.having("path") if attrs["d"] and "before" not in str(attrs))
    assert cells == 700 * 2 * 2


def test_defaults_of_the_policy_are_marked() -> None:
    found = page(small_report())
    assert len(found.having("span", **{"class": "default"})) == 2
    assert "targetThresholds: {cpu: 50, memory: 50}" in found.text


def test_problems_and_notes_stand_out() -> None:
    found = page(nothing_to_do())
    assert found.having("aside")
    assert "LowNodeUtilization could not run: no metrics for node-3" in found.texts
    assert "Note this." in found.texts
    assert not page(small_report()).having("aside")


NASTY = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\x00\x1b"


def test_names_cannot_become_markup() -> None:
    report = a_report(
        (a_move(NASTY, (NASTY, NASTY), owner=f"Job/{NASTY}", plugin=NASTY, reason=NASTY),),
        (a_refusal(NASTY, "evictor", NASTY, NASTY, node=NASTY, plugin=NASTY),),
        (a_load(NASTY, (50, 20), (50, 20), zone=NASTY),),
        problems=(Remark(NASTY, NASTY, NASTY),),
        notes=(NASTY,),
    )
    found = page(report)
    assert not found.having("img")
    assert len(found.having("script")) == len(page(small_report()).having("script"))
    assert json.loads(found.scripts["plan"])["moves"][0]["reason"] == NASTY
    assert "\x00" not in found.source


def test_the_same_report_gives_the_same_page() -> None:
    assert render_html(small_report()) == render_html(small_report())


def test_a_plan_twice_as_large_is_twice_the_work() -> None:
    plans = [large_report(nodes=each * 250, moves=each * 500, refusals=each * 750) for each in (1, 2)]
    one, two = (calls(lambda plan=plan: render_html(plan)) for plan in plans)
    assert two < 2.2 * one
