"""restow's scheduler against kube-scheduler of the other minors that it follows: 1.33, 1.34, 1.35 and 1.37.

The cases and what must agree are those of ``test_scheduler_differential``. A minor is compared with where its program is
built (``make oracle MINORS=all``); that takes minutes for each, so that a run without it leaves these tests out.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from builders import Object
from oracle.build import MINORS
from oracle.scheduler_comparison import scheduling_difference
from oracle.scheduler_process import SchedulerProcess, scheduler_of
from oracle.scheduling_cases import DEVICES, NAMES, SEEDS, a_scheduling_case, write_scheduling_case
from restow.scheduling.framework.minors import ASSUMED, FOLLOWED

pytestmark = pytest.mark.oracle

#: The first minor whose API server keeps a field, where it is not kept by all: feature gates VolumeAttributesClass,
#: PodLevelResources and InPlacePodLevelResourcesVerticalScaling.
_ATTRIBUTES_CLASSES, _POD_LEVEL_RESOURCES, _POD_LEVEL_STATUS = 34, 34, 36
#: Since then a pod that is being resized counts with the largest of three sums; before, with the sum of the largest.
_RESIZED_BY_SUMS = 37
#: Since then a pod counts against the first budget that it violates and no later one, in the order of an informer's store.
_BUDGETS_BY_CHANCE = 37
_BUDGET = "PodDisruptionBudget"


class _Worded(SchedulerProcess):
    """Says of a bad value what 1.34 and later say: up to 1.33 it stands there as Go writes it (``[]string{"web"}``).

    An API server refuses pods with such values.
    """

    def ask(self, *args: Any, **more: Any) -> Any:
        answer = super().ask(*args, **more)
        text = msgspec.json.encode(answer).replace(b"[]string(nil)", b"null")
        return msgspec.json.decode(re.sub(rb"\[\]string\{(.*?)\}", rb"[\1]", text), type=type(answer))


@pytest.fixture(scope="module", params=MINORS, ids=lambda minor: f"1.{minor}")
def asked(request: pytest.FixtureRequest) -> Iterator[tuple[int, SchedulerProcess]]:
    try:
        binary = scheduler_of(request.param)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with _Worded(binary) as process:
        yield request.param, process


def test_every_minor_that_is_followed_can_be_asked() -> None:
    assert {*MINORS, ASSUMED} == set(FOLLOWED)


# Devices are found as 1.36 does only.
@pytest.mark.parametrize("subject", [name for name in NAMES if name != DEVICES])
def test_restow_schedules_as_kube_scheduler_of_that_minor_does(
    asked: tuple[int, SchedulerProcess], subject: str
) -> None:
    minor, scheduler = asked
    found = []
    for seed in SEEDS:
        cluster = as_stored(a_scheduling_case(subject, seed), minor)
        if text := scheduling_difference(cluster, scheduler, minor=minor):
            found.append(
                f"{subject}-{seed}: {text}\nSee {write_scheduling_case(f'1.{minor}-{subject}', seed, cluster)}"
            )
    assert not found, "\n\n".join(found)


def as_stored(cluster: list[Object], minor: int) -> list[Object]:
    """The cluster as an API server of a minor keeps it: without fields that it does not know yet, with versions of objects.

    For 1.37 without pods that are being resized, which restow counts as 1.36 does, and with one budget a namespace, since
    its answer is a matter of chance where a pod has two (docs/reference/scheduler-versions.md).
    """
    cluster = copy.deepcopy(cluster)
    if minor >= _BUDGETS_BY_CHANCE:
        budgets = {each["metadata"]["namespace"]: each for each in cluster if each["kind"] == _BUDGET}
        cluster = [each for each in cluster if each["kind"] != _BUDGET] + list(budgets.values())
    for each in cluster:
        each["metadata"].setdefault("resourceVersion", "1")
        if minor < _ATTRIBUTES_CLASSES and each["kind"].startswith("PersistentVolume"):
            each["spec"].pop("volumeAttributesClassName", None)
    for pod in (each for each in cluster if each["kind"] == "Pod"):
        if minor < _POD_LEVEL_RESOURCES:
            pod["spec"].pop("resources", None)
        if minor < _POD_LEVEL_STATUS or minor >= _RESIZED_BY_SUMS:
            _without_amounts(pod.get("status", {}))
        if minor >= _RESIZED_BY_SUMS:
            _without_resize(pod.get("status", {}))
    return cluster


def _without_amounts(status: Object) -> None:
    for field in ("resources", "allocatedResources"):
        status.pop(field, None)


def _without_resize(status: Object) -> None:
    conditions = status.get("conditions") or ()
    status["conditions"] = [each for each in conditions if each["type"] != "PodResizePending"]
    for container in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        _without_amounts(container)
