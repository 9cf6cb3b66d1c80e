"""The real kube-scheduler, asked in process: a client of the Go program in ``scheduler/``.

    with SchedulerProcess(scheduler_binary()) as oracle:
        answer = oracle.ask(cluster=[*nodes, *pods], pod="default/web-1", scores_for="all")
        answer.pods[0].best

Every node is visited unless ``starts`` are given, and ties are broken by name. Pods queue by priority, then creation,
then namespace/name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from oracle.oracle_process import ROOT, OracleProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


class Rejection(msgspec.Struct, frozen=True):
    """What the plugin that rejected a node (or the pod) said; ``code`` is U (Unschedulable) or UAU (and Unresolvable)."""

    plugin: str
    reasons: tuple[str, ...]
    code: str


class Candidate(msgspec.Struct, frozen=True):
    """A node where the pod would fit without these pods (``namespace/name``, the most important first)."""

    victims: tuple[str, ...]
    pdb_violations: int = msgspec.field(name="pdbViolations")


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What the scheduler says about one pod. Node names are sorted.

    ``scores`` are normalised and weighted, by node and plugin, with their sum as "total": of every feasible node, or of
    none where one is enough and no more were asked for. ``node`` is the first of ``best``. ``allowed`` are the only
    nodes that PreFilter plugins let be looked at (None: all); the others are neither feasible nor rejected.
    ``pre_filter`` is the rejection of the pod before any node was looked at. ``reason`` and ``message`` are those of
    the condition PodScheduled, empty for a pod that got a node. ``candidates`` are the nodes where preemption would
    help, ``best_candidates`` those among which it may choose, ``nominated_node`` the first of them. ``gated`` says why
    the pod may not enter the queue; then nothing else is set.
    """

    pod: str
    feasible: tuple[str, ...]
    rejected: dict[str, Rejection]
    allowed: tuple[str, ...] | None
    scores: dict[str, dict[str, int]]
    best: tuple[str, ...]
    node: str
    reason: str
    message: str
    nominated_node: str
    candidates: dict[str, Candidate]
    best_candidates: tuple[str, ...]
    pre_filter: Rejection | None = None
    gated: str = ""
    #: Of the scheduler's own loop: whom a cycle preempted, on its first pod.
    victims: tuple[str, ...] = ()
    #: What the claims of the pod have once it is placed, by claim: ``request driver/pool/device``.
    devices: dict[str, tuple[str, ...]] = {}

    def rejections(self) -> dict[str, str]:
        """The rejected nodes in short: ``{"n1": "NodePorts U"}``."""
        return {node: f"{rejected.plugin} {rejected.code}" for node, rejected in self.rejected.items()}

    def scores_of(self, plugin: str) -> dict[str, int]:
        """The scored nodes with what this plugin gave them, or with their "total"; KeyError where it gave none."""
        return {node: by_plugin[plugin] for node, by_plugin in self.scores.items()}


class Answer(msgspec.Struct, frozen=True):
    """An outcome for each pod asked about, in the order of asking, or the error that kept everything from loading."""

    pods: tuple[Outcome, ...]
    error: str = ""

    def of(self, pod: str) -> Outcome:
        """The outcome of ``namespace/name``. Raises StopIteration where it was not asked about."""
        return next(outcome for outcome in self.pods if outcome.pod == pod)

    def only(self) -> Outcome:
        """The outcome of the only pod asked about. Raises ValueError where there is an error, or another number."""
        if self.error or len(self.pods) != 1:
            raise ValueError(self.error or f"{len(self.pods)} pods were asked about")
        return self.pods[0]


def scheduler_of(minor: int) -> Path:
    """The built program of another minor. Raises FileNotFoundError with what to do."""
    binary = ROOT / "build" / "oracle" / f"scheduler-1.{minor}"
    if not binary.exists():
        raise FileNotFoundError(f"{binary} is not built: run `make oracle MINORS=1.{minor}`")
    return binary


def scheduler_binary() -> Path:
    """The built program: RESTOW_SCHEDULER_ORACLE, or where build.py puts it. Raises FileNotFoundError with what to do."""
    binary = ROOT / (os.environ.get("RESTOW_SCHEDULER_ORACLE") or "build/oracle/scheduler")
    if not binary.exists():
        raise FileNotFoundError(f"{binary} is not built: run `make oracle`")
    return binary


class SchedulerProcess:
    """One running program. Not for several threads; a context manager, or ``close`` it."""

    def __init__(self, binary: Path) -> None:
        self._process = OracleProcess(binary)

    def ask(
        self,
        cluster: Iterable[Mapping[str, Any]] = (),
        *,
        files: Iterable[Path] = (),
        pod: str = "",
        config: str = "",
        scores_for: Literal["all", "needed"] = "needed",
        apply: bool = True,
        place: Iterable[tuple[str, str]] | None = None,
        starts: Iterable[int] | None = None,
        groups: bool = False,
        domains: bool = False,
        timeout: float = 60.0,
    ) -> Answer:
        """What becomes of ``pod``, or of every pending pod in queue order.

        ``apply`` places (or nominates) each pod before the next is looked at; without it each sees the cluster as
        given. ``place`` asks about its pods only, in its order, and puts each on its node whatever the scheduler says;
        an empty node leaves the pod as unschedulable pods are left. Victims of preemption stay where they are.
        ``starts`` asks about ``pod`` once for each of these indices: there the search for nodes starts, and it ends as
        the configuration says. ``feasible`` then has the node that made it end too, ``scores`` and ``best`` do not.
        ``groups`` runs the scheduler's own loop, which decides about PodGroups, and tells what became of each pod: what was
        said of it first in the cycle, whether it got its node, and on the first pod of a cycle whom that preempted.
        ``domains`` has it schedule groups that share a domain, too, which only the program of 1.37 does.
        Raises OracleError when no answer comes within ``timeout`` seconds; the process is over then.
        """
        request = {
            "cluster": list(cluster),
            "files": [str(path) for path in files],
            "pod": pod,
            "config": config,
            "scoresFor": scores_for,
            "apply": apply,
            "place": None if place is None else [{"pod": name, "node": node} for name, node in place],
            "starts": None if starts is None else list(starts),
            "groups": groups,
        } | ({"domains": True} if domains else {})
        return msgspec.json.decode(self._process.exchange(request, timeout), type=Answer)

    def close(self) -> None:
        """Ends the process."""
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def verdict(process: SchedulerProcess, *cluster: Mapping[str, Any], config: str = "") -> Outcome:
    """What becomes of the only pending pod, with the scores of every feasible node."""
    return process.ask(cluster, config=config, scores_for="all").only()
