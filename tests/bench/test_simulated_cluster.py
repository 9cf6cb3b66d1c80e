"""The clusters of the benchmark of simulations are scenarios, and the same ones in each run."""

from __future__ import annotations

from bench.simulated_cluster import Shape, write_scenario
from restow.kube.duration import HOUR
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario


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
