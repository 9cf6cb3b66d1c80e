"""Each right to read is needed: without it something is not known, which is said once, with the rule that grants it."""

from __future__ import annotations

import itertools
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.crowded import POLICY, WORKLOADS, crowd_workloads, workloads_of
from e2e.running import Descheduler
from e2e.shipped import DEPLOY, kubeconfig_of_restow, kustomized, rights

pytestmark = pytest.mark.e2e

_NUMBERS = itertools.count(1)
_ONCE_IN_A_WHILE = ("--dry-run", "--descheduling-interval=1h", "--v=3", "--logging-format=json")
ALL = frozenset(WORKLOADS)
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Loss:
    """What a right taken away comes to: workloads that stay because nobody knows, or because nobody can be certain."""

    group: str
    resource: str
    unknown: frozenset[str] = NONE
    uncertain: frozenset[str] = NONE

    @property
    def rule(self) -> str:
        """As the log names it."""
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: [list, watch]}}'


STORAGE = "storage.k8s.io"
DEVICES = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices", "devicetaintrules")
LOSSES = (
    Loss("policy", "poddisruptionbudgets", unknown=ALL),
    Loss("apps", "replicasets", uncertain=frozenset({"web", "db", "shy"})),
    Loss("apps", "statefulsets", uncertain=frozenset({"queue"})),
    Loss("", "replicationcontrollers", uncertain=frozenset({"old"})),
    Loss("", "services", uncertain=ALL),
    Loss("", "persistentvolumeclaims", unknown=frozenset({"db"})),
    Loss("", "persistentvolumes", unknown=frozenset({"db"})),
    Loss(STORAGE, "csinodes", unknown=frozenset({"db"})),
    # Of volumes that have not been made yet, of which no running pod has any; of Jobs, of which there is none here.
    Loss(STORAGE, "storageclasses"),
    Loss(STORAGE, "csidrivers"),
    Loss(STORAGE, "csistoragecapacities"),
    Loss(STORAGE, "volumeattachments"),
    Loss("batch", "jobs"),
    # Of pods that are not as a template says, and of their older templates; here all are.
    Loss("apps", "deployments"),
    Loss("apps", "daemonsets"),
    Loss("apps", "controllerrevisions"),
    Loss("autoscaling.k8s.io", "verticalpodautoscalers"),
    # Of pods that are scheduled as groups; here none is.
    Loss("scheduling.k8s.io", "podgroups"),
    Loss("scheduling.k8s.io", "workloads"),
    Loss("scheduling.x-k8s.io", "podgroups"),
    # Of nodes that align pods; here none does.
    Loss("topology.node.k8s.io", "noderesourcetopologies"),
    # Of pods that claim devices; here none does.
    *(Loss("resource.k8s.io", each) for each in DEVICES),
    # Of namespaces that are full; here none is.
    Loss("", "resourcequotas"),
)


