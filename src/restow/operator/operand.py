"""The pods that the operator runs: restow as descheduler, with the flags that follow from the resource, and as soft tainter.

All are unprivileged, of high priority, and mount the policy. The soft tainter puts soft taints on busy nodes. It runs
where virtual machines are moved, and only while they are really moved: a plan that is not carried out changes nothing on
nodes, and a single run would not remove its taints later.
Arguments have the order that OpenShift's operator gives them. Source: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from restow.client.resources import RESOURCES
from restow.operator.facts import Facts, Installation
from restow.operator.objects import Object, Ownership, in_cluster, in_namespace
from restow.operator.policy import POLICY_FILE
from restow.operator.resource import API_VERSION, KubeDeschedulerSpec, LogLevel
from restow.operator.rights import OPERAND, PLAN_CONFIG_MAP, monitoring_view, rights_of_prometheus
from restow.operator.rules import KUBEVIRT_PROFILES

#: Where the policy is.
CONFIG_MAP: Final = "cluster"
_POLICY_AT: Final = "/policy-dir"
POLICY_PATH: Final = f"{_POLICY_AT}/{POLICY_FILE}"
#: Of each level, as ``-v``: for the descheduler, the soft tainter and the operator.
VERBOSITY: Final[dict[LogLevel, int]] = {"Normal": 2, "Debug": 4, "Trace": 6, "TraceAll": 8}
NAME: Final = "descheduler"
#: Of the pods, and of the Service that finds them.
APP: Final = {"app": "descheduler"}
PORT: Final = 10258
#: In Predictive mode.
DRY_RUN: Final = "--dry-run=true"
#: What OpenShift's service CA makes for the Service.
CERTIFICATE: Final = "kube-descheduler-serving-cert"
_CERTIFICATE_AT: Final = "/certs-dir"
#: A hanging run is ended, as in ``deploy/kubernetes/job``.
_LONGEST_RUN: Final = 3600
_SERVICE: Final = "metrics"
_SERVICE_CA: Final = "/etc/prometheus/configmaps/serving-certs-ca-bundle/service-ca.crt"
_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
SOFT_TAINTER: Final = "softtainter"
#: The service account, and the names of its roles.
SOFT_TAINTER_ACCOUNT: Final = "openshift-descheduler-softtainter"
#: Lets it ask OpenShift's Prometheus.
SOFT_TAINTER_MONITORING: Final = f"{SOFT_TAINTER_ACCOUNT}-monitoring"
#: The spelling is upstream's.
_TAINTER_APP: Final = {"app": "softtainer"}
SOFT_TAINTER_PORT: Final = 6060
_PLURAL: Final = "kubedeschedulers"
_RBAC: Final = "rbac.authorization.k8s.io"


@dataclass(slots=True, frozen=True)
class Program:
    """The one container of a pod."""

    name: str
    image: str
    command: Sequence[str]
    args: Sequence[str]
    cpu: str
    memory: str
    #: Its secrets by the directory where they are mounted.
    secrets: tuple[tuple[str, str], ...] = ()


def pod_metadata(program: Program, labels: Object, policy: str, facts: Facts) -> Object:
    """Return the metadata of a pod that runs a policy."""
    annotations = {
        "kubectl.kubernetes.io/default-container": program.name,
        # Pods with a new policy are new pods, so that it holds from then on and not when the kubelet comes round.
        "restow.dev/policy-hash": hashlib.sha256(policy.encode()).hexdigest(),
    }
    if facts.is_openshift:
        annotations["openshift.io/required-scc"] = "restricted-v2"
    return {"labels": labels, "annotations": annotations}


def pod_spec(program: Program, account: str, more: Object) -> Object:
    """Return a pod of a service account; ``more`` is added to its container."""
    volumes: list[Object] = [{"name": "policy-volume", "configMap": {"name": CONFIG_MAP}}]
    volumes += [{"name": _volume(path), "secret": {"secretName": secret}} for path, secret in program.secrets]
    return {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": account,
        # restow ends within 55 s of SIGTERM, even if no server answers.
        "terminationGracePeriodSeconds": 60,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(program) | more],
        "volumes": volumes,
    }


def probe(path: str, **times: int) -> Object:
    """Return a probe of the port named https."""
    return {"httpGet": {"scheme": "HTTPS", "port": "https", "path": path}, "timeoutSeconds": 5, **times}


def lasting(labels: Object, template: Object) -> Object:
    """Return the spec of a Deployment of one pod. Never two at a time: neither would know what the other one does."""
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": template,
    }


def _container(program: Program) -> Object:
    mounts: list[dict[str, Any]] = [{"name": "policy-volume", "mountPath": _POLICY_AT, "readOnly": True}]
    mounts += [{"name": _volume(path), "mountPath": path, "readOnly": True} for path, _ in program.secrets]
    return {
        "name": program.name,
        "image": program.image,
        "command": [*program.command],
        "args": [*program.args],
        # Memory use grows with the cluster; there is no limit, because a killed cycle is worse than a larger one.
        "resources": {"requests": {"cpu": program.cpu, "memory": program.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _volume(path: str) -> str:
    return path.strip("/")


def workload_of(place: Ownership, image: str, policy: str, facts: Facts) -> Object:
    """Return what runs a policy: a Deployment, or for an interval of 0 a Job for each generation of the resource."""
    spec = place.owner.spec
    program = _program(place, image, facts)
    metadata = pod_metadata(program, APP, policy, facts)
    if spec.descheduling_interval_seconds:
        pod = {"metadata": metadata, "spec": pod_spec(program, OPERAND, _served())}
        return in_namespace(place, "apps/v1", "Deployment", NAME, labels=APP, spec=lasting(APP, pod))
    name = f"{NAME}-run-{max(place.owner.metadata.generation, 1)}"
    pod = {"metadata": metadata, "spec": pod_spec(program, OPERAND, {}) | {"restartPolicy": "Never"}}
    once = {"backoffLimit": 0, "activeDeadlineSeconds": _LONGEST_RUN, "template": pod}
    return in_namespace(place, "batch/v1", "Job", name, labels=APP, spec=once)


def arguments(spec: KubeDeschedulerSpec, facts: Facts, namespace: str) -> list[str]:
    """Return the arguments of the descheduler."""
    given = [f"--policy-config-file={POLICY_PATH}", "--logging-format=text"]
    if _has_certificate(spec, facts):
        given += [f"--tls-cert-file={_CERTIFICATE_AT}/tls.crt", f"--tls-private-key-file={_CERTIFICATE_AT}/tls.key"]
    given.append(f"--descheduling-interval={spec.descheduling_interval_seconds}s")
    if spec.profile_customizations.dev_enable_evictions_in_background or KUBEVIRT_PROFILES.intersection(spec.profiles):
        given.append("--feature-gates=EvictionsInBackground=true")
    if facts.tls_cipher_suites:
        given.append(f"--tls-cipher-suites={','.join(facts.tls_cipher_suites)}")
    if facts.tls_min_version:
        given.append(f"--tls-min-version={facts.tls_min_version}")
    if spec.mode == "Predictive":
        given.append(DRY_RUN)
    given.append(f"--publish-plan={namespace}/{PLAN_CONFIG_MAP}")
    return [*given, f"-v={VERBOSITY[spec.log_level]}"]


def _has_certificate(spec: KubeDeschedulerSpec, facts: Facts) -> bool:
    """Whether OpenShift makes a certificate: it does so for the Service, which a single run does not have."""
    return facts.is_openshift and spec.descheduling_interval_seconds > 0


def _program(place: Ownership, image: str, facts: Facts) -> Program:
    spec = place.owner.spec
    secrets = ((_CERTIFICATE_AT, CERTIFICATE),) if _has_certificate(spec, facts) else ()
    return Program(NAME, image, ["/bin/descheduler"], arguments(spec, facts, place.namespace), "100m", "256Mi", secrets)


def _served() -> Object:
    """Return port and probes of a descheduler that lasts, as in ``deploy/kubernetes/deployment``."""
    return {
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": probe("/livez", initialDelaySeconds=5, periodSeconds=20, failureThreshold=3),
        "readinessProbe": probe("/readyz", periodSeconds=10),
    }


def monitoring_of(place: Ownership, facts: Facts) -> list[Object]:
    """Return the Service, and where the cluster has them the ServiceMonitor and the rights of OpenShift's Prometheus."""
    return [
        _service(place, facts),
        *([_monitor(place, facts)] if facts.has_service_monitors else ()),
        *(rights_of_prometheus(place) if facts.is_openshift else ()),
    ]


