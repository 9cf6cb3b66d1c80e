"""A control plane on which replacements are steered, with the objects that are shipped for that, and what to look at there."""

from __future__ import annotations

import yaml

from builders import Object
from builders.policies import strategy_policy
from e2e.control_plane import ControlPlane
from e2e.shipped import DEPLOY, NAMESPACE, kustomized, rights

#: Everything leaves the nodes that are used by less than a fifth; the stock scheduler would put it right back.
PACK = strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 20}})
CONFIG_MAP = {"name": "restow-steering", "namespace": NAMESPACE}
#: Lines of restow's log: before the first steered cycle, and at the end of each.
STEERED, DONE = "replacements are steered", "Number of evictions/requests"


def install(plane: ControlPlane) -> None:
    """restow's account with all rights, and what steering needs."""
    for thing in (*rights(kustomized(DEPLOY / "kubernetes" / "deployment")), *shipped()):
        plane.admin.create(thing)


def shipped() -> list[Object]:
    files = ("config-map", "gating", "guarding", "rights")
    texts = ((DEPLOY / "kubernetes" / "steering" / f"{name}.yaml").read_text() for name in files)
    return [thing for text in texts for thing in yaml.safe_load_all(text)]


def gated(cluster: ControlPlane) -> list[str]:
    pods = cluster.admin.items("Pod", "default")
    return [each["metadata"]["name"] for each in pods if each["spec"].get("schedulingGates")]


def entries(cluster: ControlPlane) -> Object:
    found: Object = cluster.admin.get("ConfigMap", "restow-steering", NAMESPACE).get("data") or {}
    return found
