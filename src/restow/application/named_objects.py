"""Pods and nodes as people name them on the command line."""

from __future__ import annotations

from difflib import get_close_matches

from restow.cluster.nodes import Nodes
from restow.cluster.pods import Pods
from restow.errors import InputError

#: Comparing names takes a while; of a namespace with more pods only the first are compared.
_MOST_COMPARED = 5000


def find_pod(pods: Pods, name: str, where: str) -> int:
    """The pod of that name; InputError, which begins with ``where``, names a similar one where there is none."""
    namespace, slash, short = name.partition("/")
    found = _named(pods, short) if slash else []
    for pod in found:
        if pods.full_name(pod) == name:
            return pod
    if not slash:
        hint = _hint(pods, _named(pods, name), [])
        raise InputError(f"{where}: {name} is not of the form NAMESPACE/NAME{hint}")
    raise InputError(f"{where}: the input holds no pod {name}{_hint(pods, found, _similar(pods, namespace, short))}")


def _named(pods: Pods, short: str) -> list[int]:
    return [pod for pod, each in enumerate(pods.names) if each == short]


def _hint(pods: Pods, same_name: list[int], similar: list[str]) -> str:
    near = pods.full_name(same_name[0]) if same_name else next(iter(similar), "")
    return f"; did you mean {near}?" if near else ""


def _similar(pods: Pods, namespace: str, short: str) -> list[str]:
    """The pods in the namespace (or in that of the most similar name) of that workload, and of the most similar name."""
    for near in get_close_matches(namespace, pods.tables.namespaces, n=1):
        inside = (pods.namespace == pods.tables.namespaces.index(near)).nonzero()[0].tolist()
        names = [pods.names[pod] for pod in inside[:_MOST_COMPARED]]
        of_workload = (each for each in names if each.startswith(f"{short}-"))
        return [f"{near}/{each}" for each in (*of_workload, *get_close_matches(short, names, n=1))]
    return []


def find_node(nodes: Nodes, name: str, where: str) -> int:
    """The node of that name; InputError, which begins with ``where``, names a similar one where there is none."""
    found = nodes.index.get(name)
    if found is not None:
        return found
    short = [each for each in nodes.names if each.partition(".")[0] == name]
    near = next(iter(short or get_close_matches(name, nodes.names, n=1)), "")
    raise InputError(f"{where}: the input holds no node {name}{f'; did you mean {near}?' if near else ''}")
