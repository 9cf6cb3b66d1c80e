"""How large a stored usage history is, and how long it takes: ``python -m tests.bench.usage_history``.

Nodes follow the hours of a day with a noise of a few percent, each with its own phase: what zlib can least do something
about. Times are those of one process on this machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np

# As pytest finds the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from restow.cluster.snapshot import ClusterStore
from restow.cluster.usage_series import KIND, SampleSeries, mean, packed, rounded, std
from restow.kube.objects import UsageSeries
from restow.sources.compact import CompactCluster
from restow.usage.stored import stored_history

_START = 1_795_219_200
_DAY = 86_400
_CORES, _BYTES = 32_000, 128 << 30


def a_range(samples: int, step: int, generator: np.random.Generator) -> tuple[SampleSeries, SampleSeries]:
    """CPU and memory of one node."""
    times = _START + step * np.arange(samples, dtype=np.int64)
    phase = 2 * np.pi * (times / _DAY + generator.random())
    cpu = _CORES * (0.4 + 0.2 * np.sin(phase) + generator.normal(0, 0.03, samples))
    memory = _BYTES * (0.6 + 0.05 * np.sin(phase)) + np.cumsum(generator.normal(0, 20e6, samples))
    return tuple(SampleSeries(times, np.maximum(each, 0).astype(np.int64)) for each in (cpu, memory))  # type: ignore[return-value]


def all_series(nodes: int, samples: int, step: int) -> Iterator[UsageSeries]:
    """What ``restow snapshot --usage`` would store."""
    generator = np.random.default_rng(1)
    for node in range(nodes):
        for resource, series in zip(("cpu", "memory"), a_range(samples, step, generator), strict=True):
            yield packed(f"node-{node:05}", resource, rounded(series))


def measured(nodes: int, hours: int) -> str:
    """A row of the table."""
    step = -(-hours * 3600 // (288 * 60)) * 60
    samples = hours * 3600 // step
    began = time.perf_counter()
    series = list(all_series(nodes, samples, step))
    packing = time.perf_counter() - began
    compact, plain, zipped = CompactCluster(), BytesIO(), BytesIO()
    compact.add(KIND, series)
    compact.write(plain)
    compact.write_gzip(zipped)
    store = ClusterStore()
    began = time.perf_counter()
    store.add(KIND, series)
    history = stored_history(store.snapshot())
    reading = time.perf_counter() - began
    began = time.perf_counter()
    for of_node in history.nodes.values():
        mean(of_node["cpu"], 3600, _START + hours * 3600)
        std(of_node["cpu"], 3600, _START + hours * 3600)
    judging = time.perf_counter() - began
    sizes = f"{len(plain.getvalue()) / 1e6:.2f} MB | {len(zipped.getvalue()) / 1e6:.2f} MB"
    each = len(zipped.getvalue()) / (2 * nodes * samples)
    return f"| {nodes:,} | {hours} h | {samples} | {sizes} | {each:.2f} | {packing:.1f} s | {reading:.1f} s | {judging:.2f} s |"


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--hours", type=int, nargs="+", default=[24])
    arguments = parser.parse_args()
    print(
        "| nodes | range | samples each | in JSON | in .gz | bytes a sample | to pack | to read | mean and deviation of all |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for nodes in arguments.nodes:
        for hours in arguments.hours:
            print(measured(nodes, hours))


if __name__ == "__main__":
    main()