def _service(place: Ownership, facts: Facts) -> Object:
    wanted = {"service.beta.openshift.io/serving-cert-secret-name": CERTIFICATE} if facts.is_openshift else None
    port = {"name": "https", "port": PORT, "protocol": "TCP", "targetPort": PORT}
    spec = {"type": "ClusterIP", "selector": APP, "ports": [port]}
    return in_namespace(place, "v1", "Service", _SERVICE, labels=APP, annotations=wanted, spec=spec)


def _monitor(place: Ownership, facts: Facts) -> Object:
    endpoint = {
        "port": "https",
        "path": "/metrics",
        "scheme": "https",
        "interval": "30s",
        # The label namespace of the metrics is that of the evicted pod.
        "metricRelabelings": [
            {"action": "replace", "sourceLabels": ["exported_namespace"], "targetLabel": "pod_namespace"},
            {"action": "labeldrop", "regex": "exported_namespace"},
        ],
        **(_verified(place) if facts.is_openshift else {"tlsConfig": {"insecureSkipVerify": True}}),
    }
    spec = {
        "endpoints": [endpoint],
        "namespaceSelector": {"matchNames": [place.namespace]},
        "selector": {"matchLabels": APP},
    }
    return in_namespace(place, "monitoring.coreos.com/v1", "ServiceMonitor", "kube-descheduler", spec=spec)


