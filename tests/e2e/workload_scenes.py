"""Scenes of ReplicaSets, ReplicationControllers, Deployments, StatefulSets and DaemonSets."""

from __future__ import annotations

from builders import Object
from e2e.histories import Form
from e2e.scene_objects import agent, bare, db, pods, replicas, replication, rolling, web
from e2e.scene_steps import OWN, After, Apply, DeletePods, Fail, Patch, Scene, own_node
from restow.workloads.controllers import DELETION_COST

#: So many seconds are between what happens first and what happens then.
_QUICK: Object = {"ready": "2s"}
_SLOW: Object = {"ready": "3s", "delete": "1500ms"}
#: Only the taint that keeps others away from the nodes of a scene.
_TOLERATES: Object = {"key": "scene", "operator": "Exists", "effect": "NoSchedule"}


def _apply(*documents: Object) -> Apply:
    return Apply(documents)


def _sized(kind: str, name: str, count: int) -> Patch:
    return Patch(kind, name, {"spec": {"replicas": count}})


def _costing(cost: int, version: int) -> Object:
    return pods(version, annotations={DELETION_COST: str(cost)})


def _partition(count: int) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": count}}


def _few(word: str, count: int) -> Object:
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {word: count} | ({"maxUnavailable": 0} if word == "maxSurge" else {}),
    }


def _labelled(node: int, labels: Object) -> Patch:
    return Patch("Node", f"{OWN}-{node}", {"metadata": {"labels": labels}})


def _tainted(node: int, effect: str = "") -> Patch:
    """A node with a taint of an effect, or without, beside the one that keeps others away."""
    others = [{"key": "broken", "effect": effect}] if effect else []
    return Patch(
        "Node", f"{OWN}-{node}", {"spec": {"taints": [{"key": "scene", "value": OWN, "effect": "NoSchedule"}, *others]}}
    )


_REPLICA_SETS = {
    "a ReplicaSet grows and shrinks": Scene(
        [_apply(replicas(3, pods(**_QUICK))), _sized("ReplicaSet", "web", 5), _sized("ReplicaSet", "web", 1)]
    ),
    "a ReplicaSet replaces what is deleted": Scene(
        [_apply(replicas(3, pods(**_QUICK))), DeletePods("web", 2), DeletePods("web", 3)]
    ),
    "a ReplicaSet adopts pods, and deletes the cheapest": Scene(
        [
            _apply(*(bare(f"p{cost}", "web", _costing(cost, cost)) for cost in (5, 2, 9, 3))),
            _apply(replicas(4, pods(7))),
            _sized("ReplicaSet", "web", 2),
        ]
    ),
    "a ReplicaSet releases a pod whose label changes": Scene(
        [
            _apply(bare("odd", "web", pods(2, ready="1s"))),
            _apply(replicas(2, pods(1, ready="1s"))),
            Patch("Pod", "odd", {"metadata": {"labels": {"app": "other"}}}),
        ]
    ),
    "a ReplicaSet replaces a pod that has failed": Scene(
        [
            _apply(bare("broken", "web", pods(2, ready="1s"))),
            _apply(replicas(2, pods(ready="1s"))),
            Fail("broken"),
        ]
    ),
    "pods of a ReplicaSet are available after a while": Scene([_apply(replicas(3, pods(), minReadySeconds=3))]),
    "a ReplicationController grows and shrinks": Scene(
        [
            _apply(replication(2, pods(**_QUICK))),
            _sized("ReplicationController", "web", 4),
            _sized("ReplicationController", "web", 0),
        ]
    ),
}

