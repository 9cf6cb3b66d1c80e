"""The scheduler plugins of the how-to page work wherever the scheduler is asked, and no file of restow knows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import RS, a_node, a_pod
from docs.console import agree, folder_for, output_of, runnable
from docs.scheduler_plugin_package import PAGE, WITH_THE_PLUGIN, installed
from restow.scheduling.configuration import registry
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import queueing_rules
from restow.scheduling.framework.requeueing import PodFacts
from restow.scheduling.queueing.events import pod_events
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue, why_waiting

NAME = "LicenceSeats"
SEAT = {"example.com/licence": "solver"}
POLICY = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    pluginConfig: [{name: DefaultEvictor}, {name: RemovePodsViolatingNodeTaints}]
    plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The page's files, with its package installed."""
    with installed(tmp_path), folder_for(PAGE) as files:
        yield files


def configured(folder: Path, old: str, new: str) -> None:
    """Change the page's configuration."""
    path = folder / "scheduler.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def a_dump(folder: Path, *objects: dict) -> None:
    """A cluster whose dump lacks nothing that evictions and placements depend on."""
    kinds = {"policy/v1": "PodDisruptionBudget", "apps/v1": "ReplicaSet", "v1": "Service"}
    lists = [{"apiVersion": version, "kind": f"{kind}List", "items": []} for version, kind in kinds.items()]
    documents = [{"apiVersion": "v1", "kind": "List", "items": list(objects)}, *lists]
    (folder / "dump.json").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")


def two_pools(*, seats_taken: int) -> list[dict]:
    """A pod that has to leave the tainted node of one pool, and the other pool with so many seats taken."""
    nodes = [tainted("red"), a_node("new", labels={"example.com/pool": "blue"})]
    there = [a_pod(f"there-{each}", node="new", labels=SEAT, owner=RS) for each in range(seats_taken)]
    return [*nodes, a_pod("leaves", node="old", labels=SEAT, owner=RS), *there]


def tainted(pool: str) -> dict:
    taints = [{"key": "old", "effect": "NoSchedule"}]
    return a_node("old", labels={"example.com/pool": pool}, taints=taints)


def planned(folder: Path, with_the_plugin: bool) -> dict:
    config = " --scheduler-config scheduler.yaml" if with_the_plugin else ""
    command = f"restow plan -f dump.json --policy-config-file policy.yaml{config} -o json > plan.json"
    told = output_of(command, folder)
    text = (folder / "plan.json").read_text(encoding="utf-8")
    assert text, told
    return json.loads(text)


def test_restow_does_not_know_the_plugin_by_itself():
    assert registry.find(NAME) is None


def test_it_schedules_as_the_page_shows(folder):
    (example,) = runnable(PAGE, WITH_THE_PLUGIN)
    printed = output_of(example.command, folder)
    assert agree(example.output, printed), printed


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param("seats: 2", "seat: 2", 'unknown field "seat"; did you mean "seats"?', id="unknown"),
        pytest.param("seats: 2", "seats: x", "args.seats: must be a whole number", id="type"),
        pytest.param("seats: 2", "seats: 0", "args.seats: Invalid value: 0: not in valid range [1, 1000]", id="value"),
        pytest.param("name: LicenceSeats,", "name: LicenceSeat,", 'did you mean "LicenceSeats"?', id="misspelled"),
        pytest.param("multiPoint", "permit", "LicenceSeats does not run at permit", id="point"),
    ],
)
def test_its_configuration_is_checked_with_file_and_field(folder, old, new, problem):
    configured(folder, old, new)
    printed = output_of("restow schedule -f cluster.yaml --scheduler-config scheduler.yaml", folder)
    assert printed.startswith("scheduler.yaml:")
    assert problem in printed


