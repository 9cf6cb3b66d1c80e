"""Pauses between tries."""

from __future__ import annotations

import pytest

from restow.client.flow_control import BackOff

TIMES = BackOff(first=1, cap=10)


@pytest.mark.parametrize(("failures", "shortest"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (100_000, 10)])
def test_pauses_double_up_to_the_cap_and_vary(failures: int, shortest: float) -> None:
    pauses = {TIMES.wait(failures) for _ in range(50)}

    assert all(shortest <= pause <= 2 * shortest for pause in pauses)
    assert len(pauses) > 10


@pytest.mark.parametrize(
    ("asked", "shortest"),
    [
        pytest.param(30, 30, id="what the server asks for"),
        pytest.param(0.1, 1, id="but no less than our own"),
        pytest.param(86_400, 120, id="and not a day"),
    ],
)
def test_the_server_names_the_shortest(asked: float, shortest: float) -> None:
    assert shortest <= TIMES.wait(1, asked) <= 2 * shortest
