"""The descheduler that the operator runs: restow, with the flags that follow from the resource.

Arguments have the order that OpenShift's operator gives them. Source: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from typing import Final

from restow.operator.facts import Facts
from restow.operator.objects import Object, Ownership, in_namespace
from restow.operator.pods import POLICY_PATH, VERBOSITY, Program, lasting, pod_metadata, pod_spec, probe
from restow.operator.resource import KubeDeschedulerSpec
from restow.operator.rights import OPERAND, PLAN_CONFIG_MAP, rights_of_prometheus
from restow.operator.rules import KUBEVIRT_PROFILES

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
