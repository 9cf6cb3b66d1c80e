"""Workloads that a real API server takes, and what has become of them."""

from __future__ import annotations

from typing import Any

from builders import Object, a_container, a_deployment, a_pdb, a_pod, a_replica_set, a_workload
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until


def a_template(
    app: str, *, cpu: str | None = "100m", memory: str | None = "64Mi", images: list[str] | None = None, **pod: Any
) -> Object:
    """A pod template labelled ``app``; ``pod`` are arguments of ``builders.a_pod``: annotations, affinity, spread..."""
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    containers = [
        a_container(f"c{number}", image=image, requests=requests if number == 0 else None)
        for number, image in enumerate(images or ["example/app:1"])
    ]
    labels = {"app": app} | pod.pop("labels", {})
    made = a_pod("", containers=containers, labels=labels, **pod)
    told = {name: value for name, value in made["metadata"].items() if name in ("labels", "annotations")}
    return {"metadata": told, "spec": made["spec"]}


def deployment(name: str, replicas: int = 1, *, namespace: str = "default", **pod: Any) -> Object:
    """A Deployment whose pods are labelled ``app: NAME``; ``pod`` are arguments of ``a_template``."""
    made = a_deployment(name, namespace=namespace, replicas=replicas, selector={"matchLabels": {"app": name}})
    return _with_template(made, a_template(name, **pod))


def replica_set(name: str, replicas: int = 1, *, namespace: str = "default", **pod: Any) -> Object:
    """A ReplicaSet of its own."""
    made = a_replica_set(name, namespace=namespace, replicas=replicas, selector={"matchLabels": {"app": name}})
    return _with_template(made, a_template(name, **pod))


def stateful_set(name: str, replicas: int = 1, *, namespace: str = "default", **pod: Any) -> Object:
    """A StatefulSet that creates its pods side by side."""
    spec = {"serviceName": name, "podManagementPolicy": "Parallel"}
    selector = {"matchLabels": {"app": name}}
    made = a_workload("StatefulSet", name, namespace=namespace, replicas=replicas, selector=selector, spec=spec)
    return _with_template(made, a_template(name, **pod))


def daemon_set(name: str, *, namespace: str = "default", **pod: Any) -> Object:
    """A DaemonSet."""
    made = a_workload("DaemonSet", name, namespace=namespace, selector={"matchLabels": {"app": name}})
    return _with_template(made, a_template(name, **pod))


def job(name: str, completions: int = 1, *, namespace: str = "default", **pod: Any) -> Object:
    """A Job whose pods run side by side."""
    spec = {"completions": completions, "parallelism": completions}
    made = a_workload("Job", name, namespace=namespace, spec=spec)
    return _with_template(made, a_template(name, spec={"restartPolicy": "Never"}, **pod))


def budget(name: str, app: str, *, namespace: str = "default", **rule: Any) -> Object:
    """A PodDisruptionBudget over the pods of an app: ``min_available=2``, ``max_unavailable="50%"``."""
    made = a_pdb(name, namespace=namespace, selector={"matchLabels": {"app": app}}, **rule)
    del made["status"]
    return made


def pods_of(rest: Rest, app: str, namespace: str = "default") -> list[Object]:
    """Its pods that are there and not terminating, by name."""
    pods = rest.items("Pod", namespace, labels=f"app={app}")
    staying = (pod for pod in pods if "deletionTimestamp" not in pod["metadata"])
    return sorted(staying, key=lambda pod: pod["metadata"]["name"])


def is_ready(pod: Object) -> bool:
    """Whether its condition Ready says so."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def wait_for_ready(rest: Rest, app: str, count: int, namespace: str = "default", timeout: float = 60.0) -> list[Object]:
    """Exactly so many ready pods of an app, once there are as many and no others, not even terminating ones."""

    def settled() -> list[Object]:
        pods = rest.items("Pod", namespace, labels=f"app={app}")
        done = len(pods) == count and all(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)
        return pods if done else []

    try:
        return wait_until(f"{count} pods of {app} are ready", settled, timeout)
    except TimeoutError as error:
        pods = rest.items("Pod", namespace, labels=f"app={app}")
        raise TimeoutError("\n".join([str(error), *map(_described, pods)])) from None


def _described(pod: Object) -> str:
    """What a person asks first about a pod that is not as it should be."""
    conditions = pod["status"].get("conditions", ())
    said = [f"{each['type']}={each['status']} {each.get('message', '')}".strip() for each in conditions]
    leaving = " terminating" if "deletionTimestamp" in pod["metadata"] else ""
    node = pod["spec"].get("nodeName", "nowhere")
    return f"{name_of(pod)} on {node}: {pod['status'].get('phase')}{leaving}; {', '.join(said)}"


def _with_template(workload: Object, template: Object) -> Object:
    workload["spec"]["template"] = template
    return workload
