"""What ``restow simulate --compare`` shows: whole screens, and its page."""

from __future__ import annotations

import io

import pytest
from msgspec import structs
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders.comparisons import a_comparison, a_future, two_policies
from reporting.html.test_page import NASTY, Page
from restow.reporting.comparison_result import Comparison
from restow.reporting.comparison_table import print_comparison
from restow.reporting.html.comparison import render_comparison

THREE = a_comparison(**{name: [a_future(each, evictions=each) for each in range(3)] for name in ("a", "b", "c")})


def shown(result: Comparison, width: int = 80) -> str:
    written = io.StringIO()
    print_comparison(result, Console(file=written, width=width, color_system=None, force_terminal=False))
    return written.getvalue()


@pytest.mark.parametrize("result", [two_policies(), THREE], ids=["two", "three"])
def test_the_screen(result: Comparison, snapshot: SnapshotAssertion) -> None:
    text = shown(result)
    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot


@pytest.mark.parametrize("result", [two_policies(), THREE, two_policies(1)], ids=["two", "three", "one future"])
def test_the_page_is_whole_and_fetches_nothing(result: Comparison) -> None:
    found = Page(render_comparison(result))
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(attrs["href"] or "")[1:] for attrs in found.having("a")} <= set(ids)
    assert not [attrs for _, attrs in found.tags if {"src", "srcset", "style"} & attrs.keys()]
    assert not found.having("script")
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in found.having("svg"))


def test_the_page_says_it_and_draws_each_future() -> None:
    found = Page(render_comparison(two_policies()))
    assert "proposed.yaml against today.yaml in 20 futures: 2 numbers better, 2 worse" in found.texts
    assert set(two_policies().sentences) <= set(found.texts)
    assert len(found.having("svg", **{"aria-label": "today.yaml: median 410.5"})) == 1
    assert "proposed.yaml, not quiet in 16 futures" in found.texts
    # Evictions, pods moved again, balance; and when it is quiet, which 16 of the futures never are.
    assert len(found.having("circle")) == 3 * 40 + 24


def test_a_page_of_many_futures_stays_small() -> None:
    assert len(render_comparison(two_policies(5000))) < 300_000


def test_names_cannot_become_markup() -> None:
    result = two_policies()
    policies = tuple(structs.replace(each, policy=f"{NASTY}{number}") for number, each in enumerate(result.policies))
    metadata = structs.replace(result.metadata, scenario=NASTY, description=NASTY)
    found = Page(render_comparison(structs.replace(result, metadata=metadata, policies=policies, sentences=(NASTY,))))
    assert not found.having("img")
    assert not found.having("script")
