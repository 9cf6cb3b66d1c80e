"""How sure a move is: the word, the number, and which node is how probable."""

from __future__ import annotations

import pytest
from msgspec import structs

from builders.plans import a_clearance, a_likely_move, a_move, a_steered_move
from restow.descheduling.plan import Move
from restow.reporting.sureness import candidate_texts, differs, how_sure, sureness, sureness_in_words

ROUTE = ("node-1", "node-4")
STEERED, CERTAIN, LIKELY = a_steered_move("a/s", ROUTE), a_move("a/c", ROUTE), a_likely_move("a/l", ROUTE)
RARE = a_move("a/r", ROUTE, certainty="possible", probability=0.4)
UNKNOWN = a_move("a/u", ROUTE, certainty="possible")
EVICTED = a_move("a/e", ("node-1", None))


@pytest.mark.parametrize(
    ("move", "short", "words"),
    [
        (STEERED, "steered", "steered"),
        (CERTAIN, "1", "certain"),
        (a_clearance("a/o", "node-1"), "1", "certain"),
        (LIKELY, "0.93", "likely (0.93)"),
        (RARE, "0.40", "possible (0.40)"),
        (UNKNOWN, "possible", "possible"),
        (EVICTED, "-", "-"),
    ],
    ids=["steered", "certain", "cleared", "likely", "possible", "without number", "not predicted"],
)
def test_a_word_or_a_number_says_how_sure_a_move_is(move: Move, short: str, words: str) -> None:
    assert (sureness(move), sureness_in_words(move)) == (short, words)


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ((STEERED, LIKELY, STEERED), "3 moves: 2 steered, 1 likely (0.93)"),
        ((LIKELY,), "1 move, likely (0.93)"),
        ((STEERED,), "1 move, steered"),
        ((STEERED, STEERED), "2 moves, all steered"),
        ((LIKELY, LIKELY), "2 moves, all likely (0.93)"),
        ((LIKELY, a_likely_move("a/m", ROUTE, 0.8)), "2 moves, all likely (0.80 to 0.93)"),
        ((UNKNOWN, RARE, CERTAIN), "3 moves: 1 certain, 2 possible"),
    ],
)
def test_the_headline_counts_the_surest_first(moves: tuple[Move, ...], expected: str) -> None:
    assert how_sure(moves) == expected


def test_moves_say_each_how_sure_they_are_only_where_they_differ() -> None:
    assert differs((STEERED, CERTAIN))
    assert differs((LIKELY, a_likely_move("a/m", ROUTE, 0.8)))
    assert not differs((LIKELY, LIKELY))
    assert not differs((CERTAIN, a_clearance("a/o", "node-1")))


def test_each_node_that_could_win_has_its_probability() -> None:
    assert list(candidate_texts(LIKELY)) == ["node-4 (0.93)", "node-9 (0.07, in vain)"]
    assert list(candidate_texts(STEERED)) == ["node-4"]
    assert list(candidate_texts(structs.replace(LIKELY, probabilities=()))) == ["node-4", "node-9 (in vain)"]


def test_no_node_that_could_win_is_shown_as_if_it_could_not() -> None:
    move = structs.replace(LIKELY, probabilities=(1.0, 0.0))
    assert list(candidate_texts(move)) == ["node-4 (1)", "node-9 (0.01, in vain)"]
