"""PodLifeTime: pods that are too old, or too long in a state.

Source: descheduler v0.36, pkg/framework/plugins/podlifetime.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from restow.cluster.pod_values import PodStates
from restow.cluster.pods import Pods
from restow.descheduling import pod_criteria
from restow.descheduling.framework import Strategy, Suggestion, Suggestions, Verdict, View
from restow.descheduling.pod_criteria import (
    Criterion,
    age_text,
    exit_code_among,
    meeting,
    owner_among,
    owner_not_among,
    seconds_since,
    short_duration,
)
from restow.documents.findings import Issue
from restow.documents.shapes import Uint
from restow.kube.duration import SECOND
from restow.kube.objects import Condition, Int32
from restow.kube.timestamps import nearest_time
from restow.policies.arguments import (
    PodSelectionArgs,
    check_choices,
    check_label_selector,
    check_namespaces,
    lint_needs,
)
from restow.policies.schema import FLATTENED, PluginSchema

#: Phases, status reasons and container reasons that ``states`` may name.
STATES = frozenset(
    {
        *("Pending", "Running", "Succeeded", "Failed", "Unknown"),
        *("NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError", "Evicted", "DeadlineExceeded"),
        *("PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "ErrImagePull"),
        *("CreateContainerConfigError", "CreateContainerError", "InvalidImageName"),
        *("OOMKilled", "Error", "Completed", "ContainerCannotRun", "StartError"),
    }
)


class OwnerKinds(Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds of owners to look at, or to leave alone; at most one of the two."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PodConditionFilter(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A pod condition, by every field that is set."""

    type: str = ""
    status: str = ""
    reason: str = ""
    min_time_since_last_transition_seconds: Uint | None = None


