"""How much memory the pods of a live cluster take: ``python -m tests.bench.live_memory``.

Pods go through the same hands as those of a watch: pages of 500 from a list, then one after the other as they change.
Counted is what Python and NumPy have allocated for them, by tracemalloc, without the process itself.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

# As pytest finds the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from restow.cluster.snapshot import ClusterStore
from restow.kube.objects import Pod
from restow.sources.synthetic import generate

PROFILES = ("mixed", "full")
_PAGE = 500
_PODS_A_NODE = 30


def wire_pods(profile: str, count: int) -> Iterator[bytes]:
    """The pods of a synthetic cluster as an API server sends them."""
    objects = generate(profile, max(count // _PODS_A_NODE, 1), count, 1)
    return (msgspec.json.encode(each) for each in objects if each["kind"] == "Pod")


def listed(profile: str, count: int, store: ClusterStore) -> int:
    """Takes all pods, page by page; returns how many bytes they have on the wire."""
    decoder, texts, size = msgspec.json.Decoder(list[Pod]), wire_pods(profile, count), 0
    while page := list(islice(texts, _PAGE)):
        text = b"[" + b",".join(page) + b"]"
        size += len(text)
        store.add("Pod", decoder.decode(text))
    return size


def change_all(profile: str, count: int, store: ClusterStore, times: int) -> None:
    """Each pod changes so many times."""
    decoder = msgspec.json.Decoder(Pod)
    for _ in range(times):
        for text in wire_pods(profile, count):
            store.add("Pod", [decoder.decode(text)])


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def main() -> None:
    """Prints a row for each profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--changes", type=int, default=3, help="How often each pod changes.")
    chosen = parser.parse_args()
    print("| pods | on the wire, each | kept, for 1,000 | after changes | snapshot |")
    print("|---|---:|---:|---:|---:|")
    for profile in PROFILES:
        list(islice(wire_pods(profile, 100), 1))
        tracemalloc.start()
        before, store = allocated(), ClusterStore()
        size = listed(profile, chosen.pods, store)
        kept = allocated() - before
        change_all(profile, chosen.pods, store, chosen.changes)
        later = allocated() - before
        tracemalloc.stop()
        begin = time.perf_counter()
        store.snapshot()
        took = time.perf_counter() - begin
        each = [f"{bytes_ / chosen.pods * 1000 / 1e6:.2f} MB" for bytes_ in (kept, later)]
        print(f"| {profile} | {size / chosen.pods / 1000:.1f} KB | {' | '.join(each)} | {took:.2f} s |")


if __name__ == "__main__":
    main()
