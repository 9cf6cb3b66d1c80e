"""DefaultEvictor on clusters of builder objects, with arguments as a policy writes them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from descheduling.harness import NOW, a_cluster, a_policy
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.evictor_args import DefaultEvictorArgs
from restow.descheduling.node_fit import NodeFit
from restow.descheduling.protections import namespace_checks
from restow.descheduling.registry import plugins
from restow.kube.timestamps import parse_time
from restow.policies.arguments import resolve_priority_threshold
from restow.policies.load import load_policy
from restow.policies.policy import Namespaces


def evictor_args(args: dict[str, Any]) -> DefaultEvictorArgs:
    """The arguments that the policy loader makes of ``args``."""
    policy = a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1}, evictor=args)
    loaded = load_policy(msgspec.json.encode(policy), "policy.json", plugins())
    return loaded.policy.profiles[0].args["DefaultEvictor"]


def an_evictor(
    args: dict[str, Any], *objects: dict[str, Any], namespaces: Namespaces = "all"
) -> tuple[DefaultEvictor, ClusterState]:
    """The evictor and the state that it watches, at NOW; ``namespaces`` is the policy's."""
    state = ClusterState(a_cluster(*objects))
    labels = LabelGroups(state.cluster.pods)
    compiled = evictor_args(args)
    threshold = resolve_priority_threshold(compiled.priority_threshold, state.cluster.priority_classes())
    fit = NodeFit(state, labels)
    return (
        DefaultEvictor(
            compiled,
            threshold=threshold,
            state=state,
            fit=fit,
            labels=labels,
            vetoes=namespace_checks(namespaces, state.cluster),
            now=parse_time(NOW),
        ),
        state,
    )


def reason(args: dict[str, Any], *objects: dict[str, Any], namespaces: Namespaces = "all") -> tuple[str, str] | None:
    """Code and message of why the first pod of the cluster stays; None if it may be evicted."""
    evictor, _ = an_evictor(args, *objects, namespaces=namespaces)
    first = np.array([0])
    admitted = evictor.passes_filter(first)[0] and evictor.passes_pre_eviction(first)[0]
    assert bool(admitted) == evictor.passes_all(0)
    if admitted:
        return None
    stage, code, message = evictor.refusals(first)[0]
    assert stage == ("placement" if code == "NoFit" else "evictor")
    return code, message
