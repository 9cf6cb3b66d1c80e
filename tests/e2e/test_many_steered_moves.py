"""The moves of ``make bench PART=live TABLE=steering`` in small: many of them are on their way at a time, and all land on their targets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.live.moved import leveling, moved_by, restow
from bench.live.uneven import two_halves
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.steered import entries

pytestmark = pytest.mark.e2e

#: Six full nodes with four pods too many each, and four thin ones.
CLUSTER = two_halves(10, 24, 24)


@pytest.fixture
def plane(built: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    try:
        tool("kustomize")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with ControlPlane(tmp_path) as made:
        CLUSTER.make(made)
        yield made


def test_all_land_on_their_targets_while_nobody_else_writes(plane: ControlPlane, tmp_path: Path) -> None:
    moved = moved_by(plane, restow(plane, leveling("nominate"), tmp_path))
    assert (moved.evictions, moved.on_target, moved.as_predicted) == (24, 24, 24)
    assert max(moved.on_node.values()) == 24
    assert entries(plane) == {}
