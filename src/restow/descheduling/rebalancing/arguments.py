"""The arguments of Rebalance, and what is wrong with them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from restow.documents.shapes import Duration, Uint
from restow.errors import OutOfRangeError
from restow.kube.excerpts import excerpt
from restow.kube.labels import parse_selector
from restow.policies.arguments import PodSelectionArgs, check_label_selector, check_namespaces
from restow.policies.usage import MetricsUtilization
from restow.usage.sources import KUBERNETES_METRICS

#: More than a move can be worth, in any goal's unit.
_MOST_GAIN: Final = 10_000


#: What ``usage`` may be.
REQUESTS: Final = "requests"
MEASURED: Final = "measured"


class NodePrice(Struct, frozen=True, forbid_unknown_fields=True):
    """What each node costs that a label selector matches, for the goal ``pack``."""

    nodes: str
    price: float


class RebalanceArgs(PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of Rebalance."""

    #: Several are separated by commas, the most important first, or by plus signs with weights: ``pack:3+balance``.
    goal: str = "balance"
    #: The most moves of a plan; None: as many as are worth it.
    budget: Uint | None = None
    resources: tuple[str, ...] = ("cpu", "memory")
    #: ``requests``, or ``measured`` by metrics.k8s.io.
    usage: str = REQUESTS
    #: Percent of allocatable that stays free by measured usage on a node that receives pods.
    headroom: float = 0
    #: What a move must be worth, in the goal's own unit; None: the goal's default.
    min_gain_per_move: float | None = None
    #: How long each search may take; None: a number of steps that depends on the pods alone, which repeats exactly.
    time_limit: Duration | None = None
    #: For ``pack``: only nodes that this label selector matches are emptied.
    free: str = ""
    prices: tuple[NodePrice, ...] = ()
    #: For ``room``: the waiting pods that get a place, as namespace/name, or "all"; or what a pod would request.
    pods: tuple[str, ...] = ("all",)

    @property
    def metrics_utilization(self) -> MetricsUtilization | None:
        """Where usage comes from, as other strategies say it; None: the pods' requests."""
        return MetricsUtilization(source=KUBERNETES_METRICS) if self.usage == MEASURED else None


def check(args: RebalanceArgs) -> list[str]:
    """Return what is wrong with the arguments, a text each."""
    return [
        *check_namespaces(args.namespaces),
        *check_label_selector(args.label_selector),
        *_check_goal(args),
        *_check_usage(args),
        *(f"{name}: {problem}" for name, text in _selectors(args) if (problem := _unreadable(text))),
        *(f"pods[{at}]: {problem}" for at, text in enumerate(args.pods) if (problem := _unreadable_request(text))),
        *(f"prices[{at}].price: must not be negative" for at, each in enumerate(args.prices) if each.price < 0),
    ]


def _check_goal(args: RebalanceArgs) -> list[str]:
    from restow.descheduling.rebalancing.combining import sums
    from restow.descheduling.rebalancing.goals import goals

    try:
        names = [name for each in sums(args.goal) for name in each]
    except ValueError as error:
        return [f"goal: {error}"]
    known = list(goals())
    problems = [
        f'goal: "{excerpt(name)}" is unknown; choose one of {", ".join(known)}' for name in names if name not in known
    ]
    if len(names) > 1 and args.min_gain_per_move is not None:
        problems.append("minGainPerMove: goals count in different units; leave it out where several are combined")
    return problems


def _check_usage(args: RebalanceArgs) -> list[str]:
    problems = []
    if args.usage not in (REQUESTS, MEASURED):
        problems.append(f'usage: "{excerpt(args.usage)}" is unknown; choose one of {REQUESTS}, {MEASURED}')
    if not 0 <= args.headroom < 100:
        problems.append(f"headroom: must be from 0 to below 100, not {args.headroom:g}")
    elif args.headroom and args.usage == REQUESTS:
        problems.append(f"headroom: is free by measured usage; add usage: {MEASURED}")
    if not args.resources:
        problems.append("resources: names no resource; leave it out for cpu and memory")
    if args.min_gain_per_move is not None and not 0 <= args.min_gain_per_move < _MOST_GAIN:
        problems.append(f"minGainPerMove: must be from 0 to {_MOST_GAIN}")
    if args.time_limit is not None and args.time_limit <= 0:
        problems.append("timeLimit: must be longer than 0s")
    return problems


def _selectors(args: RebalanceArgs) -> list[tuple[str, str]]:
    return [("free", args.free), *((f"prices[{at}].nodes", each.nodes) for at, each in enumerate(args.prices))]


def _unreadable_request(text: str) -> str:
    from restow.descheduling.rebalancing.wanted import is_request, requested

    try:
        if is_request(text):
            requested(text)
    except (ValueError, OutOfRangeError) as error:
        return str(error)
    return ""


def _unreadable(selector: str) -> str:
    try:
        parse_selector(selector)
    except ValueError as error:
        return str(error)
    return ""
