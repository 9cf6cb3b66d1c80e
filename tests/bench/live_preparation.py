"""How long a cycle of a live cluster prepares its state: ``python -m tests.bench.live_preparation``.

Some pods change, come and go, as the watch tells; then a cluster is made of what is known, and a state of that. Measured
is the processor time of both, for the median of the cycles.
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

from restow.cluster.snapshot import ClusterStore
from restow.cluster.state import ClusterState
from restow.kube.objects import KINDS
from restow.sources.synthetic import generate

CYCLES = 20


Object = dict[str, Any]


def put(store: ClusterStore, thing: Object) -> None:
    """An object as the API server sends it."""
    store.add(thing["kind"], [msgspec.json.decode(msgspec.json.encode(thing), type=KINDS[thing["kind"]])])


def store_of(nodes: int, pods: int) -> tuple[ClusterStore, list[Object]]:
    """The store of a synthetic cluster, and its pods."""
    store, known = ClusterStore(), list(generate("mixed", nodes, pods, 1))
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
) -> float:
    """Milliseconds for the median cycle, before each of which something happens to so many pods."""
    took, left = [], iter(pods)
    for cycle in range(CYCLES):
        for pod in islice(left, count):
            happens(store, pod, str(cycle))
        begin = time.process_time()
        ClusterState(store.snapshot())
        took.append((time.process_time() - begin) * 1000)
    return median(took)


def main() -> None:
    """Prints a row for each kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--changed", type=int, default=100, help="Pods that change before each cycle.")
    chosen = parser.parse_args()
    print("| before each cycle | the state is prepared in |")
    print("|---|---:|")
    for text, happens in (("pods change", change), ("pods go and others come", recreate)):
        store, pods = store_of(chosen.nodes, chosen.pods)
        ClusterState(store.snapshot())
        print(f"| {chosen.changed} {text} | {measured(store, pods, chosen.changed, happens):.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