class PodLifeTimeArgs(PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of PodLifeTime."""

    owner_kinds: OwnerKinds | None = None
    max_pod_life_time_seconds: Uint | None = None
    states: tuple[str, ...] = ()
    conditions: tuple[PodConditionFilter, ...] = ()
    exit_codes: tuple[Int32, ...] = ()
    including_init_containers: bool = False
    including_ephemeral_containers: bool = False


def _validate(args: PodLifeTimeArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = check_namespaces(args.namespaces)
    if args.owner_kinds and args.owner_kinds.include and args.owner_kinds.exclude:
        problems.append("only one of Include/Exclude ownerKinds can be set")
    problems += check_label_selector(args.label_selector)
    problems += check_choices("states", args.states, STATES)
    problems += [
        f"conditions[{index}]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds must be set"
        for index, condition in enumerate(args.conditions)
        if condition == PodConditionFilter()
    ]
    if args.max_pod_life_time_seconds is None and not (args.states or args.conditions or args.exit_codes):
        problems.append(
            "at least one filtering criterion must be specified "
            "(maxPodLifeTimeSeconds, states, conditions, or exitCodes)"
        )
    return problems


def _lint(args: PodLifeTimeArgs) -> Iterator[Issue]:
    """Yield settings that have no effect, or more than they seem to."""
    if args.max_pod_life_time_seconds == 0:
        yield Issue(("maxPodLifeTimeSeconds",), "0 seconds: every pod is too old after one second", "note")
    if args.including_init_containers:
        yield from lint_needs("includingInitContainers", ("states", args.states), ("exitCodes", args.exit_codes))
    if args.including_ephemeral_containers:
        yield from lint_needs("includingEphemeralContainers", ("states", args.states))


SCHEMA = PluginSchema(
    name="PodLifeTime",
    extension_points=("deschedule",),
    args=PodLifeTimeArgs,
    validate=_validate,
    lint=_lint,
    renamed={"podStatusPhases": "write states: [...]", "podLifeTime": FLATTENED},
    go_package="podlifetime.",
)


def suggest(view: View, args: PodLifeTimeArgs) -> Suggestions:
    """Pods that meet every criterion, the oldest of the whole cluster first; pods of the same age node by node.

    A node whose limit is reached does not stop the pods of other nodes.
    """
    reasons = _reasons(view, args)
    candidates = view.admissible(np.array(list(reasons), dtype=np.int64))
    oldest_first = np.lexsort((view.state.node[candidates], view.pods.created[candidates]))
    for pod in candidates[oldest_first].tolist():
        verdict = yield Suggestion(pod, reasons[pod])
        if verdict is Verdict.TOTAL_LIMIT:
            return


def _reasons(view: View, args: PodLifeTimeArgs) -> dict[int, str]:
    """The pods that meet every criterion, each with the reason, in canonical order."""
    pods, limit = view.pods, args.max_pod_life_time_seconds
    ages = seconds_since(pods.created, view.now)
    chosen = view.listed_pods(args.namespaces, args.label_selector)
    if limit is not None:
        chosen &= ages > limit
    candidates, clauses = meeting(pods, view.due_of(chosen), _criteria(view, args))
    matches = zip(candidates.tolist(), clauses, ages[candidates].tolist(), strict=True)
    return {pod: _reason(said, age, limit) for pod, said, age in matches}


def _reason(clauses: list[str], age: int, limit: int | None) -> str:
    if limit is None:
        return ", ".join([*clauses, age_text(age)])
    return ", ".join([f"older than {short_duration(limit)} ({age_text(age)})", *clauses])


def _criteria(view: View, args: PodLifeTimeArgs) -> Iterator[Criterion[Any]]:
    pods, kinds = view.pods, args.owner_kinds
    if args.states:
        yield _state_among(pods, args)
    if kinds and kinds.include:
        yield owner_among(pods, kinds.include)
    elif kinds and kinds.exclude:
        yield owner_not_among(pods, kinds.exclude)
    if args.conditions:
        yield _any_condition(pods, args.conditions, view.now)
    if args.exit_codes:
        yield exit_code_among(pods, args.exit_codes, init=args.including_init_containers)


def _state_among(pods: Pods, args: PodLifeTimeArgs) -> Criterion[PodStates]:
    """Matches if one of the states is the phase, the reason of the status, or why a container waits or ended."""

    def why(states: PodStates) -> str | None:
        statuses = pod_criteria.statuses_of(
            states, init=args.including_init_containers, ephemeral=args.including_ephemeral_containers
        )
        found = (states.phase, states.reason, *pod_criteria.reasons(statuses))
        return next((f"state {state}" for state in found if state in args.states), None)

    return Criterion(pods.states, pods.tables.states, why)


def _any_condition(pods: Pods, filters: tuple[PodConditionFilter, ...], now: int) -> Criterion[tuple[Condition, ...]]:
    """Matches if a condition of the pod matches one of the filters."""

    def why(conditions: tuple[Condition, ...]) -> str | None:
        agreeing = (each for wanted in filters for each in conditions if _agrees(each, wanted, now))
        found = next(agreeing, None)
        return None if found is None else f"condition {found.type} {found.status}"

    return Criterion(pods.conditions, pods.tables.conditions, why)


def _agrees(condition: Condition, wanted: PodConditionFilter, now: int) -> bool:
    """Whether every field that is set agrees, and the last transition, if it matters, is long enough ago."""
    same = (
        wanted.type in {"", condition.type}
        and wanted.status in {"", condition.status}
        and wanted.reason in {"", condition.reason}
    )
    if not same or wanted.min_time_since_last_transition_seconds is None:
        return same
    if condition.last_transition_time is None:
        return False
    try:
        elapsed = now - nearest_time(condition.last_transition_time)
    except ValueError as error:
        raise ValueError(f"status.conditions: lastTransitionTime of {condition.type}: {error}") from error
    return elapsed >= 0 and elapsed // SECOND >= wanted.min_time_since_last_transition_seconds


STRATEGY = Strategy(SCHEMA, suggest, by_parts=True)
