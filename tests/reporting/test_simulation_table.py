"""What ``restow simulate`` shows: whole screens."""

from __future__ import annotations

import io

import pytest
from msgspec import structs
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders.simulations import CALM, EVENTFUL, SAMPLES, SUMMARY
from restow.reporting.simulation_document import HappenedEvent, SimulationResult
from restow.reporting.simulation_table import print_simulation

RESTLESS = structs.replace(CALM, summary=structs.replace(SUMMARY, quiet_after_seconds=None))
MANY = structs.replace(CALM, events=tuple(HappenedEvent(60 * each, f"cordon node-{each}") for each in range(50)))


def shown(result: SimulationResult, width: int = 80) -> str:
    written = io.StringIO()
    print_simulation(result, Console(file=written, width=width, color_system=None, force_terminal=False))
    return written.getvalue()


@pytest.mark.parametrize(
    "result", [CALM, EVENTFUL, RESTLESS, MANY], ids=["calm", "eventful", "restless", "many events"]
)
def test_the_screen(result: SimulationResult, snapshot: SnapshotAssertion) -> None:
    assert shown(result) == snapshot


def test_a_load_that_is_nearly_even_is_not_drawn_as_uneven() -> None:
    even = structs.replace(CALM, samples=structs.replace(SAMPLES, cpu_spread=(0.0, 0.001, 0.004)))
    (line,) = (each for each in shown(even).splitlines() if "cpu spread" in each)
    assert line.split()[2] == "▁▁▁"


@pytest.mark.parametrize("width", [80, 100, 200])
def test_it_fits(width: int) -> None:
    text = shown(EVENTFUL, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
