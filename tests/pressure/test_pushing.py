"""Pushing again and again, with the gateway and the measurement given; the real gateway is asked in tests/e2e."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from restow.errors import InputError
from restow.pressure.pushing import Gateway, keep_pushing

TROUBLE = ConnectionError("http://gateway cannot be reached: no route to host")


@dataclass(frozen=True)
class Written(Gateway):
    """Keeps what is pushed; fails where it is told to."""

    url: str = "http://gateway"
    instance: str = "n1"
    failing: set[int] = field(default_factory=set)
    said: list[object] = field(default_factory=list)

    def push(self, available: int) -> None:
        self._say(available)

    def delete(self) -> None:
        self._say("deleted")

    def _say(self, what: object) -> None:
        self.said.append(what)
        if len(self.said) in self.failing:
            raise TROUBLE


@dataclass
class After:
    """Stops after so many waits."""

    waits: int
    waited: list[float] = field(default_factory=list)

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return len(self.waited) >= self.waits


def kept(gateway: Gateway, pushes: int, measured: Callable[[], int] = lambda: 7) -> list[str]:
    """What is told of so many pushes."""
    warnings: list[str] = []
    stopping = After(pushes)
    keep_pushing(gateway, measured, 30.0, stopping, warnings.append)
    assert stopping.waited == [30.0] * pushes
    return warnings


def test_the_figure_is_pushed_at_each_turn_and_deleted_at_the_end() -> None:
    gateway = Written()
    assert kept(gateway, 3) == []
    assert gateway.said == [7, 7, 7, "deleted"]


def test_trouble_is_told_once_and_so_is_its_end() -> None:
    gateway = Written(failing={2, 3})
    assert kept(gateway, 4) == [str(TROUBLE), "http://gateway has the figure of n1 again"]


def test_what_cannot_be_measured_is_not_pushed_and_may_pass() -> None:
    figures = iter([7, InputError("memory.stat has no line anon"), 8])

    def measured() -> int:
        figure = next(figures)
        if isinstance(figure, Exception):
            raise figure
        return figure

    gateway = Written()
    told = kept(gateway, 3, measured)
    assert told == ["memory.stat has no line anon", "http://gateway has the figure of n1 again"]
    assert gateway.said == [7, 8, "deleted"]


def test_a_figure_that_stays_behind_is_told() -> None:
    assert kept(Written(failing={2}), 1) == [f"the last figure of n1 was not deleted: {TROUBLE}"]


@pytest.mark.parametrize("user", [None, ("who", "secret")])
def test_nobody_there_is_a_sentence_without_the_password(user: tuple[str, str] | None) -> None:
    with pytest.raises(ConnectionError, match=r"^http://127.0.0.1:1 cannot be reached: ") as raised:
        Gateway("http://127.0.0.1:1", "n1", user).push(1)
    assert "secret" not in str(raised.value)
