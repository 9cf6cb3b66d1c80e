"""Recent usage of nodes, as a watch collects it: samples of all nodes at the same moments, as one array.

A scheduler that runs keeps this instead of a stored history (``cluster.usage_history``): figures of all nodes come from
one computation, and a new sample costs no more than a copy of the old ones. It is among the objects of a cluster as one
of the kind ``KIND``, and changes only as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import LARGEST
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.usage import COLLECTED, Amounts
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT

KIND: Final = "RecentUsage"
#: The key of the only one.
KEY: Final[Key] = ("", "")

#: Nano-units in the unit of each resource: milli-CPUs and bytes.
_NANO: Final = {"cpu": NANO_PER_MILLI, "memory": NANO_PER_UNIT}

Amount = npt.NDArray[np.float64]


@dataclass(slots=True, frozen=True, eq=False)
class RecentUsage:
    """Milli-CPUs and bytes: ``values[time, resource, node]``, resources as ``COLLECTED``, not-a-number if unknown."""

    names: tuple[str, ...]
    #: Seconds since the epoch, ascending.
    times: npt.NDArray[np.int64]
    values: Amount

    @property
    def end(self) -> int:
        """When the newest sample was taken."""
        return int(self.times[-1])

    def figures(self, nodes: Sequence[str], window: int) -> tuple[Amount, Amount]:
        """Mean and standard deviation (of the population) of the last ``window`` seconds, float[resource, node] each.

        Not-a-number, and 0 for the deviation, of a node without a sample.
        """
        some = self.values[self.times > self.end - window]
        known = ~np.isnan(some)
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore"):
            mean = np.where(known, some, 0.0).sum(axis=0) / count
            std = np.sqrt(np.where(known, (some - mean) ** 2, 0.0).sum(axis=0) / count)
        at = _positions(self.names, nodes)
        unknown = at < 0
        return _taken(mean, at, unknown, np.nan), np.nan_to_num(_taken(std, at, unknown, 0.0))


def with_sample(before: RecentUsage | None, at: int, used: Mapping[str, Amounts], keep: int) -> RecentUsage:
    """Add a sample of some nodes and drop what is older than ``keep`` seconds; replaces one of the same time.

    ``used`` is what ``cluster.usage.node_usage`` gives. Nodes without any sample left are forgotten.
    """
    names = tuple(sorted(used))
    now = np.array(
        [[min(used[name][each] / _NANO[each], float(LARGEST)) for name in names] for each in COLLECTED]
    ).reshape(len(COLLECTED), len(names))
    if before is None:
        return RecentUsage(names, np.array([at], dtype=np.int64), now[None])
    kept = (before.times > at - keep) & (before.times < at)
    old = before.values[kept]
    known = np.flatnonzero(~np.isnan(old).all(axis=(0, 1)))
    every = tuple(sorted({*names, *(before.names[each] for each in known.tolist())}))
    rows = [_columns(old, before.names, every), _columns(now[None], names, every)]
    return RecentUsage(every, np.append(before.times[kept], at), np.concatenate(rows))


def recent_usage(cluster: ClusterSnapshot) -> RecentUsage | None:
    """Return the watched usage of a cluster; None if there is none."""
    found: RecentUsage | None = cluster.kind(KIND).get(KEY)
    return found


def _columns(values: Amount, names: tuple[str, ...], every: tuple[str, ...]) -> Amount:
    """The samples of some nodes as those of more of them."""
    if names == every:
        return values
    at = _positions(names, every)
    return _taken(values, at, at < 0, np.nan)


def _taken(values: Amount, at: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], instead: float) -> Amount:
    """Columns by position; another value where there is none."""
    if not values.shape[-1]:
        return np.full((*values.shape[:-1], len(at)), instead)
    return np.where(missing, instead, values[..., at])


def _positions(names: Sequence[str], wanted: Sequence[str]) -> npt.NDArray[np.int64]:
    index = {name: at for at, name in enumerate(names)}
    return np.fromiter((index.get(name, -1) for name in wanted), dtype=np.int64, count=len(wanted))
