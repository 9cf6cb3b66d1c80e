"""How long a cycle of a live cluster takes where nothing moves: ``python -m tests.bench.live_preparation``.

Some pods change, come and go, as the watch tells; then the state of the cycle before catches up with the cluster, or one
is made of a snapshot, as for the first cycle; and the bundled policy decides, which finds nothing to do. Measured is the
processor time of either, for the median of the cycles.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

# As pytest finds the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from restow import garbage
from restow.application.policies import read_policy_file
from restow.cluster.snapshot import ClusterStore, Key
from restow.kube.objects import KINDS
from restow.live.trailing import TrailingState
from restow.policies.codes import Placement
from restow.policies.fallbacks import Fallbacks
from restow.proving.planning import decided
from restow.proving.planning_cache import PlanningCache
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.sources.synthetic import generate

CYCLES = 10
#: Nanoseconds since the epoch.
_NOW = 1_795_000_000 * 10**9


Object = dict[str, Any]


def put(store: ClusterStore, thing: Object) -> None:
    """An object as the API server sends it."""
    store.add(thing["kind"], [msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[thing["kind"]])])


def store_of(nodes: int, pods: int) -> tuple[ClusterStore, list[Object]]:
    """The store of a synthetic cluster, and its pods."""
    store, known = ClusterStore(), list(generate("low-utilization", nodes, pods, 1))
    for each in known:
        put(store, each)
    return store, [each for each in known if each["kind"] == "Pod"]


def change(store: ClusterStore, pod: Object, name: str) -> tuple[Key, ...]:
    """A pod has another label now; returns who has changed."""
    metadata = pod["metadata"]
    put(store, pod | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {"changed": name}}})
    return ((metadata["namespace"], metadata["name"]),)


def recreate(store: ClusterStore, pod: Object, name: str) -> tuple[Key, ...]:
    """A pod is gone, and another one has come; returns both."""
    metadata = pod["metadata"]
    store.remove("Pod", metadata["namespace"], metadata["name"])
    other = f"{metadata['name']}-{name}"
    put(store, pod | {"metadata": metadata | {"name": other}})
    return (metadata["namespace"], metadata["name"]), (metadata["namespace"], other)


class Followed:
    """A state that follows a store, with what plans leave."""

    def __init__(self, store: ClusterStore) -> None:
        self._store = store
        self.trailing = TrailingState(store.snapshot(), store)
        self.cache = PlanningCache.of(self.trailing.state, (DEFAULT_PROFILE,))

    def catch_up(self) -> PlanningCache:
        """What the next plan is made on."""
        assert self.trailing.catch_up(self._store, frozenset())
        return self.cache


def measured(
    store: ClusterStore,
    pods: list[Object],
    count: int,
    happens: Callable[[ClusterStore, Object, str], tuple[Key, ...]],
    *,
    is_kept: bool,
) -> tuple[float, float]:
    """Milliseconds to prepare and to decide the median cycle, before each of which something happens to so many pods.

    ``is_kept``: on the state of the cycle before.
    """
    prepared, made, left = [], [], iter(pods)
    policy = read_policy_file(None, Fallbacks()).loaded.policy
    followed = Followed(store)
    decided(followed.cache.state.cluster, policy, Placement.PROVE, _NOW, (DEFAULT_PROFILE,), cache=followed.cache)
    followed.cache.take_back_plan()
    for cycle in range(CYCLES):
        for pod in islice(left, count):
            followed.trailing.touch("Pod", happens(store, pod, f"{cycle}-{is_kept}".lower()))
        begin = time.process_time()
        cache = followed.catch_up() if is_kept else Followed(store).cache
        between = time.process_time()
        found = decided(cache.state.cluster, policy, Placement.PROVE, _NOW, (DEFAULT_PROFILE,), cache=cache)
        cache.take_back_plan()
        assert not found.record.evictions
        prepared.append((between - begin) * 1000)
        made.append((time.process_time() - between) * 1000)
    return median(prepared), median(made)


#: What happens before each cycle.
_CHANGES: Final = (("pods change", change), ("pods go and others come", recreate))
#: What a plan is made on.
_STATES: Final = (("a snapshot", False), ("the state of the cycle before", True))


def main() -> None:
    """Prints a row for each kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--changed", type=int, default=100, help="Pods that change before each cycle.")
    chosen = parser.parse_args()
    garbage.collect()
    print("| before each cycle | the plan is made on | this is ready in | the plan is made in |")
    print("|---|---|---:|---:|")
    for (text, happens), (what, is_kept) in product(_CHANGES, _STATES):
        store, pods = store_of(chosen.nodes, chosen.pods)
        store.snapshot()
        # As the daemon does when it knows the cluster.
        garbage.settle()
        prepared, made = measured(store, pods, chosen.changed, happens, is_kept=is_kept)
        print(f"| {chosen.changed} {text} | {what} | {prepared:.0f} ms | {made:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