class Crowded:
    """The plane with the workloads, and restow's account without any right."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        crowd_workloads(plane)
        self._shipped = rights(kustomized(DEPLOY / "kubernetes" / "base"))
        plane.admin.create(next(each for each in self._shipped if each["kind"] == "ServiceAccount"))
        self.kubeconfig = kubeconfig_of_restow(plane)

    def granted_without(self, group: str = "", resource: str = "") -> None:
        """The account has the shipped role for reading, but for one resource, from now on."""
        (role,) = (each for each in self._shipped if (each["kind"], _name(each)) == ("ClusterRole", "restow-reading"))
        name = f"reading-{next(_NUMBERS)}"
        rules = [_without(rule, resource) if group in rule["apiGroups"] else rule for rule in role["rules"]]
        for binding in self.plane.admin.items("ClusterRoleBinding"):
            if _name(binding).startswith("reading-"):
                self.plane.admin.delete("ClusterRoleBinding", _name(binding))
        (binding,) = (
            each for each in self._shipped if (each["kind"], _name(each)) == ("ClusterRoleBinding", "restow-reading")
        )
        mine = deepcopy(binding)
        mine["metadata"]["name"] = mine["roleRef"]["name"] = name
        left = [rule for rule in rules if rule["resources"]]
        self.plane.admin.create({**role, "metadata": {"name": name}, "rules": left})
        self.plane.admin.create(mine)

    def restow(self, directory: Path) -> Descheduler:
        """Under the account; not started."""
        return Descheduler(directory, policy=POLICY, kubeconfig=self.kubeconfig, flags=_ONCE_IN_A_WHILE)


def _name(thing: Object) -> str:
    name: str = thing["metadata"]["name"]
    return name


def _without(rule: Object, resource: str) -> Object:
    return {**rule, "resources": [each for each in rule["resources"] if each != resource]}


@pytest.fixture(scope="class")
def crowded(kustomize: None, own_plane: ControlPlane) -> Crowded:
    return Crowded(own_plane)


class TestReading:
    def test_with_all_of_them_every_move_is_certain_and_no_right_is_missed(
        self, crowded: Crowded, tmp_path: Path
    ) -> None:
        crowded.granted_without()
        with crowded.restow(tmp_path) as restow:
            restow.wait_for_line("Number of evictions/requests")
            moved = restow.entries("Evicted pod in dry run mode")
            assert workloads_of(moved) == ALL
            assert {entry["certainty"] for entry in moved} == {"certain"}
            assert restow.lines("add the rule") == []

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.resource}.{loss.group}")
    def test_without_one_its_rule_is_named_once_and_only_who_depends_on_it_is_concerned(
        self, crowded: Crowded, tmp_path: Path, loss: Loss
    ) -> None:
        crowded.granted_without(loss.group, loss.resource)
        with crowded.restow(tmp_path) as restow:
            restow.wait_for_line("Number of evictions/requests")
            (told,) = restow.lines("add the rule")
            assert loss.rule in told.replace('\\"', '"')
            moved = restow.entries("Evicted pod in dry run mode")
            stays = [entry for entry in restow.entries("Pod stays") if entry["code"] == "Unknown"]
            assert workloads_of(stays) == loss.unknown
            assert workloads_of(moved) == ALL - loss.unknown
            uncertain = workloads_of(entry for entry in moved if entry["certainty"] == "possible")
            assert uncertain == loss.uncertain

    def test_without_namespaces_nothing_is_evicted_for_each_may_have_opted_out(
        self, crowded: Crowded, tmp_path: Path
    ) -> None:
        crowded.granted_without("", "namespaces")
        with crowded.restow(tmp_path) as restow:
            restow.wait_for_line("Number of evictions/requests")
            (told,) = restow.lines("add the rule")
            assert Loss("", "namespaces").rule in told.replace('\\"', '"')
            assert restow.entries("Evicted pod in dry run mode") == []
            assert restow.samples().total("restow_last_cycle_refusals", stage="evictor", code="Unknown") > 0
            status, page = restow.get("/readyz")
            assert (status, Loss("", "namespaces").rule in page) == (503, True)

    def test_without_priority_classes_a_threshold_that_names_one_cannot_be_resolved(
        self, crowded: Crowded, tmp_path: Path
    ) -> None:
        crowded.granted_without("scheduling.k8s.io", "priorityclasses")
        with crowded.restow(tmp_path) as restow:
            restow.wait_for_line('priorityclasses.scheduling.k8s.io \\"important\\" not found')
            assert len(restow.lines("add the rule")) == 1
            assert restow.entries("Evicted pod in dry run mode") == []

    @pytest.mark.parametrize("resource", ["nodes", "pods"])
    def test_without_nodes_or_pods_it_is_never_ready(self, crowded: Crowded, tmp_path: Path, resource: str) -> None:
        crowded.granted_without("", resource)
        with crowded.restow(tmp_path) as restow:
            assert Loss("", resource).rule in restow.wait_for_line("add the rule").replace('\\"', '"')
            assert not restow.is_ready()
            assert restow.get("/livez")[0] == 200


def test_every_right_to_read_has_been_taken_away() -> None:
    base = rights(kustomized(DEPLOY / "kubernetes" / "base"))
    (role,) = (each for each in base if (each["kind"], _name(each)) == ("ClusterRole", "restow-reading"))
    named = {(group, each) for rule in role["rules"] for group in rule["apiGroups"] for each in rule["resources"]}
    elsewhere = {("", "nodes"), ("", "pods"), ("", "namespaces"), ("scheduling.k8s.io", "priorityclasses")}
    assert {(loss.group, loss.resource) for loss in LOSSES} | elsewhere == named
