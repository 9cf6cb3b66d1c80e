"""How Prometheus finds the metrics of the descheduler."""

from __future__ import annotations

from typing import Final

from restow.operator.facts import Facts
from restow.operator.objects import Object, Place, in_namespace
from restow.operator.operand import APP, CERTIFICATE, PORT
from restow.operator.rights import rights_of_prometheus

_SERVICE: Final = "metrics"
_SERVICE_CA: Final = "/etc/prometheus/configmaps/serving-certs-ca-bundle/service-ca.crt"
_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path


def monitoring_of(place: Place, facts: Facts) -> list[Object]:
    """Return the Service, and where the cluster has them the ServiceMonitor and the rights of OpenShift's Prometheus."""
    return [
        _service(place, facts),
        *([_monitor(place, facts)] if facts.has_service_monitors else ()),
        *(rights_of_prometheus(place) if facts.is_openshift else ()),
    ]


def _service(place: Place, facts: Facts) -> Object:
    wanted = {"service.beta.openshift.io/serving-cert-secret-name": CERTIFICATE} if facts.is_openshift else None
    port = {"name": "https", "port": PORT, "protocol": "TCP", "targetPort": PORT}
    spec = {"type": "ClusterIP", "selector": APP, "ports": [port]}
    return in_namespace(place, "v1", "Service", _SERVICE, labels=APP, annotations=wanted, spec=spec)


def _monitor(place: Place, facts: Facts) -> Object:
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


def _verified(place: Place) -> Object:
    name = f"{_SERVICE}.{place.namespace}.svc"
    return {"bearerTokenFile": _TOKEN, "tlsConfig": {"caFile": _SERVICE_CA, "serverName": name}}
