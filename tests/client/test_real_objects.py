"""Lists, watches, evictions, leases, events and patches on a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, wait_for_ready
from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import Conflict, Forbidden, NotFound, missing_right
from restow.client.events import EventRecorder, Occurrence, Regarding
from restow.client.eviction import AlreadyGone, BudgetExhausted, Denied, EvictionAccepted, Misconfigured, Outcome, evict
from restow.client.leader_election import Election, Leadership, LeaseLock, Timing, lead
from restow.client.listing import Selection, pages
from restow.client.objects import ObjectRef, PatchKind
from restow.client.resources import CONFIG_MAPS, EVENTS, RESOURCES, ApiResource
from restow.client.transport import Api, always
from restow.client.watching import Changed, Listed, Removed, WatchEvent, follow
from restow.kube.objects import Namespace, Node

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

PODS = RESOURCES["Pod"]
CLASSES = RESOURCES["PriorityClass"]
#: Kinds that a control plane alone does not serve.
UNSERVED = (
    "NodeMetrics",
    "PodMetrics",
    "VerticalPodAutoscaler",
    "NodeResourceTopology",
    "DeviceTaintRule",
    "PodGroup.scheduling.x-k8s.io",
    "Workload.scheduling.k8s.io",
)


@pytest_asyncio.fixture
async def api(plane: ControlPlane) -> AsyncIterator[Api]:
    async with connect(str(plane.kubeconfig), qps=-1) as made:
        yield made


def a_role(name: str, *rules: Object) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}} | {
        "rules": list(rules)
    }


def a_rule(group: str, resource: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def a_class(name: str, value: int = 1) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": {"of": "paging"}},
        "value": value,
    }


# Lists and watches


@pytest.fixture
def many_classes(plane: ControlPlane) -> Iterator[set[str]]:
    """More objects than a page holds."""
    names = {f"class-{number}" for number in range(620)}
    plane.admin.create_all([a_class(name) for name in sorted(names)])
    yield names
    plane.admin.call("DELETE", CLASSES.path(), query={"labelSelector": "of=paging"})


async def test_a_list_in_pages(api: Api, many_classes: set[str]) -> None:
    found = [page async for page in pages(api, CLASSES, Selection(labels="of=paging"))]

    assert [(len(page.objects), page.first, page.last) for page in found] == [(500, True, False), (120, False, True)]
    assert {each.metadata.name for page in found for each in page.objects} == many_classes
    assert len({page.resource_version for page in found}) == 1


@pytest.mark.parametrize("kind", sorted(set(RESOURCES) - set(UNSERVED)))
async def test_every_kind_is_where_the_table_says(api: Api, kind: str) -> None:
    assert [page.first async for page in pages(api, RESOURCES[kind])] == [True]


async def test_a_kind_that_is_not_served(api: Api) -> None:
    for kind in UNSERVED:
        with pytest.raises(NotFound):
            await first(api, RESOURCES[kind])


async def first(api: Api, resource: ApiResource) -> WatchEvent:
    """The first news of a kind."""
    async with aclosing(follow(api, resource)) as news:
        return await anext(news)


async def until(news: AsyncIterator[WatchEvent], wanted: type, name: str) -> Any:
    """The next piece of news of this type about this object."""
    async with asyncio.timeout(30):
        async for each in news:
            if isinstance(each, wanted) and each.object.metadata.name == name:  # type: ignore[attr-defined]
                return each
    raise AssertionError


async def test_following_one_kind(plane: ControlPlane, api: Api) -> None:
    plane.admin.create(a_class("before"))
    async with aclosing(follow(api, CLASSES)) as news:
        listed = await anext(news)
        assert isinstance(listed, Listed)
        assert listed.first
        assert listed.last
        assert "before" in {each.metadata.name for each in listed.objects}

        plane.admin.create(a_class("later", 7))
        assert (await until(news, Changed, "later")).object.value == 7
        plane.admin.patch("PriorityClass", "later", {"metadata": {"labels": {"new": "label"}}})
        assert (await until(news, Changed, "later")).object.metadata.labels == {"of": "paging", "new": "label"}
        plane.admin.delete("PriorityClass", "later")
        await until(news, Removed, "later")
    plane.admin.delete("PriorityClass", "before")


async def test_a_selection_is_watched_too(plane: ControlPlane, api: Api, namespace: str) -> None:
    web = Selection(namespace=namespace, labels="app=web")
    async with aclosing(follow(api, PODS, web)) as news, asyncio.timeout(30):
        assert (await anext(news)).objects == ()  # type: ignore[union-attr]
        plane.admin.create(deployment("other", 1, namespace=namespace))
        plane.admin.create(deployment("web", 1, namespace=namespace))
        changed = await anext(news)

    assert isinstance(changed, Changed)
    assert changed.object.metadata.name.startswith("web-")


async def test_the_user_agent_is_in_the_audit_log_and_the_limit_is_kept(plane: ControlPlane) -> None:
    plane.audit.restart()
    async with connect(str(plane.kubeconfig), qps=20, burst=5) as limited:
        await asyncio.gather(*(objects.get(limited, RESOURCES["Node"], "", "node-1", Node) for _ in range(25)))

    calls = wait_until(
        "25 calls are logged",
        lambda: found if len(found := plane.audit.calls("get", "nodes", agent="restow/")) == 25 else [],
    )
    times = sorted(call.request_received_timestamp for call in calls)
    assert 0.5 <= (times[-1] - times[0]).total_seconds() < 3
    assert {call.user.username for call in calls} == {"admin"}


# Rights


async def test_a_missing_right_is_told_with_the_rule_that_helps(plane: ControlPlane, namespace: str) -> None:
    token = plane.service_account("poor", namespace)
    budgets = RESOURCES["PodDisruptionBudget"]
    async with connect(str(plane.kubeconfig_for(token, "poor")), qps=-1) as poor:
        with pytest.raises(Forbidden) as refused:
            await first(poor, budgets)
        sentence = missing_right(refused.value, budgets, ("get", "list", "watch"))
        user = f"system:serviceaccount:{namespace}:poor"
        assert sentence == (
            f"{user} may not get and list and watch poddisruptionbudgets; add the rule "
            '{apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [get, list, watch]} to its ClusterRole'
        )

        plane.admin.create(a_role(f"{namespace}-budgets", a_rule("policy", "poddisruptionbudgets", "list", "watch")))
        plane.service_account("rich", namespace, roles=(f"{namespace}-budgets",))
    async with connect(str(plane.kubeconfig_for(plane.token_of("rich", namespace), "rich")), qps=-1) as rich:
        assert isinstance(await first(rich, budgets), Listed)


# Evictions


def target(pod: Object) -> ObjectRef:
    metadata = pod["metadata"]
    return ObjectRef(metadata["namespace"], metadata["name"], metadata["uid"])


class TestEvictions:
    async def test_evicted_and_gone(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        pod = target(wait_for_ready(plane.admin, "web", 1, namespace)[0])

        assert await evict(api, pod, permit=always, dry_run=True) == EvictionAccepted()
        assert plane.admin.find("Pod", pod.name, namespace) is not None
        assert await evict(api, pod, permit=always, grace_period=0) == EvictionAccepted()
        wait_until("it is gone", lambda: plane.admin.find("Pod", pod.name, namespace) is None)
        assert isinstance(await evict(api, pod, permit=always), AlreadyGone)

    async def test_another_pod_of_that_name_is_left_alone(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        pod = target(wait_for_ready(plane.admin, "web", 1, namespace)[0])
        former = ObjectRef(namespace, pod.name, "00000000-0000-0000-0000-000000000000")

        assert isinstance(await evict(api, former, permit=always), AlreadyGone)
        assert "deletionTimestamp" not in plane.admin.get("Pod", pod.name, namespace)["metadata"]

    async def test_a_budget_without_room(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        plane.admin.create(deployment("web", 2, namespace=namespace))
        pods = wait_for_ready(plane.admin, "web", 2, namespace)
        plane.admin.create(budget("web", "web", namespace=namespace, min_available=2))
        said = "The disruption budget web needs 2 healthy pods and has 2 currently"

        outcome: Outcome = EvictionAccepted()
        for _ in range(100):
            outcome = await evict(api, target(pods[0]), permit=always, dry_run=True)
            if isinstance(outcome, BudgetExhausted) and outcome.budget == said:
                break
            await asyncio.sleep(0.1)
        assert outcome == BudgetExhausted(
            "Cannot evict pod as it would violate the pod's disruption budget.", said, retry_after=None
        )

    async def test_two_budgets_are_a_mistake(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        plane.admin.create(deployment("web", 1, namespace=namespace))
        pod = wait_for_ready(plane.admin, "web", 1, namespace)[0]
        for name in ("one", "two"):
            plane.admin.create(budget(name, "web", namespace=namespace, max_unavailable=1))

        assert isinstance(await evict(api, target(pod), permit=always, dry_run=True), Misconfigured)

    async def test_without_the_right(self, plane: ControlPlane, namespace: str) -> None:
        token = plane.service_account("poor", namespace)
        async with connect(str(plane.kubeconfig_for(token, "poor-evictor")), qps=-1) as poor:
            outcome = await evict(poor, ObjectRef(namespace, "any", "u"), permit=always)

        assert isinstance(outcome, Denied)
        assert outcome.message.endswith(
            'add the rule {apiGroups: [""], resources: ["pods/eviction"], verbs: [create]} to its ClusterRole'
        )

    async def test_many_side_by_side_under_one_budget_never_break_it(
        self, plane: ControlPlane, api: Api, namespace: str
    ) -> None:
        plane.admin.create(deployment("web", 8, namespace=namespace))
        pods = wait_for_ready(plane.admin, "web", 8, namespace)
        plane.admin.create(budget("web", "web", namespace=namespace, max_unavailable=2))
        wait_until(
            "the budget is worked out",
            lambda: plane.admin.get("PodDisruptionBudget", "web", namespace)["status"].get("disruptionsAllowed") == 2,
        )

        outcomes = await asyncio.gather(*(evict(api, target(pod), permit=always) for pod in pods[:3]))

        # The third may find room again once a replacement is ready.
        assert all(isinstance(each, EvictionAccepted | BudgetExhausted) for each in outcomes)
        assert sum(isinstance(each, EvictionAccepted) for each in outcomes) >= 2


# Leases, events, patches


async def test_a_lease_with_optimistic_concurrency(api: Api, namespace: str) -> None:
    lock = LeaseLock(api, namespace, "restow")
    assert await lock.get() is None
    election = Election(lock, "a", Timing(15, 10, 2))
    await election.acquire()
    lease = await lock.get()
    assert lease is not None
    assert lease.spec.holder_identity == "a"
    assert lease.spec.lease_duration_seconds == 15

    await lock.update(lease, lease.spec)
    await lock.update(lease, msgspec.structs.replace(lease.spec, lease_transitions=5))
    with pytest.raises(Conflict):
        await lock.update(lease, msgspec.structs.replace(lease.spec, lease_transitions=6))
    with pytest.raises(Conflict):
        await lock.create(lease.spec)


async def test_two_candidates_and_a_handover(api: Api, namespace: str) -> None:
    lock = LeaseLock(api, namespace, "restow")
    timing = Timing(3, 2, 0.5)
    order: list[str] = []

    async def work(leadership: Leadership) -> None:
        lease = await lock.get()
        assert lease is not None
        order.append(lease.spec.holder_identity or "")
        await asyncio.sleep(1.5)
        assert leadership.held()

    async with asyncio.timeout(30):
        await asyncio.gather(*(lead(Election(lock, name, timing), work) for name in ("a", "b")))

    assert sorted(order) == ["a", "b"]
    lease = await lock.get()
    assert lease is not None
    assert (lease.spec.holder_identity or "", lease.spec.lease_transitions) == ("", 1)


async def test_events_under_the_descheduler_s_own_role(plane: ControlPlane, namespace: str) -> None:
    """It may create and update events, but not patch them."""
    plane.admin.create(a_role(f"{namespace}-events", a_rule("events.k8s.io", "events", "create", "update")))
    token = plane.service_account("teller", namespace, roles=(f"{namespace}-events",))
    pod = Regarding("Pod", "web", namespace, "u1")
    losses: list[object] = []
    async with (
        connect(str(plane.kubeconfig_for(token, "teller")), qps=-1) as api,
        EventRecorder(api, "restow", "restow-host", lambda *loss: losses.append(loss)) as events,
    ):
        for _ in range(4):
            events.record(Occurrence(pod, "RemoveDuplicates", "Descheduled", "a note"))
        events.record(Occurrence(pod, "EvictionFailed", "Descheduled", "no", "Warning"))
        events.record(Occurrence(Regarding("Node", "node-1"), "Why", "Descheduled", "about a node"))

    assert losses == []
    told = {each["reason"]: each for each in plane.admin.call("GET", EVENTS.path(namespace))["items"]}
    assert told["RemoveDuplicates"]["series"]["count"] == 4
    assert told["RemoveDuplicates"]["regarding"] == {
        "kind": "Pod",
        "namespace": namespace,
        "name": "web",
        "uid": "u1",
        "apiVersion": "v1",
    }
    assert told["EvictionFailed"]["type"] == "Warning"


async def test_an_apply_creates_removes_what_it_leaves_out_and_takes_over_by_force_only(
    api: Api, namespace: str
) -> None:
    async def apply(manager: str, data: dict[str, str], *, force: bool = False) -> dict[str, str]:
        value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        made = await objects.apply(api, CONFIG_MAPS, namespace, "applied", value, manager=manager, force=force)
        read: dict[str, str] = made["data"]
        return read

    assert await apply("first", {"a": "1", "b": "1"}) == {"a": "1", "b": "1"}
    assert await apply("first", {"a": "1"}) == {"a": "1"}
    with pytest.raises(Conflict):
        await apply("second", {"a": "2"})
    assert await apply("second", {"a": "2"}, force=True) == {"a": "2"}


async def test_a_deletion_is_of_the_object_that_was_meant(api: Api, namespace: str) -> None:
    value: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deleted"}}
    made = await objects.create(api, CONFIG_MAPS, namespace, value)
    with pytest.raises(Conflict):
        await objects.delete(api, CONFIG_MAPS, namespace, "deleted", uid="another")
    await objects.delete(api, CONFIG_MAPS, namespace, "deleted", uid=made["metadata"]["uid"])
    with pytest.raises(NotFound):
        await objects.delete(api, CONFIG_MAPS, namespace, "deleted")


async def test_patches(plane: ControlPlane, api: Api, namespace: str) -> None:
    namespaces = RESOURCES["Namespace"]

    async def labels() -> dict[str, str]:
        read = await objects.get(api, namespaces, "", namespace, Namespace)
        return {name: value for name, value in (read.metadata.labels or {}).items() if "/" not in name}

    change = {"metadata": {"labels": {"merge": "1"}}}
    await objects.patch(api, namespaces, "", namespace, change, kind=PatchKind.MERGE)
    change = {"metadata": {"labels": {"strategic": "2"}}}
    await objects.patch(api, namespaces, "", namespace, change, kind=PatchKind.STRATEGIC)
    applied = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"apply": "3"}}}
    await objects.apply(api, namespaces, "", namespace, applied, manager="restow")
    removal = {"metadata": {"labels": {"merge": None}}}
    await objects.patch(api, namespaces, "", namespace, removal, kind=PatchKind.MERGE, dry_run=True)
    assert await labels() == {"merge": "1", "strategic": "2", "apply": "3"}

    await objects.patch(api, namespaces, "", namespace, removal, kind=PatchKind.MERGE)
    assert await labels() == {"strategic": "2", "apply": "3"}
    stale = {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}
    with pytest.raises(Conflict):
        await objects.patch(api, namespaces, "", namespace, stale, kind=PatchKind.MERGE)


async def test_an_object_that_is_not_there(api: Api) -> None:
    with pytest.raises(NotFound):
        await objects.get(api, RESOURCES["Node"], "", "nowhere", Node)
