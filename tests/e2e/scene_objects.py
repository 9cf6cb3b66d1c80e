"""Workloads of scenes: small ones, whose pods take their time in the real cluster and in the simulated one."""

from __future__ import annotations

from typing import Any

from builders import Object, a_workload
from e2e.workloads import a_template, daemon_set, deployment, job, replica_set, stateful_set
from restow.simulating.kubelets import DELETE_DELAY, EXIT_CODE, READY_DELAY, RUN_FOR

_SMALL = {"cpu": "10m", "memory": "16Mi"}


def pods(version: int = 1, *, ready: str = "", run: str = "", delete: str = "", **more: Any) -> Object:
    """Arguments for the pods of a workload: the version of their image, and how long they take for what."""
    told = (
        (ready, "test/ready-delay", READY_DELAY),
        (run, "test/complete-delay", RUN_FOR),
        (delete, "test/delete-delay", DELETE_DELAY),
    )
    annotations = {name: time for time, *names in told for name in names if time}
    annotations |= more.pop("annotations", {})
    return _SMALL | {"images": [f"example/app:{version}"], "annotations": annotations} | more


def failing(code: int = 1, **more: Any) -> Object:
    """Arguments for the pods of a Job that fail after they have run."""
    return pods(annotations={"test/exit-code": str(code), EXIT_CODE: str(code)}, **more)


def web(replicas: int, of: Object, **spec: Any) -> Object:
    """A Deployment ``web``."""
    return _with(deployment("web", replicas, **of), spec)


def rolling(surge: int | str, unavailable: int | str) -> Object:
    """The strategy of a rolling update."""
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def replicas(count: int, of: Object, **spec: Any) -> Object:
    """A ReplicaSet ``web``."""
    return _with(replica_set("web", count, **of), spec)


def replication(count: int, of: Object, **spec: Any) -> Object:
    """A ReplicationController ``web``."""
    made = a_workload("ReplicationController", "web", replicas=count, selector={"app": "web"})
    return _with(made, {"template": a_template("web", **of)} | spec)


def db(count: int, of: Object, policy: str = "OrderedReady", **spec: Any) -> Object:
    """A StatefulSet ``db``."""
    return _with(stateful_set("db", count, **of), {"podManagementPolicy": policy} | spec)


def agent(of: Object, **spec: Any) -> Object:
    """A DaemonSet ``agent``."""
    return _with(daemon_set("agent", **of), spec)


def work(of: Object, completions: int | None = 1, parallelism: int = 1, **spec: Any) -> Object:
    """A Job ``sum``."""
    made = job("sum", **of)
    sizes = {"parallelism": parallelism} | ({} if completions is None else {"completions": completions})
    del made["spec"]["completions"]
    return _with(made, sizes | spec)


def nightly(of: Object, schedule: str = "* * * * *", job_spec: Object | None = None, **spec: Any) -> Object:
    """A CronJob ``tick``."""
    template = {"spec": {"template": job("tick", **of)["spec"]["template"]} | (job_spec or {})}
    return a_workload("CronJob", "tick", spec={"schedule": schedule, "jobTemplate": template} | spec)


def bare(name: str, app: str, of: Object) -> Object:
    """A pod of nobody."""
    template = a_template(app, **of)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | {"name": name}} | {
        "spec": template["spec"]
    }


def _with(document: Object, spec: Object) -> Object:
    return document | {"spec": document["spec"] | spec}
