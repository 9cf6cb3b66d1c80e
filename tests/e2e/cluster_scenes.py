"""Scenes of disruption budgets, of nodes in trouble, and of what goes with its owner."""

from __future__ import annotations

from builders import Object
from e2e.histories import Form
from e2e.scene_objects import agent, bare, db, pods, replicas, rolling, web, work
from e2e.scene_steps import OWN, After, Apply, Delete, DeletePods, Patch, Scene, Unready, own_node
from e2e.workloads import budget

_SLOW: Object = {"ready": "2s"}
_ENDING: Object = {"ready": "2s", "delete": "2s"}
#: The namespace controller waits for half of this grace period.
_BRIEF: Object = pods(ready="2s", delete="1s", spec={"terminationGracePeriodSeconds": 4})
_PLACED = Form(placed=True)


def _apply(*documents: Object) -> Apply:
    return Apply(documents)


def _evict(app: str, answers: int = 201) -> DeletePods:
    return DeletePods(app, by_eviction=True, answers=answers)


def _tolerating(**seconds: int) -> Object:
    """Pods of a scene's nodes that tolerate trouble for so many seconds."""
    own = own_node()
    words = {"unready": "node.kubernetes.io/not-ready", "broken": "broken"}
    more = [
        {"key": words[word], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": time}
        for word, time in seconds.items()
    ]
    scene = {"key": "scene", "operator": "Exists", "effect": "NoSchedule"}
    return own | {"tolerations": [scene, *more]}


def _tainted(key: str = "", *more: str) -> Patch:
    """The first node of a scene with a taint that drives pods away, and with more effects of it."""
    scene = {"key": "scene", "value": OWN, "effect": "NoSchedule"}
    told = [scene, *({"key": key, "effect": effect} for effect in ("NoExecute", *more) if key)]
    return Patch("Node", f"{OWN}-1", {"spec": {"taints": told}})


_BUDGETS = {
    "a budget over a ReplicaSet": Scene(
        [
            _apply(replicas(4, pods(**_SLOW)), budget("web", "web", max_unavailable="30%")),
            Patch("ReplicaSet", "web", {"spec": {"replicas": 2}}),
        ]
    ),
    "evictions that a budget allows, and one that it does not": Scene(
        [
            _apply(web(3, pods(**_SLOW)), budget("web", "web", min_available=2)),
            _evict("web"),
            After(0.5, _evict("web", 429)),
            _evict("web"),
        ]
    ),
    "a budget by percentage over a StatefulSet": Scene(
        [_apply(db(3, pods(**_SLOW), "Parallel"), budget("db", "db", min_available="50%")), _evict("db")]
    ),
    "a budget over pods of nobody": Scene(
        [
            _apply(budget("lone", "lone", min_available=1), *(bare(f"p{each}", "lone", pods()) for each in range(2))),
            _evict("lone"),
            _evict("lone", 429),
        ]
    ),
    "a budget whose pods have no scale": Scene(
        [_apply(bare("p", "lone", pods()), budget("lone", "lone", max_unavailable=1)), _evict("lone", 429)]
    ),
    "a budget that changes": Scene(
        [
            _apply(web(2, pods()), budget("web", "web", max_unavailable=0)),
            _evict("web", 429),
            _apply(budget("web", "web", max_unavailable=1)),
            _evict("web"),
        ]
    ),
    "pods that are not ready may go": Scene(
        [
            _apply(
                web(2, pods(ready="1h")),
                budget("web", "web", min_available=1, unhealthy_pod_eviction_policy="AlwaysAllow"),
            ),
            After(3.0, _evict("web")),
        ],
        lasts=3,
    ),
}

_NODES = {
    "pods leave a tainted node": Scene(
        [_apply(web(2, pods(**_SLOW, **_tolerating()))), _tainted("broken")],
        nodes=1,
        lasts=5,
    ),
    "pods leave a tainted node when their time is over": Scene(
        [
            _apply(web(2, pods(**_SLOW, **_tolerating(broken=3)))),
            _tainted("broken", "NoSchedule"),
        ],
        nodes=1,
        lasts=8,
    ),
    "a taint that goes in time": Scene(
        [
            _apply(web(2, pods(**_SLOW, **_tolerating(broken=4)))),
            _tainted("broken"),
            After(2.0, _tainted()),
        ],
        nodes=1,
    ),
    "a node that is not ready": Scene(
        [
            _apply(web(2, pods(**_SLOW, **_tolerating(unready=3)))),
            Unready(f"{OWN}-1"),
        ],
        nodes=1,
        lasts=8,
    ),
    "a node that is ready again in time": Scene(
        [
            _apply(web(2, pods(**_SLOW, **_tolerating(unready=30)))),
            Unready(f"{OWN}-1"),
            After(4.0, Unready(f"{OWN}-1", ready=True)),
        ],
        nodes=1,
    ),
    "a DaemonSet stays on a node that is not ready": Scene(
        [
            _apply(agent(pods(**_SLOW, **_tolerating()))),
            Unready(f"{OWN}-1"),
        ],
        nodes=2,
        form=_PLACED,
        lasts=8,
    ),
    "a cordoned node": Scene(
        [
            _apply(web(1, pods(**_SLOW, **_tolerating()))),
            Patch("Node", f"{OWN}-1", {"spec": {"unschedulable": True}}),
            Patch("Deployment", "web", {"spec": {"replicas": 2}}),
            After(3.0, Patch("Node", f"{OWN}-1", {"spec": {"unschedulable": None}})),
        ],
        nodes=1,
    ),
    "pods whose node is gone": Scene(
        [
            _apply(web(2, pods(**_SLOW, **_tolerating())), agent(pods(**_tolerating()))),
            Delete("Node", f"{OWN}-1"),
        ],
        nodes=1,
        lasts=70,
        long=True,
    ),
}

_OWNERS = {
    "a Deployment is deleted": Scene(
        [_apply(web(2, pods(**_ENDING))), Delete("Deployment", "web")],
    ),
    "a Deployment is deleted, and its ReplicaSet stays": Scene(
        [_apply(web(2, pods(**_SLOW))), Delete("Deployment", "web", "Orphan")],
    ),
    "a Deployment finds its ReplicaSet again": Scene(
        [
            _apply(web(2, pods(**_SLOW), strategy=rolling(1, 0))),
            Delete("Deployment", "web", "Orphan"),
            _apply(web(2, pods(**_SLOW), strategy=rolling(1, 0))),
        ],
    ),
    "a ReplicaSet is deleted, and its pods stay": Scene(
        [
            _apply(replicas(2, pods(**_SLOW))),
            Delete("ReplicaSet", "web", "Orphan"),
            _apply(replicas(1, pods(**_SLOW))),
        ],
    ),
    "a Deployment is deleted after what it owns": Scene(
        [_apply(web(2, pods(**_ENDING))), Delete("Deployment", "web", "Foreground")],
    ),
    "a StatefulSet is deleted after its pods": Scene(
        [_apply(db(2, pods(**_ENDING), "Parallel")), Delete("StatefulSet", "db", "Foreground")],
        # As long as the StatefulSet is there, its controller makes the revision anew that the collector deletes.
        form=Form(silent=frozenset(("ControllerRevision",))),
    ),
    "a Job is deleted after its pods": Scene(
        [_apply(work(pods(run="1h", delete="3s"), 2, 2)), After(3.0, Delete("Job", "sum", "Foreground"))],
    ),
    "a namespace is deleted": Scene(
        [
            _apply(web(2, _BRIEF), db(1, _BRIEF), bare("lone", "lone", _BRIEF)),
            Delete("Namespace", OWN),
        ],
    ),
}

CLUSTER = _BUDGETS | _NODES | _OWNERS
