"""Builders of KubeDescheduler resources.

a_kubedescheduler("LongLifecycle", mode="Automatic", custom={"podLifetime": "5m"})
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restow.operator.facts import Facts, Installation, PrometheusRoute
from restow.operator.resource import NAMESPACE, KubeDescheduler, resource_of

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "kubedeschedulers").glob("*.yaml"))
#: The protected namespaces of OPENSHIFT, in the order of a policy.
PROTECTED = ["kube-system", "hypershift", "openshift", NAMESPACE, "openshift-kube-scheduler"]
#: A cluster in which every profile can be used.
OPENSHIFT = Facts(
    namespaces=("shop", "openshift-kube-scheduler", "kube-system", NAMESPACE),
    is_openshift=True,
    prometheus_route=PrometheusRoute(("prometheus.example.com",)),
    is_monitored=True,
    has_kubevirt_nodes=True,
    has_service_monitors=True,
)
INSTALLED = Installation(image="registry.example.com/restow:1")


def an_object(*profiles: str, name: str = "cluster", custom: Any = None, **spec: Any) -> dict[str, Any]:
    """The resource as the API has it, without defaults."""
    customized = {} if custom is None else {"profileCustomizations": custom}
    return {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"profiles": list(profiles), **customized, **spec},
    }


def a_kubedescheduler(*profiles: str, **settings: Any) -> KubeDescheduler:
    """The same, decoded."""
    return resource_of(an_object(*profiles, **settings))
