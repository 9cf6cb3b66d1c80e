"""Criteria that several strategies let a policy set: kinds of owners, exit codes."""

from __future__ import annotations

from collections.abc import Container

from restow.cluster.pods import Pods, PodStates
from restow.descheduling.container_states import exit_codes, statuses_of
from restow.descheduling.criteria import Criterion
from restow.kube.objects import OwnerReference


def owner_among(pods: Pods, kinds: Container[str]) -> Criterion[tuple[OwnerReference, ...]]:
    """Some owner is of one of these kinds."""

    def why(owners: tuple[OwnerReference, ...]) -> str | None:
        return next((f"owned by a {owner.kind}" for owner in owners if owner.kind in kinds), None)

    return Criterion(pods.owners, pods.tables.owners, why)


def owner_not_among(pods: Pods, kinds: Container[str]) -> Criterion[tuple[OwnerReference, ...]]:
    """No owner is of one of these kinds; pods without owner are among them."""

    def why(owners: tuple[OwnerReference, ...]) -> str | None:
        return None if any(owner.kind in kinds for owner in owners) else ""

    return Criterion(pods.owners, pods.tables.owners, why)


def exit_code_among(pods: Pods, codes: Container[int], *, init: bool) -> Criterion[PodStates]:
    """Some regular container, or with ``init`` some init container, ended with one of these codes."""

    def why(states: PodStates) -> str | None:
        found = exit_codes(statuses_of(states, init=init))
        return next((f"exit code {code}" for code in found if code in codes), None)

    return Criterion(pods.states, pods.tables.states, why)
