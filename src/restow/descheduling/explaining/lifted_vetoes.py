"""What would lift the vetoes of other controllers: annotations that go, a time that passes, a migration that ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from restow.cluster.pod_values import ALWAYS, NO_TIME
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.explaining.explanation import Step
from restow.descheduling.explaining.trials import Fix, TrialInputs
from restow.descheduling.vetoes import DO_NOT_DISRUPT, SAFE_TO_EVICT, SAFE_VOLUMES
from restow.kube.timestamps import format_time
from restow.policies.codes import RefusalCode

_SECOND: Final = 10**9
#: The settings of ``restow.vetoes`` that close nodes, by the refusal.
CLOSING: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.LEAVING_NODE: "leavingNodes",
    RefusalCode.VIRTUAL_NODE: "virtualNodes",
}
_FIELDS: Final = {"leavingNodes": "leaving_nodes", "virtualNodes": "virtual_nodes"}


def lifted_veto(cluster: ClusterSnapshot, pod: int) -> dict[RefusalCode, Callable[[], Fix]]:
    """Return what lifts each veto that a pod can have, by code; a function makes it when it is needed."""
    return {
        RefusalCode.DO_NOT_DISRUPT: lambda: _disruptable(cluster, pod),
        RefusalCode.NODE_DO_NOT_DISRUPT: lambda: _node_disruptable(cluster, pod),
        RefusalCode.NOT_SAFE_TO_EVICT: lambda: _without(pod, SAFE_TO_EVICT, unsafe_to_evict=False),
        RefusalCode.UNSAFE_LOCAL_VOLUMES: lambda: _without(pod, SAFE_VOLUMES, unsafe_volumes=False),
        RefusalCode.MIGRATION_IN_PROGRESS: lambda: _settled("once the migration of its virtual machine has ended"),
        RefusalCode.MIGRATION_COOL_DOWN: lambda: _settled("once its migrationCoolDown is over"),
    }


def opened_nodes(code: RefusalCode) -> Fix:
    """Return the setting of the policy with which the nodes may receive pods that a refusal names."""
    name = CLOSING[code]

    def edit(inputs: TrialInputs) -> TrialInputs:
        return _with_vetoes(inputs, **{_FIELDS[name]: False})

    return Fix(Step("protection", f"with vetoes.{name}: false in the policy's restow section"), edit)


def _disruptable(cluster: ClusterSnapshot, pod: int) -> Fix:
    pods = cluster.pods
    limit, started = pods.tables.vetoes[pods.vetoes[pod]].do_not_disrupt, int(pods.started[pod])
    if limit == ALWAYS or started == NO_TIME:
        return _without(pod, DO_NOT_DISRUPT, do_not_disrupt=0)
    then = -(-(started + limit) // _SECOND) * _SECOND
    message = f"at {format_time(then)}, when its annotation {DO_NOT_DISRUPT} ends"
    return Fix(Step("protection", message), lambda inputs: replace(inputs, now=then))


def _node_disruptable(cluster: ClusterSnapshot, pod: int) -> Fix:
    node = int(cluster.pods.node[pod])
    name = cluster.nodes.names[node]

    def edit(inputs: TrialInputs) -> TrialInputs:
        marked = inputs.cluster.nodes.do_not_disrupt.copy()
        marked[node] = False
        nodes = replace(inputs.cluster.nodes, do_not_disrupt=marked)
        return replace(inputs, cluster=replace(inputs.cluster, nodes=nodes))

    return Fix(Step("protection", f"without the annotation {DO_NOT_DISRUPT} of {name}", name), edit)


def _without(pod: int, annotation: str, **changed: Any) -> Fix:
    """The pod without one of its annotations."""

    def edit(inputs: TrialInputs) -> TrialInputs:
        return replace(inputs, cluster=replace(inputs.cluster, pods=_with_veto(inputs.cluster.pods, pod, changed)))

    return Fix(Step("protection", f"without its annotation {annotation}"), edit)


def _with_veto(pods: Pods, pod: int, changed: Mapping[str, Any]) -> Pods:
    known, column = pods.tables.vetoes, pods.vetoes.copy()
    column[pod] = len(known)
    tables = replace(pods.tables, vetoes=[*known, known[pods.vetoes[pod]]._replace(**changed)])
    return replace(pods, vetoes=column, tables=tables)


def _settled(message: str) -> Fix:
    """As if nothing were known of migrations, which is the best case."""
    return Fix(Step("protection", message), lambda inputs: _with_vetoes(inputs, kube_virt=False), exact=False)


def _with_vetoes(inputs: TrialInputs, **changed: Any) -> TrialInputs:
    settings = inputs.policy.restow
    vetoes = structs.replace(settings.vetoes, **changed)
    return replace(inputs, policy=structs.replace(inputs.policy, restow=structs.replace(settings, vetoes=vetoes)))
