"""The clusters of the benchmark of simulations are scenarios, and the same ones in each run."""

from __future__ import annotations

from collections import Counter
from cProfile import Profile
from pathlib import Path
from pstats import Stats

import pytest

from bench.simulated_cluster import Shape, write_scenario
from restow.kube.duration import HOUR
from restow.policies.policy import Policy
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import begin, config_of


def test_the_same_shape_gives_the_same_scenario(tmp_path):
    """Five nodes with twenty pods each, of which one or none is drained each hour, and ten pods that come in six hours."""
    written = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        path = write_scenario(Shape(nodes=5, placement="prove", hours=6), folder)
        written.append({each.name: each.read_bytes() for each in folder.iterdir()})
    assert written[0] == written[1]
    scenario = read_scenario(path.read_bytes(), path.name, Folder(path.parent))
    assert (scenario.duration, len(scenario.arrivals), len(scenario.events)) == (6 * HOUR, 10, 12)
    assert all(each.at <= 6 * HOUR for each in scenario.arrivals)
    assert not [each for each in scenario.findings if each.severity == "error"]


@pytest.mark.parametrize("seed", [1, 2])
def test_an_event_costs_as_many_calls_in_a_large_cluster_as_in_a_small_one(tmp_path: Path, seed: int) -> None:
    """Within a tenth; what is made once, before the first pods come, does not count."""
    small, large = (calls_per_event(Shape(nodes, "upstream", 3, seed), tmp_path) for nodes in (100, 300))
    assert large < 1.1 * small


def calls_per_event(shape: Shape, folder: Path) -> float:
    """Calls of functions for each change of an object, within an hour in which nodes are drained."""
    scenario = read_scenario(write_scenario(shape, folder).read_bytes(), "scenario.yaml", Folder(folder))
    assert scenario.begins is not None
    run = begin(scenario, config_of(scenario, Folder(folder), Policy()), scenario.begins)
    clock, events = run.simulation.clock, Counter[str]()
    clock.run(scenario.begins + 3 * HOUR // 2)
    run.simulation.store.subscribe_all(lambda event: events.update((event.kind,)))
    with Profile() as profile:
        clock.run(scenario.begins + 5 * HOUR // 2)
    run.end()
    assert events.total() > 200
    return int(Stats(profile).total_calls) / events.total()  # type: ignore[attr-defined]  typeshed lacks it
