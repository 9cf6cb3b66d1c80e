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
from restow.reporting.wording import short_names
from restow.simulating.scenarios.running import Future

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
    judgement = (
        "proposed is better than today: fewer pods moved again (0 against 1), but CPU less even (0.08 against 0.05)"
    )
    assert judgement in found.texts
    assert set(two_policies().sentences) <= set(found.texts)
    assert len(found.having("svg", **{"aria-label": "today.yaml: median 410.5"})) == 1
    assert "proposed.yaml, not quiet in 16 futures" in found.texts
    # Evictions, pods moved again, balance; and when it is quiet, which 16 of the futures never are.
    assert len(found.having("circle")) == 3 * 40 + 24


def headline(**policies: list[Future]) -> str:
    """The page's title, which begins with its first heading."""
    return next(each for each in Page(render_comparison(a_comparison(**policies))).texts if " - restow" in each)


def futures(count: int = 20, **numbers: float) -> list[Future]:
    return [a_future(each, **numbers) for each in range(count)]


def test_what_is_expected_and_available_counts_more_than_balance() -> None:
    """A policy that does nothing and fails an expectation is no better than one that moves pods."""
    active = futures(evictions=9, below_seconds=60.0, cpu_spread=0.02)
    assert headline(active=active, nothing=futures(failed=1)).startswith(
        "nothing is worse than active: more failed expectations (1 against 0), but less time below desired"
    )


def test_without_a_clear_difference_the_page_says_so() -> None:
    assert headline(a=futures(), b=futures()).startswith("b makes no clear difference to a in 20 futures - ")


def test_names_are_as_short_as_tells_them_apart() -> None:
    assert short_names(["x/a.yaml", "y/b.yaml"]) == ["a.yaml", "b.yaml"]
    assert short_names(["x/a.yaml", "y/a.yaml"]) == ["x/a.yaml", "y/a.yaml"]
    assert short_names(["a.yaml", "a.yaml"]) == ["a.yaml", "a.yaml"]


def test_a_page_of_many_futures_stays_small() -> None:
    assert len(render_comparison(two_policies(5000))) < 300_000


def test_names_cannot_become_markup() -> None:
    result = two_policies()
    policies = tuple(structs.replace(each, policy=f"{NASTY}{number}") for number, each in enumerate(result.policies))
    metadata = structs.replace(result.metadata, scenario=NASTY, description=NASTY)
    found = Page(render_comparison(structs.replace(result, metadata=metadata, policies=policies, sentences=(NASTY,))))
    assert not found.having("img")
    assert not found.having("script")
