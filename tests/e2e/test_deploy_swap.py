"""The Descheduler's own role, flags and ConfigMap, and restow's image in place of its: nothing else is changed.

Its role has no rule for half of the kinds that restow reads. Facts about the role, the flags and the policy: Descheduler
0.36, kubernetes/base and kubernetes/deployment.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from builders.policies import a_config, a_policy, a_profile
from e2e.control_plane import ControlPlane
from e2e.crowded import crowd_workloads, workloads_of
from e2e.running import Descheduler
from restow.client.resources import RESOURCES
from restow.live.reading import READ

pytestmark = pytest.mark.e2e

NAMESPACE, ACCOUNT = "kube-system", "descheduler-sa"
_LISTED = ["get", "watch", "list"]
RULES: list[Object] = [
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "update"]},
    *({"apiGroups": [""], "resources": [each], "verbs": _LISTED} for each in ("nodes", "namespaces", "pods")),
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": _LISTED},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": _LISTED},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": _LISTED},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "update"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["descheduler"],
        "verbs": ["get", "patch", "delete"],
    },
    {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes", "pods"], "verbs": ["get", "list"]},
]
#: What that role does not let it list.
UNLISTED = {
    kind
    for kind in READ
    if kind not in {"Node", "Namespace", "Pod", "PersistentVolumeClaim", "PriorityClass", "PodDisruptionBudget"}
}
_POLICY = a_policy(
    a_profile(
        a_config("DefaultEvictor"),
        a_config("RemovePodsViolatingInterPodAntiAffinity"),
        a_config("RemoveDuplicates"),
        a_config(
            "LowNodeUtilization",
            {
                "thresholds": {"cpu": 20, "memory": 20, "pods": 20},
                "targetThresholds": {"cpu": 50, "memory": 50, "pods": 50},
            },
        ),
        name="ProfileName",
        balance=["LowNodeUtilization", "RemoveDuplicates"],
        deschedule=["RemovePodsViolatingInterPodAntiAffinity"],
    )
)
#: What /bin/descheduler of the image is.
_PROGRAM = (sys.executable, "-c", "from restow.cli.descheduler import main; main()")
#: Of the Deployment, with election and with lines for machines, which a test can read.
_FLAGS = ("--v=3", "--descheduling-interval=5m", "--leader-elect=true", "--logging-format=json")


@pytest.fixture(scope="class")
def swapped(own_plane: ControlPlane) -> Path:
    """A kubeconfig of the Descheduler's account, with the Descheduler's role, on a plane with crowded workloads."""
    crowd_workloads(own_plane)
    rbac = "rbac.authorization.k8s.io"
    role: dict[str, Any] = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole"}
    own_plane.admin.create(role | {"metadata": {"name": "descheduler-cluster-role"}, "rules": RULES})
    token = own_plane.service_account(ACCOUNT, NAMESPACE, roles=("descheduler-cluster-role",))
    return own_plane.kubeconfig_for(token, ACCOUNT)


class TestImageSwapped:
    def test_it_runs_and_only_pods_that_depend_on_what_it_may_not_list_stay(
        self, own_plane: ControlPlane, swapped: Path, tmp_path: Path
    ) -> None:
        own_plane.audit.restart()
        with Descheduler(tmp_path, policy=_POLICY, kubeconfig=swapped, program=_PROGRAM, flags=_FLAGS) as restow:
            restow.wait_for_line("Number of evictions/requests", timeout=120)
            named = [line.replace('\\"', '"') for line in restow.lines("add the rule")]
            assert len(named) == len(UNLISTED)
            for kind in UNLISTED:
                rule = RESOURCES[kind].rule(("list", "watch"))
                assert sum(rule in line for line in named) == 1, kind
            unknown = [entry for entry in restow.entries("Pod stays") if entry["code"] == "Unknown"]
            assert workloads_of(unknown) == {"db"}
            assert workloads_of(restow.entries("Evicted pod")) >= {"web", "queue", "old", "shy"}
            assert restow.samples().total("restow_leader") == 1
            assert restow.get("/healthz") == (200, "ok")
        evictions = own_plane.audit.calls("create", "pods", "eviction")
        assert {call.response_status.code for call in evictions} == {201}
        assert own_plane.audit.calls("create", "events")