def test_a_proof_asks_it(folder):
    a_dump(folder, *two_pools(seats_taken=1))
    (move,) = planned(folder, with_the_plugin=True)["moves"]
    assert (move["pod"]["name"], move["to"]) == ("leaves", "new")
    a_dump(folder, *two_pools(seats_taken=2))
    assert len(planned(folder, with_the_plugin=False)["moves"]) == 1
    (refusal,) = planned(folder, with_the_plugin=True)["refusals"]
    assert "1 node(s) had no free seat of the pod's licence in their pool" in refusal["message"]


def test_the_seat_of_a_moved_pod_is_free_for_its_replacement(folder):
    """Both seats of the only pool are taken by the pods that have to leave: its counts follow the moves of the plan."""
    pods = [a_pod(f"p{each}", node="old", labels=SEAT, owner=RS) for each in range(2)]
    a_dump(folder, tainted("red"), a_node("new", labels={"example.com/pool": "red"}), *pods)
    assert [each["to"] for each in planned(folder, with_the_plugin=True)["moves"]] == ["new", "new"]


def test_explain_names_its_reason(folder):
    a_dump(folder, *two_pools(seats_taken=2))
    command = "restow explain pod default/leaves -f dump.json --policy-config-file policy.yaml"
    printed = " ".join(output_of(f"{command} --scheduler-config scheduler.yaml", folder).split())
    assert "no free seat of the pod's licence" in printed


def test_a_pod_that_it_rejected_waits_for_what_it_says(folder):
    (profile,) = load_scheduler_configuration((folder / "scheduler.yaml").read_bytes(), "scheduler.yaml").profiles
    queue = SchedulingQueue(queueing_rules([profile]), 0)
    queue.add(PodFacts(uid="waits", labels=SEAT), 0)
    queue.pop(0)
    queue.requeue("waits", frozenset({NAME}), 0)
    assert "It is tried again when a pod goes that has a seat of its licence." in why_waiting(queue, "waits", 0)
    for labels, place in (({}, QueuePlace.UNSCHEDULABLE), (SEAT, QueuePlace.ACTIVE)):
        (event,) = pod_events(PodFacts(uid="goes", labels=labels, node="a"), None)
        queue.on_event(event, 5)
        assert queue.place("waits") is place


@pytest.mark.parametrize("command", ["plan -f dump.json", "explain pod default/leaves -f dump.json"])
def test_one_that_cannot_be_made_ends_in_a_sentence_about_the_plugin(tmp_path, command):
    with installed(tmp_path), folder_for(PAGE) as folder:
        a_dump(folder, *two_pools(seats_taken=1))
        written = tmp_path / "licence_seats.py"
        text = written.read_text(encoding="utf-8")
        written.write_text(text.replace("= args.seats", "= args.chairs"), encoding="utf-8")
        options = "--policy-config-file policy.yaml --scheduler-config scheduler.yaml"
        printed = output_of(f"restow {command} {options}", folder)
    assert printed.startswith('scheduler plugin "LicenceSeats" cannot be made for this cluster: AttributeError: ')
    assert printed.count("\n") == 1


def test_a_plain_function_filters_and_scores(folder):
    configured(folder, "{name: LicenceSeats, weight: 5}", "{name: ArmOnly}")
    configured(folder, "name: LicenceSeats", "name: ArmOnly")
    configured(folder, "seats: 2", "namespaces: [lab]")
    command = "restow schedule -f cluster.yaml --scheduler-config scheduler.yaml -o json > out.json"
    output_of(command, folder)
    pods = json.loads((folder / "out.json").read_text(encoding="utf-8"))["pods"]
    assert [each["message"].split(" no new")[0] for each in pods] == [
        "0/2 nodes are available: 2 node(s) had another architecture."
    ] * 4
    configured(folder, "namespaces: [lab]", "namespaces: [other]")
    output_of(command, folder)
    pods = json.loads((folder / "out.json").read_text(encoding="utf-8"))["pods"]
    assert pods[0]["scores"]["a"]["ArmOnly"] == 100
    assert pods[0]["scores"]["b"]["ArmOnly"] == 99
