"""What a live migration asks of an API server, and what becomes of a move that is one; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import UNSET, structs

from client.double import Answer, a_double, a_status, an_answer, an_api
from client.double import Double as Server
from executing.double import Double, a_pod, a_task, an_execution, endings, outcomes
from executing.test_surging import Controller
from restow.client.errors import NotPermitted
from restow.cluster.pod_values import Phase, PodNow
from restow.executing.migrated_machines import LABEL
from restow.executing.migrating import Migrating
from restow.executing.task import Dropped, Evicted, Landed, Outcome, Settled, Task
from restow.policies.codes import OutcomeCode, ReplacementMode

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

GROUP = "/apis/kubevirt.io/v1/namespaces/default"
MACHINE, MIGRATIONS = f"{GROUP}/virtualmachineinstances/vm", f"{GROUP}/virtualmachineinstancemigrations"
NAME = "restow-uid-launcher-1800000000"
MIGRATION = f"{MIGRATIONS}/{NAME}"
CALLED = f"VirtualMachineInstanceMigration default/{NAME}"


def a_move(*, evicts_instead: bool = False) -> Task:
    task = a_task("launcher", "vm", kind="VirtualMachineInstance", candidates=["b"])
    changes = {"replacement": ReplacementMode.MIGRATE, "evicts_instead": evicts_instead or UNSET}
    return structs.replace(task, move=structs.replace(task.move, **changes))


def a_machine(phase: str = "Running", *, metadata: Any = None, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "vm", "uid": "uid-vm"} | (metadata or {}), "status": {"phase": phase} | status}


def migratable(status: str, **said: str) -> dict[str, Any]:
    return {"conditions": [{"type": "LiveMigratable", "status": status} | said]}


def a_migration(phase: str, **state: Any) -> Answer:
    return an_answer({"metadata": {"name": NAME}, "status": {"phase": phase, "migrationState": state or None}})


NOT_SERVED = Answer((b"404 page not found\n",), 404)


@asynccontextmanager
async def a_server(machine: Answer | None = None, *migration: Answer) -> AsyncIterator[Server]:
    """An API server with one virtual machine, and with what it says of a migration one time after the other."""
    async with a_double() as server:
        server.answers("GET", MACHINE, machine or an_answer(a_machine()))
        server.answers("POST", MIGRATIONS, an_answer({}, 201))
        server.answers("GET", MIGRATION, *(migration or [a_migration("Running")]))
        server.answers("DELETE", MIGRATION, an_answer({}))
        yield server


@asynccontextmanager
async def migrating(
    server: Server, said: list[str] | None = None, permit: Callable[[], float] = lambda: 60.0
) -> AsyncIterator[Migrating]:
    async with an_api(server.url) as api:
        yield Migrating(api, permit, lambda: 1_800_000_000.0, (said if said is not None else []).append)


def new_pod() -> PodNow:
    return replace(a_pod(a_move()), name="new-1", uid="uid-new-1", node="b")


def writes(server: Server) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in server.asked if each.method != "GET"]


async def test_kubevirt_is_asked_for_the_migration_of_the_machine_that_runs_in_the_pod() -> None:
    done = a_migration("Running"), a_migration("Succeeded")
    async with a_server(None, *done) as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        assert await way.finish(a_move(), new_pod()) is None
        await way.undo(a_move(), new_pod())
    assert writes(server) == [("POST", MIGRATIONS)]
    (asked,) = [each.json for each in server.asked if each.method == "POST"]
    assert asked == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": NAME, "namespace": "default", "labels": {LABEL: "uid-launcher"}},
        "spec": {"vmiName": "vm"},
    }


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (a_machine("Scheduling"), "is not running, but Scheduling"),
        (a_machine(metadata={"uid": "uid-other"}), "is another one by now"),
        (a_machine(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "is being deleted"),
        (
            a_machine(**migratable("False", reason="DisksNotLiveMigratable", message="the disk vol is not shared")),
            "cannot be migrated live (DisksNotLiveMigratable: the disk vol is not shared)",
        ),
        (a_machine(**migratable("False")), "cannot be migrated live"),
        (a_machine(migrationState={"migrationUid": "u-m"}), "is being migrated already"),
    ],
)
async def test_a_machine_that_cannot_be_migrated_is_left_alone(machine: dict[str, Any], why: str) -> None:
    async with a_server(an_answer(machine)) as server, migrating(server) as way:
        assert await way.begin(a_move()) == f"its VirtualMachineInstance vm {why}"
    assert writes(server) == []


@pytest.mark.parametrize(
    "machine",
    [
        a_machine(**migratable("True")),
        a_machine(migrationState={"migrationUid": "u-m", "completed": True}),
        a_machine(migrationState={"migrationUid": "u-m", "completed": True, "failed": True}),
        a_machine(migrationState=None, conditions=None),
    ],
)
async def test_what_a_machine_says_of_earlier_migrations_does_not_matter(machine: dict[str, Any]) -> None:
    async with a_server(an_answer(machine)) as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()


async def test_a_pod_of_another_controller_is_not_migrated() -> None:
    async with a_server() as server, migrating(server) as way:
        assert await way.begin(a_task("web-0")) == "a ReplicaSet is not migrated"
    assert server.asked == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (a_status(404, "NotFound"), "VirtualMachineInstance default/vm is gone"),
        (NOT_SERVED, "the cluster has no virtualmachineinstances.kubevirt.io, so KubeVirt does not run there"),
        (
            a_status(403, "Forbidden", 'User "restow" cannot get resource "virtualmachineinstances"'),
            (
                "restow may not get virtualmachineinstances; add the rule "
                '{apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], verbs: [get]} to its ClusterRole'
            ),
        ),
    ],
)
async def test_what_is_missing_is_said_before_anything_is_written(answer: Answer, why: str) -> None:
    async with a_server(answer) as server, migrating(server) as way:
        assert await way.begin(a_move()) == why
    assert writes(server) == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            a_status(400, "", "in-flight migration detected"),
            "its VirtualMachineInstance vm is not migrated: in-flight migration detected",
        ),
        (NOT_SERVED, "the cluster has no virtualmachineinstancemigrations.kubevirt.io, so KubeVirt does not run there"),
        (
            a_status(403, "Forbidden", 'User "restow" cannot create resource "virtualmachineinstancemigrations"'),
            (
                "restow may not create virtualmachineinstancemigrations; add the rule "
                '{apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstancemigrations"], verbs: [create]} '
                "to its ClusterRole"
            ),
        ),
    ],
)
async def test_what_the_server_refuses_is_passed_on(answer: Answer, why: str) -> None:
    async with a_server() as server, migrating(server) as way:
        server._answers["POST", MIGRATIONS][:] = [answer]
        assert await way.begin(a_move()) == why
        await way.undo(a_move(), None)
    assert writes(server) == [("POST", MIGRATIONS)]


async def test_where_the_answer_is_lost_the_migration_is_aborted() -> None:
    """It may be under way."""
    async with a_server() as server, migrating(server) as way:
        server._answers["POST", MIGRATIONS][:] = [Answer((), cut=True)]
        why = await way.begin(a_move())
    assert str(why).startswith("its virtual machine is not migrated: ")
    assert writes(server) == [("POST", MIGRATIONS), ("DELETE", MIGRATION)]


async def test_nothing_is_asked_for_without_leadership() -> None:
    async with a_server() as server, migrating(server, permit=lambda: 0.0) as way:
        with pytest.raises(NotPermitted):
            await way.begin(a_move())
    assert writes(server) == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (a_migration("Failed"), f"{CALLED} has failed"),
        (a_migration("Failed", failureReason="no progress"), f"{CALLED} has failed: no progress"),
        (a_status(404, "NotFound"), f"{CALLED} is gone"),
    ],
)
async def test_a_migration_lasts_until_it_fails_or_somebody_deletes_it(answer: Answer, why: str) -> None:
    """An answer that is missing says nothing; what has failed stays for people to look at."""
    answers = a_migration("Scheduling"), a_status(500, "InternalError", "no"), a_migration("Running"), answer
    async with a_server(None, *answers) as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        async with asyncio.timeout(600):
            assert await way.taken_back(a_move()) == why
        assert await way.finish(a_move(), new_pod()) == why
        if "failed" in why:
            await way.undo(a_move(), None)
    assert writes(server) == [("POST", MIGRATIONS)]


async def test_a_migration_that_restow_may_not_see_is_aborted() -> None:
    no = a_status(403, "Forbidden", 'User "restow" cannot get resource "virtualmachineinstancemigrations"')
    async with a_server(None, no) as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        async with asyncio.timeout(600):
            why = await way.taken_back(a_move())
        await way.undo(a_move(), None)
    assert why.startswith("restow may not get virtualmachineinstancemigrations; add the rule ")
    assert writes(server) == [("POST", MIGRATIONS), ("DELETE", MIGRATION)]


async def test_success_takes_nothing_back() -> None:
    async with a_server(None, a_migration("Succeeded")) as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await way.taken_back(a_move())


async def test_a_migration_that_is_not_over_in_time_is_aborted() -> None:
    async with a_server() as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        why = await way.finish(a_move(), new_pod())
        await way.undo(a_move(), new_pod())
    assert why == f"{CALLED} was not over 300 s after new-1 was ready"
    assert writes(server) == [("POST", MIGRATIONS), ("DELETE", MIGRATION)]


async def test_without_leadership_a_migration_is_left_to_kubevirt() -> None:
    async with a_server() as server, migrating(server) as way:
        assert await way.begin(a_move()) == a_move()
        way.permit = lambda: 0.0
        with pytest.raises(NotPermitted):
            await way.finish(a_move(), new_pod())
    assert writes(server) == [("POST", MIGRATIONS)]


async def test_what_could_not_be_aborted_is_said_and_tried_again_once() -> None:
    said: list[str] = []
    no = a_status(403, "Forbidden", 'User "restow" cannot delete resource "virtualmachineinstancemigrations"')
    async with a_server() as server, migrating(server, said) as way:
        server._answers["DELETE", MIGRATION][:] = [no, an_answer({})]
        assert await way.begin(a_move()) == a_move()
        await way.undo(a_move(), None)
        await way.clean()
        await way.clean()
    assert writes(server) == [("POST", MIGRATIONS), ("DELETE", MIGRATION), ("DELETE", MIGRATION)]
    (told,) = said
    assert told.startswith(f"{CALLED} goes on until restow can delete it: restow may not delete")


@dataclass
class KubeVirt(Controller):
    """Migrations in memory: a second launcher comes, and the first one ends, but stays as a pod that has succeeded."""

    why: str = f"{CALLED} has failed"

    async def finish(self, task: Task, _pod: PodNow) -> str | None:
        self.done.append("finish")
        name = task.move.pod.name
        self.double.pods[name] = replace(self.double.pods[name], phase=Phase.SUCCEEDED, conditions=())
        return None


async def carried(task: Task, double: Double, kubevirt: KubeVirt, **settings: Any) -> list[Outcome]:
    execution = an_execution(double, **settings)
    execution.ways = {ReplacementMode.MIGRATE: kubevirt}
    return await outcomes(execution, [task])


async def test_a_launcher_that_has_ended_is_gone_although_its_pod_stays() -> None:
    double = Double.of([a_move()])
    kubevirt = KubeVirt(double)
    told = await carried(a_move(), double, kubevirt)
    assert [type(each) for each in told] == [Evicted, Landed, Settled]
    assert kubevirt.done == ["begin", "finish"]
    assert double.asked == []
    assert asyncio.get_running_loop().time() < 5


async def test_a_machine_whose_launcher_has_ended_meanwhile_is_not_migrated() -> None:
    double = Double.of([a_move()])
    double.pods["launcher"] = replace(double.pods["launcher"], phase=Phase.SUCCEEDED)
    kubevirt = KubeVirt(double)
    (told,) = await carried(a_move(), double, kubevirt)
    assert isinstance(told, Dropped)
    assert (told.code, told.message) == (OutcomeCode.GONE, "it has ended")
    assert kubevirt.done == []


async def test_the_machine_stays_if_the_migration_fails_before_the_new_launcher_is_ready() -> None:
    double = Double.of([a_move()], ready_after=60.0)
    kubevirt = KubeVirt(double, lasts=10.0)
    (told,) = await carried(a_move(), double, kubevirt)
    assert isinstance(told, Dropped)
    assert (told.code, told.message) == (OutcomeCode.NOT_REPLACED_FIRST, f"{CALLED} has failed")
    assert kubevirt.done == ["begin", "undo"]
    assert double.asked == []


@pytest.mark.parametrize(("evicts", "ending", "evictions"), [(False, "Dropped", 0), (True, "Settled", 1)])
async def test_where_no_migration_is_possible_the_plan_says_whether_to_evict(
    ending: str, evictions: int, *, evicts: bool
) -> None:
    move = a_move(evicts_instead=evicts)
    double = Double.of([move])
    kubevirt = KubeVirt(double, problem="its VirtualMachineInstance vm cannot be migrated live")
    assert endings(await carried(move, double, kubevirt)) == {"launcher": ending}
    assert len(double.asked) == evictions
