"""A small cluster with an object of every kind, and of every field that restow reads one that is set."""

from __future__ import annotations

from builders import (
    HOSTNAME,
    NOW,
    ZONE,
    Object,
    a_condition,
    a_container,
    a_deployment,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_priority_class,
    a_pv,
    a_pvc,
    a_replica_set,
    a_service,
    a_storage_class,
    a_workload,
    ago,
    claim_volume,
    node_affinity,
    node_metrics,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_metrics,
    pod_term,
    selector,
    spread,
    terminated,
    waiting,
)

_APP = selector(labels={"app": "web"})
_GROUP = "storage.k8s.io/v1"


def furnished_objects() -> list[Object]:
    """The objects; pod default/hungry has everything a pod can have."""
    return [*_nodes(), *_pods(), *_workloads(), *_rules(), *_storage(), *_usage()]


def _nodes() -> list[Object]:
    labels = [{HOSTNAME: f"n{at}", ZONE: f"z{at % 2}", "gen": str(at)} for at in range(4)]
    taints = [None, ["gpu=yes:NoSchedule"], ["old:PreferNoSchedule"], ["gone:NoExecute"]]
    return [
        a_node(
            f"n{at}",
            labels=labels[at],
            taints=taints[at],  # type: ignore[arg-type]
            unschedulable=at == 3,
            images={"web": 500_000_000},
            extended={"example.com/gpu": 2, "ephemeral-storage": "10Gi"},
            capacity={"cpu": "5", "memory": "9Gi", "pods": "110"},
            created=NOW,
        )
        for at in range(4)
    ]


def _pods() -> list[Object]:
    plain = [
        a_pod(
            f"web-{at}",
            node=f"n{at % 2}",
            owner=("ReplicaSet", "web"),
            labels={"app": "web"},
            phase="Running",
            created=ago(9000),
        )
        for at in range(6)
    ]
    return [
        *plain,
        _hungry(),
        a_pod("waiting", phase="Pending"),
        a_pod("sick", node="n0", statuses=[waiting("CrashLoopBackOff")]),
    ]


def _hungry() -> Object:
    """Asks for everything that a pod can ask for."""
    return a_pod(
        "hungry",
        node="n1",
        owner=("ReplicaSet", "web"),
        labels={"app": "web", "tier": "back"},
        annotations={
            "descheduler.alpha.kubernetes.io/evict": "true",
            "batch.kubernetes.io/job-index-failure-count": "1",
        },
        priority=3,
        priority_class="high",
        tolerations=["gpu=yes:NoSchedule", {"key": "x", "operator": "Gt", "value": "3", "tolerationSeconds": 30}],
        node_selector={"gen": "1"},
        affinity=node_affinity([node_term(("gen", "Gt", "0"))], [(5, node_term(("gen", "Lt", "9")))])
        | pod_affinity([pod_term(_APP, topology=ZONE)], [(1, pod_term(_APP, namespace_selector={}))])
        | pod_anti_affinity(
            [pod_term(selector(("app", "In", "db")))], [(7, pod_term(_APP, match_label_keys=["tier"]))]
        ),
        spread=[spread(1, ZONE, _APP, min_domains=2, match_label_keys=["tier"], node_taints_policy="Honor")],
        volumes=[claim_volume("data"), {"name": "host", "hostPath": {"path": "/"}}, {"name": "own", "ephemeral": {}}],
        containers=[
            a_container(requests={"cpu": "100m", "memory": "1Gi"}, limits={"cpu": "1"})
            | {
                "name": "main",
                "image": "web",
                "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": ""}],
            }
        ],
        init_containers=[a_container(requests={"cpu": "50m"}) | {"name": "side", "restartPolicy": "Always"}],
        created=ago(10_000),
        phase="Running",
        started=ago(9_999),
        conditions=[a_condition("Ready", "True")],
        statuses=[terminated("Error", exit_code=1, restarts=3) | {"name": "main", "allocatedResources": {"cpu": "1"}}],
        spec={
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
            "schedulingGates": [],
            "resourceClaims": [{"name": "gpu"}],
            "terminationGracePeriodSeconds": 30,
            "preemptionPolicy": "Never",
            "schedulerName": "default-scheduler",
            "hostNetwork": False,
        },
    )


def _workloads() -> list[Object]:
    failure_rule = {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [1, 2]}}
    job = {
        "completions": 3,
        "parallelism": 2,
        "backoffLimit": 6,
        "podFailurePolicy": {
            "rules": [failure_rule, {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        },
    }
    return [
        a_replica_set("web", replicas=7, selector=_APP, deployment="web"),
        a_deployment("web", replicas=7, selector=_APP),
        a_service("web", selector={"app": "web"}),
        a_workload("Job", "batch", spec=job, owner=("CronJob", "nightly")),
        a_workload("CronJob", "nightly", spec={"schedule": "0 1 * * *"}),
        a_workload("StatefulSet", "db", replicas=1, selector=_APP, spec={"serviceName": "db"}),
        a_workload("DaemonSet", "agent", selector=_APP),
        a_workload("ReplicationController", "old", replicas=1, selector={"app": "old"}),
    ]


def _rules() -> list[Object]:
    return [
        a_namespace("default", labels={"team": "red"}, annotations={"restow.dev/eviction": "enabled"}),
        a_pdb("web", selector=_APP, min_available="50%", disruptions_allowed=1, current_healthy=7, expected_pods=7),
        a_priority_class("high", 3, default=True),
        _of(
            "v1",
            "ResourceQuota",
            "team",
            spec={"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}},
            status={"hard": {"pods": "40", "requests.cpu": "20", "limits.memory": "1Ti"}, "used": {"pods": "9"}},
        ),
    ]


def _storage() -> list[Object]:
    return [
        a_pvc("data", storage_class="fast"),
        a_pv("disk", zone="z1", storage_class="fast"),
        a_storage_class("fast", binding="WaitForFirstConsumer")
        | {"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z0", "z1"]}]}]},
        _of(
            _GROUP,
            "CSINode",
            "n1",
            spec={"drivers": [{"name": "csi.example.com", "nodeID": "n1", "allocatable": {"count": 3}}]},
        ),
        _of(_GROUP, "CSIDriver", "csi.example.com", spec={"storageCapacity": True}),
        _of(
            _GROUP,
            "CSIStorageCapacity",
            "cap",
            storageClassName="fast",
            capacity="10Gi",
            maximumVolumeSize="1Gi",
            nodeTopology=_APP,
        ),
        _of(
            _GROUP,
            "VolumeAttachment",
            "attached",
            spec={"attacher": "csi.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "disk"}},
        ),
    ]


def _usage() -> list[Object]:
    return [
        *(node_metrics(f"n{at}", cpu="1500m", memory="3Gi") for at in range(4)),
        pod_metrics("hungry", cpu="1", memory="1Gi"),
    ]


def _of(version: str, kind: str, name: str, **fields: object) -> Object:
    namespace = {"namespace": "default"} if kind in ("CSIStorageCapacity", "ResourceQuota") else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name} | namespace} | fields