_DEPLOYMENTS = {
    "a rolling update that makes one pod more": Scene(
        [
            _apply(web(3, pods(1, **_QUICK), strategy=rolling(1, 0))),
            _apply(web(3, pods(2, **_QUICK), strategy=rolling(1, 0))),
        ]
    ),
    "a rolling update that takes one pod away": Scene(
        [
            _apply(web(3, pods(1, **_QUICK), strategy=rolling(0, 1))),
            _apply(web(3, pods(2, **_QUICK), strategy=rolling(0, 1))),
        ]
    ),
    "a rolling update, a rollback and another size": Scene(
        [
            _apply(web(4, pods(1, ready="3s"), strategy=rolling("50%", 0))),
            _apply(web(4, pods(2, ready="3s"), strategy=rolling("50%", 0))),
            _apply(web(4, pods(1, ready="3s"), strategy=rolling("50%", 0))),
            _sized("Deployment", "web", 6),
        ],
        form=Form(generations=False),
    ),
    "a rollback in the middle of an update": Scene(
        [
            _apply(web(3, pods(1, ready="4s"), strategy=rolling(1, 0))),
            _apply(web(3, pods(2, ready="4s"), strategy=rolling(1, 0))),
            After(6.0, _apply(web(3, pods(1, ready="4s"), strategy=rolling(1, 0)))),
        ]
    ),
    "a third version in the middle of an update": Scene(
        [
            _apply(web(3, pods(1, ready="4s"), strategy=rolling(1, 0))),
            _apply(web(3, pods(2, ready="4s"), strategy=rolling(1, 0))),
            After(6.0, _apply(web(3, pods(3, ready="4s"), strategy=rolling(1, 0)))),
        ]
    ),
    "another size in the middle of an update": Scene(
        [
            _apply(web(3, pods(1, ready="4s"), strategy=rolling(1, 0))),
            _apply(web(3, pods(2, ready="4s"), strategy=rolling(1, 0))),
            After(2.0, _sized("Deployment", "web", 4)),
        ]
    ),
    "an update that is made anew": Scene(
        [
            _apply(web(3, pods(1, **_SLOW), strategy={"type": "Recreate"})),
            _apply(web(3, pods(2, **_SLOW), strategy={"type": "Recreate"})),
        ]
    ),
    "a paused Deployment": Scene(
        [
            _apply(web(2, pods(1, **_QUICK), strategy=rolling(1, 0))),
            _apply(web(4, pods(2, **_QUICK), strategy=rolling(1, 0), paused=True)),
            Patch("Deployment", "web", {"spec": {"paused": False}}),
        ]
    ),
    "an update that misses its deadline, and is taken back": Scene(
        [
            _apply(web(2, pods(1, **_QUICK), strategy=rolling(1, 0), progressDeadlineSeconds=4)),
            _apply(web(2, pods(2, ready="1h"), strategy=rolling(1, 0), progressDeadlineSeconds=4)),
            After(9.0, _apply(web(2, pods(1, **_QUICK), strategy=rolling(1, 0), progressDeadlineSeconds=4))),
        ]
    ),
    "only the last revisions": Scene(
        [_apply(web(1, pods(number), revisionHistoryLimit=1)) for number in (1, 2, 3, 4)],
    ),
    "a Deployment that waits until pods are available": Scene(
        [
            _apply(web(2, pods(1), strategy=rolling(1, 0), minReadySeconds=2)),
            _apply(web(2, pods(2), strategy=rolling(1, 0), minReadySeconds=2)),
        ]
    ),
    "a Deployment of no pods, and of some": Scene(
        [_apply(web(0, pods(1))), _apply(web(0, pods(2))), _sized("Deployment", "web", 2)]
    ),
    "one pod on each node": Scene(
        [
            _apply(
                web(
                    3,
                    pods(
                        1,
                        **own_node(),
                        spread=[
                            {
                                "maxSkew": 1,
                                "topologyKey": "kubernetes.io/hostname",
                                "whenUnsatisfiable": "DoNotSchedule",
                                "labelSelector": {"matchLabels": {"app": "web"}},
                            }
                        ],
                    ),
                )
            ),
            _sized("Deployment", "web", 6),
        ],
        nodes=3,
        form=Form(placed=True),
    ),
}

