"""A cluster with each veto of another controller, as the dump ``tests/dumps/vetoes`` has it.

    PYTHONPATH=tests .venv/bin/python -m oracle.vetoes

writes the dump anew, and beside it what the real Descheduler evicts.
"""

from __future__ import annotations

import json
from pathlib import Path

from builders import NOW, Object, a_node, a_pdb, a_pod, a_replica_set, a_service
from oracle.oracle_process import OracleProcess, oracle_binary

FOLDER = Path(__file__).resolve().parents[1] / "dumps" / "vetoes"
_OLD = "2025-12-31T23:50:00Z"
_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_DISRUPT = "karpenter.sh/do-not-disrupt"

#: Annotations of a pod, by its name.
_ANNOTATED: dict[str, Object] = {
    "do-not-disrupt": {_DISRUPT: "true"},
    "do-not-disrupt-30m": {_DISRUPT: "30m"},
    "do-not-disrupt-5m-over": {_DISRUPT: "5m"},
    "not-safe-to-evict": {_SAFE: "false"},
    "unsafe-volume": {f"{_SAFE}-local-volumes": "tmp"},
    "safe-volumes": {f"{_SAFE}-local-volumes": "data"},
    "eviction-in-progress": {"descheduler.alpha.kubernetes.io/eviction-in-progress": ""},
    "prefer-no-eviction": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""},
    "nothing-forbidden": {},
}


def objects() -> list[Object]:
    """Nodes, pods, a migration, and a Service without which scores would not be known."""
    return [
        *_nodes(),
        *_annotated(),
        *_machines(),
        *_busy(),
        a_service("none", namespace="held", selector={"no": "pod"}),
        a_pdb("none", namespace="held", selector={"matchLabels": {"no": "pod"}}),
        *(a_replica_set(name, namespace="held", replicas=1) for name in (*_ANNOTATED, "on-a-kept-node")),
        a_replica_set("web", namespace="web", replicas=5),
    ]


def policy() -> Object:
    """Moves all old pods of the namespace held, and levels the other pods by what they request."""
    level = {"thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 50}, "evictableNamespaces": {"exclude": ["held"]}}
    old = {"maxPodLifeTimeSeconds": 60, "namespaces": {"include": ["held"]}}
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            _profile("old", "deschedule", "PodLifeTime", old),
            _profile("level", "balance", "LowNodeUtilization", level),
        ],
    }


def _profile(name: str, point: str, strategy: str, args: Object) -> Object:
    evictor = {"name": "DefaultEvictor", "args": {"evictLocalStoragePods": True}}
    config = [evictor, {"name": strategy, "args": args}]
    return {"name": name, "pluginConfig": config, "plugins": {point: {"enabled": [strategy]}}}


def _nodes() -> list[Object]:
    return [
        a_node("busy"),
        a_node("free", cpu="8"),
        a_node("kept", annotations={_DISRUPT: "true"}),
        a_node("leaving", cpu="16", taints=["DeletionCandidateOfClusterAutoscaler=1767225600:PreferNoSchedule"]),
        a_node(
            "virtual", cpu="64", labels={"type": "virtual-kubelet"}, taints=["virtual-kubelet.io/provider=x:NoSchedule"]
        ),
    ]


def _annotated() -> list[Object]:
    data = [{"name": "data", "emptyDir": {}}]
    held = [
        _pod(name, annotations=found, volumes=data if "volume" in name else None) for name, found in _ANNOTATED.items()
    ]
    return [*held, _pod("on-a-kept-node", node="kept")]


def _pod(name: str, *, node: str = "free", **given: object) -> Object:
    return a_pod(name, namespace="held", node=node, owner=("ReplicaSet", name), started=_OLD, phase="Running", **given)  # type: ignore[arg-type]


def _machines() -> list[Object]:
    """Launchers: of a machine with two, of one that a migration waits for, and of one that was just migrated."""
    waits = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "waits", "namespace": "held"},
        "spec": {"vmiName": "third"},
        "status": {"phase": "Pending"},
    }
    return [
        _launcher("migrates-from", "first"),
        _launcher("migrates-to", "first", node="busy", made=True),
        _launcher("just-migrated", "second", made=True),
        _launcher("waits-for-migration", "third"),
        waits,
    ]


def _launcher(name: str, machine: str, *, node: str = "free", made: bool = False) -> Object:
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": f"uid-{machine}"}
    labels |= {"kubevirt.io/migrationJobUID": "uid-of-the-migration"} if made else {}
    owner = ("VirtualMachineInstance", machine, f"uid-{machine}")
    return a_pod(name, namespace="held", node=node, owner=owner, labels=labels, started=_OLD, phase="Running")


def _busy() -> list[Object]:
    return [
        a_pod(f"web-{at}", namespace="web", node="busy", cpu="600m", owner=("ReplicaSet", "web"), phase="Running")
        for at in range(5)
    ]


def evicted(oracle: OracleProcess, cluster: list[Object], rules: Object) -> list[str]:
    """What the real Descheduler evicts; it knows no migrations."""
    known = [each for each in cluster if each["kind"] != "VirtualMachineInstanceMigration"]
    answer = oracle.ask(cluster=known, policy=json.dumps(rules), now=NOW)
    return sorted(answer.runs[0].pods())


def main() -> None:
    """Write the dump and the Descheduler's answer."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with OracleProcess(oracle_binary()) as oracle:
        answer = evicted(oracle, objects(), policy())
    dump = {"apiVersion": "v1", "kind": "List", "items": objects()}
    for name, content in (("cluster", dump), ("policy", policy()), ("descheduler", answer)):
        (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
