"""How long a cycle of a live cluster takes where nothing moves: ``python -m tests.bench.live_preparation``.

Some pods change, come and go, as the watch tells; then a cluster is made of what is known, and a state of that; and the
bundled policy decides, which finds nothing to do. Measured is the processor time of either, for the median of the cycles.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

# As pytest finds the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from restow import garbage
from restow.application.policies import read_policy_file
from restow.cluster.snapshot import ClusterStore
from restow.cluster.state import ClusterState
from restow.kube.objects import KINDS
from restow.policies.codes import Placement
from restow.policies.fallbacks import Fallbacks
from restow.proving.planning import decided
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


def change(store: ClusterStore, pod: Object, name: str) -> None:
    """A pod has another label now."""
    metadata = pod["metadata"]
    put(store, pod | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {"changed": name}}})


def recreate(store: ClusterStore, pod: Object, name: str) -> None:
    """A pod is gone, and another one has come."""
    metadata = pod["metadata"]
    store.remove("Pod", metadata["namespace"], metadata["name"])
    put(store, pod | {"metadata": metadata | {"name": f"{metadata['name']}-{name}"}})


def measured(
    store: ClusterStore, pods: list[Object], count: int, happens: Callable[[ClusterStore, Object, str], None]
) -> tuple[float, float]:
    """Milliseconds to prepare and to decide the median cycle, before each of which something happens to so many pods."""
    prepared, made, left = [], [], iter(pods)
    policy = read_policy_file(None, Fallbacks()).loaded.policy
    for cycle in range(CYCLES):
        for pod in islice(left, count):
            happens(store, pod, str(cycle))
        begin = time.process_time()
        cluster = store.snapshot()
        ClusterState(cluster)
        between = time.process_time()
        found = decided(cluster, policy, Placement.PROVE, _NOW, (DEFAULT_PROFILE,))
        assert not found.record.evictions
        prepared.append((between - begin) * 1000)
        made.append((time.process_time() - between) * 1000)
    return median(prepared), median(made)


def main() -> None:
    """Prints a row for each kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--changed", type=int, default=100, help="Pods that change before each cycle.")
    chosen = parser.parse_args()
    garbage.collect()
    print("| before each cycle | the state is prepared in | a plan is made in |")
    print("|---|---:|---:|")
    for text, happens in (("pods change", change), ("pods go and others come", recreate)):
        store, pods = store_of(chosen.nodes, chosen.pods)
        ClusterState(store.snapshot())
        # As the daemon does when it knows the cluster.
        garbage.settle()
        prepared, made = measured(store, pods, chosen.changed, happens)
        print(f"| {chosen.changed} {text} | {prepared:.0f} ms | {made:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
