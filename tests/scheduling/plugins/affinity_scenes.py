"""Pods with affinity, and nodes with labels, in the few words of the tables."""

from __future__ import annotations

from builders import a_node, a_pod, pod_affinity, pod_anti_affinity, pod_term, selector
from scheduling.plugins.asking import INCOMING

SCAN, S1, S2 = {"service": "securityscan"}, {"security": "S1"}, {"security": "S2"}
FOO, BAR, FOO_BAR = {"foo": "1"}, {"bar": "1"}, {"foo": "1", "bar": "1"}


def term(topology, *requirement, **more):
    """``term("zone", "service", "In", "a", "b")``; only a key asks for the label to be there."""
    requirement = requirement if len(requirement) != 1 else (*requirement, "Exists")
    return pod_term(selector(requirement), topology=topology, **more)


def existing(node, labels, number=0, *, affinity=None, namespace="default", **more):
    return a_pod(f"{node}{number}", node=node, labels=labels, affinity=affinity, namespace=namespace, **more)


def incoming(labels, *parts, namespace="default"):
    affinity = {key: value for part in parts for key, value in part.items()}
    return a_pod(INCOMING, namespace=namespace, labels=labels, affinity=affinity or None)


def wants(*terms):
    return pod_affinity(list(terms))


def avoids(*terms):
    return pod_anti_affinity(list(terms))


def prefers(weight, wanted):
    return pod_affinity(preferred=[(weight, wanted)])


def shuns(weight, unwanted):
    return pod_anti_affinity(preferred=[(weight, unwanted)])


def nodes(**labels):
    """``nodes(a="region=r1,zone=z1")``."""
    return [a_node(name, labels=dict(each.split("=") for each in text.split(","))) for name, text in labels.items()]


ZONES = nodes(a="region=r1,zone=z1", b="region=r1,zone=z2")
S1_REGION, S2_REGION = term("region", "security", "In", "S1"), term("region", "security", "In", "S2")
S1R5, S2R6 = prefers(5, S1_REGION), prefers(6, S2_REGION)
CHINA, INDIA, AZ1 = nodes(a="region=China", b="region=India", c="az=az1")
HARD = wants(
    term("region", "security", "In", "S1", "value2"),
    pod_term(selector(("security", "Exists"), ("wrongkey", "DoesNotExist")), topology="region"),
)