def _verified(place: Ownership) -> Object:
    name = f"{_SERVICE}.{place.namespace}.svc"
    return {"bearerTokenFile": _TOKEN, "tlsConfig": {"caFile": _SERVICE_CA, "serverName": name}}


def needs_soft_tainter(spec: KubeDeschedulerSpec) -> bool:
    """Whether nodes should have soft taints; otherwise the operator removes them."""
    lasts = spec.mode == "Automatic" and spec.descheduling_interval_seconds > 0
    return lasts and bool(KUBEVIRT_PROFILES.intersection(spec.profiles))


def soft_tainter_of(place: Ownership, installation: Installation, policy: str, facts: Facts) -> list[Object]:
    """Return the objects of a soft tainter, in an order in which they can be created."""
    return [
        in_namespace(place, "v1", "ServiceAccount", SOFT_TAINTER_ACCOUNT),
        *_rights(place),
        *([monitoring_view(place, SOFT_TAINTER_MONITORING, SOFT_TAINTER_ACCOUNT)] if facts.is_openshift else ()),
        _deployment(place, installation.soft_tainter_image or installation.image, policy, facts),
    ]


def soft_tainter_arguments(spec: KubeDeschedulerSpec, namespace: str) -> list[str]:
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
    resource = [{"apiGroups": [API_VERSION.partition("/")[0]], "resources": [_PLURAL], "verbs": ["get"]}]
    subjects = [{"kind": "ServiceAccount", "name": SOFT_TAINTER_ACCOUNT, "namespace": place.namespace}]

    def role_ref(kind: str) -> Object:
        return {"apiGroup": _RBAC, "kind": kind, "name": SOFT_TAINTER_ACCOUNT}

    return [
        in_cluster(f"{_RBAC}/v1", "ClusterRole", SOFT_TAINTER_ACCOUNT, rules=nodes),
        in_cluster(
            f"{_RBAC}/v1",
            "ClusterRoleBinding",
            SOFT_TAINTER_ACCOUNT,
            roleRef=role_ref("ClusterRole"),
            subjects=subjects,
        ),
        in_namespace(place, f"{_RBAC}/v1", "Role", SOFT_TAINTER_ACCOUNT, rules=resource),
        in_namespace(
            place, f"{_RBAC}/v1", "RoleBinding", SOFT_TAINTER_ACCOUNT, roleRef=role_ref("Role"), subjects=subjects
        ),
    ]


def _deployment(place: Ownership, image: str, policy: str, facts: Facts) -> Object:
    args = soft_tainter_arguments(place.owner.spec, place.namespace)
    program = Program(SOFT_TAINTER, image, ["restow"], args, cpu="10m", memory="128Mi")
    served = {
        "ports": [{"name": "https", "containerPort": SOFT_TAINTER_PORT}],
        "livenessProbe": probe("/livez", initialDelaySeconds=30, periodSeconds=20, failureThreshold=3),
        "readinessProbe": probe("/readyz", initialDelaySeconds=5, periodSeconds=10),
    }
    pod = {
        "metadata": pod_metadata(program, _TAINTER_APP, policy, facts),
        "spec": pod_spec(program, SOFT_TAINTER_ACCOUNT, served),
    }
    return in_namespace(
        place, "apps/v1", "Deployment", SOFT_TAINTER, labels=_TAINTER_APP, spec=lasting(_TAINTER_APP, pod)
    )
