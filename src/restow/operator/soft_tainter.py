"""The soft tainter as objects: the daemon that puts soft taints on busy nodes, and its rights.

It runs where virtual machines are moved, and only while they are really moved: a plan that is not carried out changes
nothing on nodes, and a single run would not remove its taints later. Source of the names:
cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from typing import Final

from restow.client.resources import RESOURCES
from restow.operator.facts import Facts, Installation
from restow.operator.objects import Object, Ownership, in_cluster, in_namespace
from restow.operator.pods import POLICY_PATH, VERBOSITY, Program, lasting, pod_metadata, pod_spec, probe
from restow.operator.resource import API_VERSION, KubeDeschedulerSpec
from restow.operator.rights import monitoring_view
from restow.operator.rules import KUBEVIRT_PROFILES

NAME: Final = "softtainter"
#: The service account, and the names of its roles.
ACCOUNT: Final = "openshift-descheduler-softtainter"
#: Lets it ask OpenShift's Prometheus.
MONITORING: Final = f"{ACCOUNT}-monitoring"
#: The spelling is upstream's.
APP: Final = {"app": "softtainer"}
PORT: Final = 6060
PLURAL: Final = "kubedeschedulers"
_RBAC: Final = "rbac.authorization.k8s.io"


def is_needed(spec: KubeDeschedulerSpec) -> bool:
    """Whether nodes should have soft taints; otherwise the operator removes them."""
    lasts = spec.mode == "Automatic" and spec.descheduling_interval_seconds > 0
    return lasts and bool(KUBEVIRT_PROFILES.intersection(spec.profiles))


def soft_tainter_of(place: Ownership, installation: Installation, policy: str, facts: Facts) -> list[Object]:
    """Return the objects of a soft tainter, in an order in which they can be created."""
    return [
        in_namespace(place, "v1", "ServiceAccount", ACCOUNT),
        *_rights(place),
        *([monitoring_view(place, MONITORING, ACCOUNT)] if facts.is_openshift else ()),
        _deployment(place, installation.soft_tainter_image or installation.image, policy, facts),
    ]


def arguments(spec: KubeDeschedulerSpec, namespace: str) -> list[str]:
    """Return the arguments of ``restow``."""
    return [
        "operator",
        "soft-tainter",
        f"--policy-config-file={POLICY_PATH}",
        f"--namespace={namespace}",
        f"-v={VERBOSITY[spec.log_level]}",
    ]


def _rights(place: Ownership) -> list[Object]:
    nodes = [{"apiGroups": [""], "resources": [RESOURCES["Node"].plural], "verbs": ["get", "list", "patch"]}]
    resource = [{"apiGroups": [API_VERSION.partition("/")[0]], "resources": [PLURAL], "verbs": ["get"]}]
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": place.namespace}]

    def role_ref(kind: str) -> Object:
        return {"apiGroup": _RBAC, "kind": kind, "name": ACCOUNT}

    return [
        in_cluster(f"{_RBAC}/v1", "ClusterRole", ACCOUNT, rules=nodes),
        in_cluster(f"{_RBAC}/v1", "ClusterRoleBinding", ACCOUNT, roleRef=role_ref("ClusterRole"), subjects=subjects),
        in_namespace(place, f"{_RBAC}/v1", "Role", ACCOUNT, rules=resource),
        in_namespace(place, f"{_RBAC}/v1", "RoleBinding", ACCOUNT, roleRef=role_ref("Role"), subjects=subjects),
    ]


def _deployment(place: Ownership, image: str, policy: str, facts: Facts) -> Object:
    args = arguments(place.owner.spec, place.namespace)
    program = Program(NAME, image, ["restow"], args, cpu="10m", memory="128Mi")
    served = {
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": probe("/livez", initialDelaySeconds=30, periodSeconds=20, failureThreshold=3),
        "readinessProbe": probe("/readyz", initialDelaySeconds=5, periodSeconds=10),
    }
    pod = {"metadata": pod_metadata(program, APP, policy, facts), "spec": pod_spec(program, ACCOUNT, served)}
    return in_namespace(place, "apps/v1", "Deployment", NAME, labels=APP, spec=lasting(APP, pod))
