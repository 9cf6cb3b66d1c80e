"""RemoveFailedPods: pods in phase Failed, by age, reason, exit code and owner.

Source: descheduler v0.36, pkg/framework/plugins/removefailedpods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from restow.cluster.pod_values import Phase, PodStates
from restow.cluster.pods import Pods
from restow.descheduling import pod_criteria
from restow.descheduling.framework import Strategy, Suggestions, View, suggest_by_node
from restow.descheduling.pod_criteria import (
    Criterion,
    age_text,
    exit_code_among,
    meeting,
    owner_not_among,
    seconds_since,
)
from restow.documents.findings import Issue
from restow.documents.shapes import Uint
from restow.kube.objects import Int32
from restow.policies.arguments import PodSelectionArgs, check_pod_selection, lint_needs
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import FLATTENED, PluginSchema

_DEFAULT_MIN_POD_LIFETIME_SECONDS = 3600


class RemoveFailedPodsArgs(PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of RemoveFailedPods."""

    exclude_owner_kinds: tuple[str, ...] = ()
    #: None only before defaulting, and then no minimum.
    min_pod_lifetime_seconds: Uint | None = None
    reasons: tuple[str, ...] = ()
    exit_codes: tuple[Int32, ...] = ()
    including_init_containers: bool = False


def _default(args: RemoveFailedPodsArgs) -> RemoveFailedPodsArgs:
    """Give pods an hour before they count as failed for good, unless the policy says otherwise."""
    if args.min_pod_lifetime_seconds is not None:
        return args
    return replace(args, min_pod_lifetime_seconds=_DEFAULT_MIN_POD_LIFETIME_SECONDS)


def _lint(args: RemoveFailedPodsArgs) -> Iterator[Issue]:
    """Yield settings that have no effect."""
    if args.including_init_containers:
        yield from lint_needs("includingInitContainers", ("reasons", args.reasons), ("exitCodes", args.exit_codes))


SCHEMA = PluginSchema(
    name="RemoveFailedPods",
    extension_points=("deschedule",),
    args=RemoveFailedPodsArgs,
    validate=check_pod_selection,
    default=_default,
    lint=_lint,
    renamed={"failedPods": FLATTENED},
)


def suggest(view: View, args: RemoveFailedPodsArgs) -> Suggestions:
    """Failed pods of each node that are old enough and failed for one of the reasons."""
    pods = view.pods
    ages = seconds_since(pods.created, view.now)
    failed = view.listed_pods(args.namespaces, args.label_selector) & (pods.phase == Phase.FAILED)
    if args.min_pod_lifetime_seconds is not None:
        # Upstream takes the age as an unsigned number, so a pod from the future is older than any minimum.
        failed &= ages.astype(np.uint64) >= args.min_pod_lifetime_seconds
    candidates, clauses = meeting(pods, view.due_of(failed), _criteria(pods, args))
    matches = zip(candidates.tolist(), clauses, ages[candidates].tolist(), strict=True)
    reasons = {pod: ", ".join(["failed", *said, age_text(age)]) for pod, said, age in matches}
    yield from suggest_by_node(view, reasons, PlacementConstraint.ANYWHERE)


def _criteria(pods: Pods, args: RemoveFailedPodsArgs) -> Iterator[Criterion[Any]]:
    init = args.including_init_containers

    def why(states: PodStates) -> str | None:
        given = (states.reason, *pod_criteria.reasons(pod_criteria.statuses_of(states, init=init)))
        return next((f"reason {reason}" for reason in given if reason and reason in args.reasons), None)

    if args.exclude_owner_kinds:
        yield owner_not_among(pods, args.exclude_owner_kinds)
    if args.reasons:
        yield Criterion(pods.states, pods.tables.states, why)
    if args.exit_codes:
        yield exit_code_among(pods, args.exit_codes, init=init)


STRATEGY = Strategy(SCHEMA, suggest, by_parts=True)
