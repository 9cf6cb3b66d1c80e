"""How sure a move is: its gain in a word or a number, and apart from that the node where it lands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from builders.plans import a_clearance, a_likely_move, a_move, a_steered_move, an_open_move
from restow.descheduling.placement import NAMED
from restow.descheduling.plan import Move
from restow.reporting.sureness import (
    candidate_texts,
    differs,
    how_sure,
    landing,
    landing_in_full,
    node_of,
    sureness,
    sureness_in_words,
)

ROUTE = ("node-1", "node-4")
STEERED, CERTAIN, LIKELY = a_steered_move("a/s", ROUTE), a_move("a/c", ROUTE), a_likely_move("a/l", ROUTE)
RARE = a_likely_move("a/r", ROUTE, 0.4)
RARE = structs.replace(RARE, certainty="possible")
#: Kinds are missing that scores depend on.
UNKNOWN = a_move("a/u", ROUTE, certainty="possible", candidates=("node-4", "node-5"))
EVICTED = a_move("a/e", ("node-1", None))
CLEARED = a_clearance("a/o", "node-1")
TIED, SCATTERED = an_open_move("a/t", ROUTE, (0.2,) * 5), an_open_move("a/w", ROUTE, (1 / 7,) * 7)
EVERY = (STEERED, CERTAIN, LIKELY, RARE, UNKNOWN, CLEARED, TIED, SCATTERED)
IDS = ["steered", "certain", "cleared", "likely", "possible", "without number", "not predicted", "tied", "scattered"]


@pytest.mark.parametrize(
    ("move", "short", "words", "where"),
    [
        (STEERED, "certain", "certain", "node-4 steered"),
        (CERTAIN, "certain", "certain", "node-4"),
        (CLEARED, "certain", "certain", "cleared"),
        (LIKELY, "0.93", "likely 0.93", "node-4 0.93"),
        (RARE, "0.40", "possible 0.40", "node-4 0.40"),
        (UNKNOWN, "possible", "possible", "one of 2 nodes"),
        (EVICTED, "-", "-", "-"),
        (TIED, "certain", "certain", "node-4 0.20"),
        (SCATTERED, "certain", "certain", "one of 7 nodes"),
    ],
    ids=IDS,
)
def test_how_sure_the_gain_is_and_where_the_pod_lands_are_said_apart(
    move: Move, short: str, words: str, where: str
) -> None:
    assert (sureness(move), sureness_in_words(move), landing(move)) == (short, words, where)


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (SCATTERED, "one of 7 nodes (planned: node-4 0.14)"),
        (UNKNOWN, "one of 2 nodes (planned: node-4)"),
        (an_open_move("a/n", ("node-1", "one"), (0.1,) * 10), "one of 10 nodes (planned: one 0.10)"),
        (TIED, "node-4 0.20"),
        (CERTAIN, "node-4"),
        (CLEARED, "cleared"),
    ],
)
def test_where_there_is_room_the_planned_node_is_always_named(move: Move, expected: str) -> None:
    assert landing_in_full(move) == expected


@pytest.mark.parametrize("chance", [0.0, NAMED - 0.0001, NAMED, 0.5, 0.99996, 1.0])
def test_a_node_is_named_from_the_threshold_on_and_never_as_the_only_one_of_several(chance: float) -> None:
    told = landing(an_open_move("a/x", ROUTE, (chance, round(1 - chance, 5))))
    assert told.startswith("node-4 0.") if chance >= NAMED else told == "one of 2 nodes"


@pytest.mark.parametrize(
    ("cell", "node"),
    [("node-4 0.38", "node-4"), ("n.example.com steered", "n.example.com"), ("cleared", ""), ("one of 7 nodes", "")],
)
def test_the_node_of_a_landing_is_found_again(cell: str, node: str) -> None:
    assert node_of(cell) == node


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        (
            (STEERED, LIKELY, STEERED),
            "3 moves, the gain of 2 is certain, of 1 likely (0.93); 2 targets steered, 1 open",
        ),
        ((LIKELY,), "1 move, its gain is likely (0.93); 1 target open"),
        ((STEERED,), "1 move, its gain is certain; 1 target steered"),
        ((STEERED, STEERED), "2 moves, the gain of all is certain; 2 targets steered"),
        ((CERTAIN, TIED, SCATTERED), "3 moves, the gain of all is certain; 1 target certain, 2 open"),
        (
            (LIKELY, a_likely_move("a/m", ROUTE, 0.8)),
            "2 moves, the gain of all is likely (0.80 to 0.93); 2 targets open",
        ),
        (
            (UNKNOWN, RARE, CERTAIN),
            "3 moves, the gain of 1 is certain, of 2 possible; 1 target certain, 2 open",
        ),
        ((CLEARED, CERTAIN), "2 moves, the gain of all is certain; 1 target certain, 1 cleared"),
        ((CLEARED,), "1 move, its gain is certain; 1 cleared"),
    ],
)
def test_the_headline_counts_gains_and_targets(moves: tuple[Move, ...], expected: str) -> None:
    assert how_sure(moves) == expected


@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=60))
def test_the_counts_of_gains_and_of_targets_each_add_up_to_the_moves(moves: list[Move]) -> None:
    total, gains, targets = re.split(r" moves?, |; ", how_sure(moves))
    counted = [int(each) for each in re.findall(r"\b(\d+) (?=is|likely|possible)", gains)]
    assert int(total) == sum(counted) if counted else "all" in gains or total == "1"
    assert int(total) == sum(map(int, re.findall(r"\d+", targets)))


def test_moves_say_each_how_sure_their_gain_is_only_where_that_differs() -> None:
    assert differs((CERTAIN, LIKELY))
    assert differs((LIKELY, a_likely_move("a/m", ROUTE, 0.8)))
    assert not differs((STEERED, CERTAIN, TIED))
    assert not differs((LIKELY, LIKELY))
    assert not differs((CERTAIN, CLEARED))


def test_each_node_that_could_win_has_its_probability() -> None:
    assert list(candidate_texts(LIKELY)) == ["node-4 (0.93)", "node-9 (0.07, in vain)"]
    assert list(candidate_texts(STEERED)) == ["node-4"]
    assert list(candidate_texts(structs.replace(LIKELY, probabilities=()))) == ["node-4", "node-9 (in vain)"]


def test_no_node_that_could_win_is_shown_as_if_it_could_not_and_none_of_several_as_the_only_one() -> None:
    move = structs.replace(LIKELY, probabilities=(1.0, 0.0))
    assert list(candidate_texts(move)) == ["node-4 (0.99)", "node-9 (0.01, in vain)"]