_STATEFUL_SETS = {
    "a StatefulSet in order": Scene(
        [_apply(db(3, pods(**_SLOW))), _sized("StatefulSet", "db", 1), _sized("StatefulSet", "db", 2)]
    ),
    "a StatefulSet side by side": Scene(
        [
            _apply(db(3, pods(**_QUICK), "Parallel")),
            _sized("StatefulSet", "db", 1),
            _sized("StatefulSet", "db", 4),
        ]
    ),
    "a rolling update of a StatefulSet": Scene([_apply(db(3, pods(1, **_SLOW))), _apply(db(3, pods(2, **_SLOW)))]),
    "a rolling update of a StatefulSet side by side": Scene(
        [_apply(db(3, pods(1, **_SLOW), "Parallel")), _apply(db(3, pods(2, **_SLOW), "Parallel"))]
    ),
    "a partition": Scene(
        [
            _apply(db(3, pods(1, **_SLOW))),
            _apply(db(3, pods(2, **_SLOW), updateStrategy=_partition(2))),
            DeletePods("db", 1),
            _apply(db(3, pods(2, **_SLOW), updateStrategy=_partition(0))),
        ]
    ),
    "a StatefulSet that is updated on deletion": Scene(
        [
            _apply(db(2, pods(1, **_QUICK), updateStrategy={"type": "OnDelete"})),
            _apply(db(2, pods(2, **_QUICK), updateStrategy={"type": "OnDelete"})),
            DeletePods("db", 1),
            _sized("StatefulSet", "db", 3),
        ]
    ),
    "a StatefulSet with a first ordinal that is taken back": Scene(
        [
            _apply(db(2, pods(1, **_QUICK), ordinals={"start": 3})),
            _apply(db(2, pods(2, **_QUICK), ordinals={"start": 3})),
            _apply(db(2, pods(1, **_QUICK), ordinals={"start": 3})),
        ]
    ),
    "a StatefulSet waits for its first pod": Scene(
        [_apply(db(2, pods(ready="6s"))), After(3.0, _sized("StatefulSet", "db", 3)), DeletePods("db", 3)]
    ),
    "a StatefulSet whose pods are available after a while": Scene(
        [_apply(db(2, pods(1), minReadySeconds=2)), _apply(db(2, pods(2), minReadySeconds=2))]
    ),
}

_DAEMON_SETS = {
    "a DaemonSet is updated node by node": Scene(
        [_apply(agent(pods(1, **_SLOW, **own_node()))), _apply(agent(pods(2, **_SLOW, **own_node())))],
        nodes=3,
    ),
    "a DaemonSet is updated on two nodes at a time": Scene(
        [
            _apply(agent(pods(1, **_QUICK, **own_node()), updateStrategy=_few("maxUnavailable", 2))),
            _apply(agent(pods(2, **_QUICK, **own_node()), updateStrategy=_few("maxUnavailable", 2))),
        ],
        nodes=4,
    ),
    "a DaemonSet with new pods beside the old ones": Scene(
        [
            _apply(agent(pods(1, **_SLOW, **own_node()), updateStrategy=_few("maxSurge", 1))),
            _apply(agent(pods(2, **_SLOW, **own_node()), updateStrategy=_few("maxSurge", 1))),
        ],
        nodes=3,
    ),
    "a DaemonSet that is updated on deletion": Scene(
        [
            _apply(agent(pods(1, **_SLOW, **own_node()), updateStrategy={"type": "OnDelete"})),
            _apply(agent(pods(2, **_SLOW, **own_node()), updateStrategy={"type": "OnDelete"})),
            DeletePods("agent", 2),
        ],
        nodes=3,
    ),
    "a DaemonSet follows the labels of nodes": Scene(
        [
            _apply(agent(pods(1, **_QUICK, **own_node() | {"node_selector": {"scene": OWN, "disk": "ssd"}}))),
            _labelled(1, {"disk": "ssd"}),
            _labelled(2, {"disk": "ssd"}),
            _labelled(1, {"disk": None}),
        ],
        nodes=2,
        form=Form(placed=True),
    ),
    "a DaemonSet follows the taints of nodes": Scene(
        [
            _apply(agent(pods(1, **_QUICK, **own_node() | {"tolerations": [_TOLERATES]}))),
            _tainted(1, "NoSchedule"),
            _tainted(2, "NoExecute"),
            _tainted(2),
        ],
        nodes=2,
        form=Form(placed=True),
    ),
    "a DaemonSet on cordoned nodes": Scene(
        [
            Patch("Node", f"{OWN}-1", {"spec": {"unschedulable": True}}),
            _apply(agent(pods(1, **_QUICK, **own_node() | {"tolerations": [_TOLERATES]}))),
        ],
        nodes=2,
        form=Form(placed=True),
    ),
    "a DaemonSet is rolled back": Scene(
        [_apply(agent(pods(number, ready="2s", **own_node()))) for number in (1, 2, 1)], nodes=2
    ),
}

WORKLOADS = _REPLICA_SETS | _DEPLOYMENTS | _STATEFUL_SETS | _DAEMON_SETS
