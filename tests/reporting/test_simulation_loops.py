"""What ``restow simulate`` shows of loops."""

from __future__ import annotations

import pytest

from restow.kube.timestamps import SECOND
from restow.reporting.simulation_document import LoopedWorkloadResult, LoopResult
from restow.reporting.simulation_result import loop_results
from restow.reporting.simulation_table import loop_lines
from restow.simulating.scenarios.loops import EvictionLoop, LoopedWorkload
from restow.simulating.scenarios.references import Reference

WEB = LoopedWorkloadResult("deployment/shop/web", 8, 0, ("n1", "n2"))
ONE = LoopResult(300, 1500, 4, 300, ("RemoveDuplicates",), (WEB,))
SCALED = LoopedWorkloadResult("deployment/shop/api", 0, 3, ())
MANY = LoopResult(300, 3900, 2, 1800, ("LowNodeUtilization", "cluster-autoscaler"), (WEB, SCALED, WEB, WEB, WEB))


def shown(*loops: LoopResult, width: int = 80) -> list[str]:
    return [line.plain for line in loop_lines(loops, width, str.upper)]


def test_a_loop_is_a_sentence() -> None:
    told = "every 5m, 4 times from 5m to 25m; 8 evictions on n1 and n2"
    assert shown(ONE, width=200) == [
        "1 loop: the same state time after time",
        f" ↻ RemoveDuplicates drives DEPLOYMENT/SHOP/WEB in a loop: {told}",
    ]


def test_of_many_workloads_the_first_ones_are_named() -> None:
    (_, line) = shown(MANY, width=300)
    assert line.startswith(" ↻ LowNodeUtilization and cluster-autoscaler drive ")
    assert "and 2 more in a loop: every 30m, 2 times from 5m to 1h5m; 32 evictions and 3 changes of size" in line


def test_without_a_loop_there_is_no_section() -> None:
    assert shown() == []


def test_of_many_loops_the_first_ones_are_shown() -> None:
    assert shown(*[ONE] * 12)[-1] == " ... and 2 more: see -o json"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_it_fits(width: int) -> None:
    assert max(map(len, shown(ONE, MANY, width=width))) <= width


def test_the_document_has_seconds_and_names() -> None:
    looped = LoopedWorkload(Reference("Deployment", "shop", "web"), 8, 0, ("n1", "n2"))
    (found,) = loop_results([EvictionLoop(300 * SECOND, 1500 * SECOND, 4, ("RemoveDuplicates",), (looped,))])
    assert found == ONE
