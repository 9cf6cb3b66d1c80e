"""StatefulSet: one pod for each ordinal, in order or all at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from restow.cluster.pod_values import Phase
from restow.kube.objects import Workload
from restow.workloads.controllers import BURST, Actions, ControlledPod, stateful_set


def does(*pods: ControlledPod, **spec: Any) -> tuple[list[int | None], list[str]]:
    """Ordinals that the set "db" creates, and names that it deletes."""
    wire = msgspec.convert({"metadata": {"name": "db"}, "spec": {"replicas": 3} | spec}, Workload)
    done: Actions = stateful_set(wire, pods)
    return [new.index for new in done.create], [pod.name for pod in done.delete]


def a_pod(ordinal: int, **fields: Any) -> ControlledPod:
    return ControlledPod(f"db-{ordinal}", **fields)


PARALLEL = {"podManagementPolicy": "Parallel"}


def test_pods_come_one_after_the_other() -> None:
    assert does() == ([0], [])
    assert does(a_pod(0)) == ([1], [])
    assert does(a_pod(0, ready=False)) == ([], [])
    assert does(a_pod(0), a_pod(1), a_pod(2)) == ([], [])


def test_an_ordinal_that_is_missing_is_filled_first() -> None:
    assert does(a_pod(0), a_pod(2)) == ([1], [])


def test_a_name_is_taken_until_the_pod_has_vanished() -> None:
    others = a_pod(1), a_pod(2)
    assert does(a_pod(0, terminating=True), *others) == ([], [])
    assert does(*others) == ([0], [])


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.SUCCEEDED])
@pytest.mark.parametrize("policy", [{}, PARALLEL])
def test_a_pod_that_is_over_is_deleted_first(phase: Phase, policy: dict[str, Any]) -> None:
    others = a_pod(1), a_pod(2)
    assert does(a_pod(0, phase=phase), *others, **policy) == ([], ["db-0"])
    assert does(a_pod(0, phase=phase, terminating=True), *others, **policy) == ([], [])


def test_in_parallel_nobody_waits() -> None:
    assert does(a_pod(1, ready=False), a_pod(5), a_pod(4, terminating=True), **PARALLEL) == ([0, 2], ["db-5"])


def test_ordinals_may_start_anywhere() -> None:
    assert does(a_pod(0), **PARALLEL, ordinals={"start": 5}) == ([5, 6, 7], ["db-0"])


def test_replicas_that_are_absent_are_one() -> None:
    assert does(replicas=None) == ([0], [])
    assert does(a_pod(0), replicas=None) == ([], [])


def test_pods_go_from_the_highest_ordinal_down_one_at_a_time() -> None:
    assert does(*map(a_pod, range(3)), a_pod(3), a_pod(10)) == ([], ["db-10"])
    assert does(*map(a_pod, range(3)), a_pod(3), a_pod(10, terminating=True)) == ([], [])
    assert does(*map(a_pod, range(2)), a_pod(2, ready=False), a_pod(3)) == ([], []), "the others have to be ready"


def test_a_surplus_pod_that_is_not_healthy_goes_only_where_no_other_is() -> None:
    pods = [a_pod(ordinal) for ordinal in range(3)]
    assert does(*pods, a_pod(3), a_pod(4, ready=False)) == ([], ["db-4"])
    assert does(*pods, a_pod(3, ready=False), a_pod(4, ready=False)) == ([], [])
    assert does(*pods, a_pod(3, ready=False), a_pod(4)) == ([], ["db-4"])


@pytest.mark.parametrize("name", ["db", "db-", "db-x", "web-0", "db-²", f"db-{'9' * 5000}"])
def test_pods_of_other_names_are_not_looked_at(name: str) -> None:
    assert does(ControlledPod(name)) == ([0], [])


def test_however_many_are_asked_for_so_many_come_at_a_time() -> None:
    created, _ = does(**PARALLEL, replicas=2**31 - 1)
    assert created == list(range(BURST))
