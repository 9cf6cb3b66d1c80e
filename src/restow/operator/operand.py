"""The descheduler that is run: restow, with the flags that the resource stands for.

Arguments have the order that OpenShift's operator gives them. Source: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

import hashlib
from typing import Final

from restow.operator.facts import Facts
from restow.operator.objects import Object, Place, in_namespace
from restow.operator.policy import POLICY_FILE
from restow.operator.resource import KubeDeschedulerSpec, LogLevel
from restow.operator.rights import OPERAND, PLAN_CONFIG_MAP
from restow.operator.rules import KUBEVIRT_PROFILES

NAME: Final = "descheduler"
#: Of the pods, and of the Service that finds them.
APP: Final = {"app": "descheduler"}
PORT: Final = 10258
#: What OpenShift's service CA makes for the Service.
CERTIFICATE: Final = "kube-descheduler-serving-cert"
CONFIG_MAP: Final = "cluster"
#: Of each level, for the descheduler and the operator.
VERBOSITY: Final[dict[LogLevel, int]] = {"Normal": 2, "Debug": 4, "Trace": 6, "TraceAll": 8}
_POLICY_AT, _CERTIFICATE_AT = "/policy-dir", "/certs-dir"
#: A hanging run is ended, as in ``deploy/kubernetes/job``.
_LONGEST_RUN: Final = 3600


def workload_of(place: Place, image: str, policy: str, facts: Facts) -> Object:
    """Return what runs a policy: a Deployment, or for an interval of 0 a Job for each generation of the resource."""
    spec = place.owner.spec
    annotations = {
        "kubectl.kubernetes.io/default-container": NAME,
        # Pods with a new policy are new pods, so that it holds from then on and not when the kubelet comes round.
        "restow.dev/policy-hash": hashlib.sha256(policy.encode()).hexdigest(),
    }
    if facts.is_openshift:
        annotations["openshift.io/required-scc"] = "restricted-v2"
    pod = {"metadata": {"labels": APP, "annotations": annotations}, "spec": _pod(place, image, facts)}
    if spec.descheduling_interval_seconds:
        return in_namespace(place, "apps/v1", "Deployment", NAME, labels=APP, spec=_lasting(pod))
    name = f"{NAME}-run-{max(place.owner.metadata.generation, 1)}"
    return in_namespace(place, "batch/v1", "Job", name, labels=APP, spec=_once(pod))


def arguments(spec: KubeDeschedulerSpec, facts: Facts, namespace: str) -> list[str]:
    """Return the arguments of the descheduler."""
    given = [f"--policy-config-file={_POLICY_AT}/{POLICY_FILE}", "--logging-format=text"]
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
        given.append("--dry-run=true")
    given.append(f"--publish-plan={namespace}/{PLAN_CONFIG_MAP}")
    return [*given, f"-v={VERBOSITY[spec.log_level]}"]


def _has_certificate(spec: KubeDeschedulerSpec, facts: Facts) -> bool:
    """Whether OpenShift makes a certificate: it does so for the Service, which a single run does not have."""
    return facts.is_openshift and spec.descheduling_interval_seconds > 0


def _lasting(pod: Object) -> Object:
    # Never two at a time: each would move pods without knowing what the other one does.
    return {"replicas": 1, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": APP}, "template": pod}


def _once(pod: Object) -> Object:
    once = {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}
    return {"backoffLimit": 0, "activeDeadlineSeconds": _LONGEST_RUN, "template": once}


def _pod(place: Place, image: str, facts: Facts) -> Object:
    volumes: list[Object] = [{"name": "policy-volume", "configMap": {"name": CONFIG_MAP}}]
    mounts: list[Object] = [{"name": "policy-volume", "mountPath": _POLICY_AT, "readOnly": True}]
    if _has_certificate(place.owner.spec, facts):
        volumes.append({"name": "certs-dir", "secret": {"secretName": CERTIFICATE}})
        mounts.append({"name": "certs-dir", "mountPath": _CERTIFICATE_AT, "readOnly": True})
    return {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": OPERAND,
        # restow ends within 55 s of SIGTERM, even if nobody answers.
        "terminationGracePeriodSeconds": 60,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(place, image, facts, mounts)],
        "volumes": volumes,
    }


def _container(place: Place, image: str, facts: Facts, mounts: list[Object]) -> Object:
    container: Object = {
        "name": NAME,
        "image": image,
        "command": ["/bin/descheduler"],
        "args": arguments(place.owner.spec, facts, place.namespace),
        # Memory use grows with the cluster; there is no limit, because a killed cycle is worse than a larger one.
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    return container | (_served() if place.owner.spec.descheduling_interval_seconds else {})


def _served() -> Object:
    """Return port and probes of a descheduler that lasts, as in ``deploy/kubernetes/deployment``."""

    def probe(path: str, **times: int) -> Object:
        return {"httpGet": {"scheme": "HTTPS", "port": "https", "path": path}, "timeoutSeconds": 5, **times}

    return {
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": probe("/livez", initialDelaySeconds=5, periodSeconds=20, failureThreshold=3),
        "readinessProbe": probe("/readyz", periodSeconds=10),
    }
