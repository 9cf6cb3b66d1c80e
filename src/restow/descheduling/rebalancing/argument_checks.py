"""What is wrong with the arguments of Rebalance."""

from __future__ import annotations

from typing import Final

from restow.descheduling.rebalancing.arguments import MEASURED, REQUESTS, RebalanceArgs
from restow.descheduling.rebalancing.combining import sums
from restow.descheduling.rebalancing.goals import goals
from restow.descheduling.rebalancing.wanted import is_request, requested
from restow.errors import OutOfRangeError
from restow.kube.excerpts import excerpt
from restow.kube.labels import parse_selector
from restow.policies.arguments import check_label_selector, check_namespaces

#: More than a move can be worth, in any goal's unit.
_MOST_GAIN: Final = 10_000


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
