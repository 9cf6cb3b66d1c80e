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
from builders.devices import a_slice
from oracle.build import MINORS
from oracle.random_devices import GPU
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
#: Since then nodes are scored by their storage, of which an object is taken in the order of an informer's store.
_CAPACITIES_SCORED = 37
_CAPACITY = "CSIStorageCapacity"
#: The first minor that has claims by default, that passes over pools that contradict themselves, and that tries pools by name.
_DEVICES, _INVALID_POOLS_PASSED, _DEVICES_IN_ORDER = 34, 35, 36


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


@pytest.mark.parametrize("subject", NAMES)
def test_restow_schedules_as_kube_scheduler_of_that_minor_does(
    asked: tuple[int, SchedulerProcess], subject: str
) -> None:
    minor, scheduler = asked
    if subject == DEVICES and minor < _DEVICES:
        pytest.skip("that API server keeps no claims")
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
    its answer is a matter of chance where a pod has two (docs/reference/scheduler-versions.md); and with one
    CSIStorageCapacity a class, since the score of a node goes by any one that reaches it. Up to 1.35 with one slice
    of devices a node, since their order is.
    """
    cluster = copy.deepcopy(cluster)
    if minor < _DEVICES_IN_ORDER:
        cluster = _without_gated_devices(cluster, are_pools_whole=minor < _INVALID_POOLS_PASSED)
    if minor >= _CAPACITIES_SCORED:
        capacities = {each["storageClassName"]: each for each in cluster if each["kind"] == _CAPACITY}
        cluster = [each for each in cluster if each["kind"] != _CAPACITY] + list(capacities.values())
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


#: Fields of devices and claims that are not kept yet.
_GATED = (
    "taints",
    "consumesCounters",
    "allowMultipleAllocations",
    "requestPolicy",
    "tolerations",
    "consumedCapacity",
    "bindingConditions",
    "bindingFailureConditions",
    "bindsToNode",
)


def _without_gated_devices(cluster: list[Object], *, are_pools_whole: bool) -> list[Object]:
    """Only what is on one node, in one slice; with ``are_pools_whole`` none that is being updated or contradicts itself."""
    newest: dict[str, Object] = {}
    rest = [each for each in cluster if each["kind"] != "ResourceSlice"]
    for each in sorted(
        (each for each in cluster if each["kind"] == "ResourceSlice"), key=lambda each: each["metadata"]["name"]
    ):
        spec = each["spec"]
        if not spec.get("devices") or spec["driver"] != GPU:
            continue
        first = newest.setdefault(spec["nodeName"], each)["spec"]
        if spec["pool"]["generation"] > first["pool"]["generation"]:
            newest[spec["nodeName"]] = each
        elif first is not spec and spec["pool"]["generation"] == first["pool"]["generation"]:
            first["devices"] += spec["devices"]
            first["pool"]["resourceSliceCount"] = min(first["pool"]["resourceSliceCount"], 2) - 1
    for each in newest.values():
        spec = each["spec"]
        if are_pools_whole:
            spec["pool"]["resourceSliceCount"] = 1
            spec["devices"] = list({device["name"]: device for device in spec["devices"]}.values())
    if not newest:
        newest["nowhere"] = a_slice("nowhere", [], node="nowhere")
    return [_without_gated(each) for each in (*rest, *newest.values()) if each["kind"] != "Node"] + [
        each for each in rest if each["kind"] == "Node"
    ]


def _without_gated(each: Object) -> Object:
    found = _without(each, _GATED)
    if each["kind"] == "ResourceClaim":
        devices = found["spec"]["devices"]
        devices["constraints"] = [one for one in devices.get("constraints") or () if "distinctAttribute" not in one]
        for request in devices["requests"]:
            for one in request.get("firstAvailable") or (request["exactly"],):
                one.pop("capacity", None)
                if "firstAvailable" in request:
                    one.update(allocationMode="ExactCount", count=one.get("count", 2))
        for device in found["status"].get("allocation", {}).get("devices", {}).get("results", ()):
            device.pop("shareID", None)
    return found


def _without(value: Any, keys: tuple[str, ...]) -> Any:
    match value:
        case dict():
            return {key: _without(each, keys) for key, each in value.items() if key not in keys}
        case list():
            return [_without(each, keys) for each in value]
    return value


def _without_amounts(status: Object) -> None:
    for field in ("resources", "allocatedResources"):
        status.pop(field, None)


def _without_resize(status: Object) -> None:
    conditions = status.get("conditions") or ()
    status["conditions"] = [each for each in conditions if each["type"] != "PodResizePending"]
    for container in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        _without_amounts(container)
