"""A simulated cluster goes through what the real control plane goes through."""

from __future__ import annotations

import os

import pytest

from e2e.batch_scenes import BATCH
from e2e.cluster_scenes import CLUSTER
from e2e.control_plane import ControlPlane
from e2e.scene_playing import play
from e2e.scene_steps import Scene
from e2e.workload_scenes import WORKLOADS

pytestmark = pytest.mark.e2e

SCENES: dict[str, Scene] = WORKLOADS | BATCH | CLUSTER
#: With this environment variable also those that take minutes.
LONG = "RESTOW_E2E_SCENES"
_ASKED = "all" if os.environ.get(LONG) == "all" else "short"
CHOSEN = {name: each for name, each in SCENES.items() if _ASKED == "all" or not each.long}
#: So often a scene is tried: on a busy machine what is apart by seconds may happen in another order.
_TRIES = 3


def _namespace(name: str, attempt: int) -> str:
    return f"scene-{list(SCENES).index(name)}-{attempt}"


@pytest.fixture(scope="module")
def differences(plane: ControlPlane, request: pytest.FixtureRequest) -> dict[str, str]:
    """Where each of the scenes that are asked for departs from its simulation; empty where it does not."""
    asked = [
        each.callspec.params["name"]
        for each in request.session.items
        if getattr(each, "callspec", None) and each.module is request.module
    ]
    found: dict[str, str] = {}
    left = asked
    for attempt in range(_TRIES):
        names = {_namespace(name, attempt): name for name in left}
        told = play(plane, {namespace: SCENES[name] for namespace, name in names.items()})
        found |= {names[namespace]: difference for namespace, difference in told.items()}
        left = [name for name in left if found[name]]
        if not left:
            break
    return found


@pytest.mark.parametrize("name", CHOSEN)
def test_the_simulation_goes_the_same_way(differences: dict[str, str], name: str) -> None:
    """What happens, in which order, and what is reported meanwhile."""
    assert not differences[name], differences[name]
