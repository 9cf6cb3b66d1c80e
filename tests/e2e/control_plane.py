"""A real Kubernetes control plane on 127.0.0.1, as plain processes: only the kubelets are played, by kwok.

    with ControlPlane(directory) as plane:
        plane.add_nodes(5)
        plane.admin.create(a_running_deployment("web", replicas=6))
        plane.kubeconfig            # of an administrator
        plane.kubeconfig_for(plane.service_account("restow"))
        plane.kill("kube-apiserver"); plane.restart("kube-apiserver")

Ready after a few seconds. Everything dies with the process that started it, and with ``stop``.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from builders import Object
from e2e.audit import AuditLog
from e2e.binaries import binaries
from e2e.certificates import make_certificates
from e2e.child import Child
from e2e.components import COMPONENTS, ENVIRONMENT, Settings
from e2e.fake_nodes import GUARD, a_fake_node, is_cordoned, is_usable
from e2e.health import is_healthy, is_listening, is_ready
from e2e.identities import USERS, write_kubeconfig, write_tokens
from e2e.kinds import collection, path_of
from e2e.layout import Layout, Ports
from e2e.ports import free_ports
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until

#: Seconds for any step of the start, on busy cores.
_PATIENCE = 90.0
#: Kinds that would create pods again, from the outside in, and budgets.
_OWNERS = (
    "CronJob",
    "Job",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "PodDisruptionBudget",
)
_DIRECT = ("etcd", "kube-apiserver")
#: Ends if the API server is not ready within ten seconds.
_IMPATIENT = "kube-controller-manager"


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, or only some of these ``programs``.

    A context manager, for one use. Raises FileNotFoundError where they are not built.
    """

    def __init__(
        self, directory: Path, settings: Settings | None = None, programs: Sequence[str] = tuple(COMPONENTS)
    ) -> None:
        self._settings = settings or Settings()
        #: What runs, in the order in which one needs the other.
        self.programs = tuple(programs)
        certificates = make_certificates(directory)
        #: Its directory, ports, log files.
        self.layout = Layout(directory, binaries(), Ports(*free_ports(6)), certificates)
        self._tokens = write_tokens(self.layout.tokens)
        for user in USERS:
            self._write(self.layout.kubeconfig(user), self._tokens[user])
        self._callers: list[Rest] = []
        #: An administrator's calls.
        self.admin = self.rest(self._tokens["admin"])
        self.audit = AuditLog(self.layout.audit_log)
        self._children = {name: self._child(name) for name in self.programs}

    @property
    def kubeconfig(self) -> Path:
        """An administrator's."""
        return self.layout.kubeconfig("admin")

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Everything, in the order in which one needs the other; returns when pods can be created."""
        for name in _DIRECT:
            self._children[name].start()
        self._wait("the API server listens", partial(is_listening, self.admin), *_DIRECT)
        others = [name for name in self.programs if name not in _DIRECT]
        for name in others:
            if name != _IMPATIENT:
                self._children[name].start()
        self._wait("the API server is ready", partial(is_ready, self.admin), *_DIRECT)
        for each in GUARD:
            if self.admin.find(each["kind"], name_of(each)) is None:
                self.admin.create(each)
        if _IMPATIENT in others:
            self._children[_IMPATIENT].start()
        for name in others:
            self._wait(f"{name} is healthy", partial(is_healthy, self.layout, name), name)
        if _IMPATIENT in others:
            self.wait_for_accounts("default")

    def stop(self) -> None:
        """Ends all of them at once, and removes the data; the logs stay."""
        self._hang_up()
        for child in reversed(self._children.values()):
            child.kill()
        shutil.rmtree(self.layout.directory / "etcd", ignore_errors=True)

    def kill(self, component: str) -> None:
        """SIGKILL, and waits for its end. ``component`` is a program's name: ``"kube-apiserver"``."""
        self._children[component].kill()
        self._hang_up()

    def pause(self, component: str) -> None:
        """It stands still; not for kube-controller-manager, which then creates pods twice."""
        self._children[component].send(signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """It goes on."""
        self._children[component].send(signal.SIGCONT)

    def restart(self, component: str, *, wait: bool = True) -> None:
        """Starts it again, on the same port, after killing it if it runs; returns when it is healthy."""
        child = self._children[component]
        child.kill()
        child.start()
        if wait:
            self.wait_for(component)

    def wait_for(self, component: str) -> None:
        """Until a program is healthy."""
        healthy = partial(is_ready, self.admin) if component == "kube-apiserver" else self._health_of(component)
        self._wait(f"{component} is healthy", healthy, component)

    def log(self, component: str) -> str:
        """All that a program has printed."""
        return self.layout.log(component).read_text(errors="replace")

    def pid(self, component: str) -> int:
        """Raises RuntimeError where it does not run."""
        return self._children[component].pid

    def rest(self, token: str) -> Rest:
        """The calls of whomever a token belongs to."""
        made = Rest(self.layout.server, self.layout.certificates.authority.certificate, token)
        self._callers.append(made)
        return made

    def service_account(self, name: str, namespace: str = "default", *, roles: tuple[str, ...] = ()) -> str:
        """Creates one, bound to these ClusterRoles, and returns a token of it, which lasts an hour."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        self.admin.create(account)
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        for role in roles:
            self.admin.create(
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": f"{namespace}-{name}-{role}"},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                    "subjects": [subject],
                }
            )
        return self.token_of(name, namespace)

    def token_of(self, account: str, namespace: str = "default", *, seconds: int = 3600) -> str:
        """A new token of a service account; the API server grants no less than ten minutes."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        answer = self.admin.call("POST", f"{path_of('ServiceAccount', account, namespace)}/token", request)
        token: str = answer["status"]["token"]
        return token

    def kubeconfig_for(self, token: str, name: str = "account") -> Path:
        """A kubeconfig, called NAME.kubeconfig, with a token in it."""
        return self._write(self.layout.kubeconfig(name), token)

    def add_nodes(self, count: int, **features: Any) -> list[str]:
        """Creates nodes ``node-1``, ``node-2``... after those that are there, and waits until pods can go there.

        They are spread over three zones; ``features`` are arguments of ``a_fake_node``.
        """
        there = len(self.admin.items("Node"))
        names = [f"node-{there + number}" for number in range(1, count + 1)]
        zones = ("abc"[(there + number) % 3] for number in range(count))
        nodes = [a_fake_node(name, **({"zone": zone} | features)) for name, zone in zip(names, zones, strict=True)]
        self.admin.create_all(nodes)
        self.wait_for_nodes(names)
        return names

    @contextmanager
    def cordoned(self, names: list[str]) -> Iterator[None]:
        """No new pods go to these nodes meanwhile: what is created then, is crowded on the others."""
        for name in names:
            self.admin.patch("Node", name, {"spec": {"unschedulable": True}})
        self._wait_for_taints(names, present=True)
        yield
        for name in names:
            self.admin.patch("Node", name, {"spec": {"unschedulable": None}})
        self._wait_for_taints(names, present=False)

    def wait_for_nodes(self, names: list[str]) -> None:
        """Until all of them are ready and untainted by those who watch over readiness."""

        def usable() -> bool:
            return set(names) <= {name_of(each) for each in self.admin.items("Node") if is_usable(each)}

        wait_until(f"{len(names)} nodes are usable", usable, _PATIENCE)

    def namespace(self, name: str, *, labels: Object | None = None) -> str:
        """Creates one where pods can be created."""
        metadata = {"name": name, "labels": labels or {}}
        self.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        self.wait_for_accounts(name)
        return name

    def clear(self, namespace: str, timeout: float = 30.0) -> None:
        """Deletes all workloads, budgets and pods of a namespace, and waits until no pod is left."""
        for kind in _OWNERS:
            self.admin.call("DELETE", collection(kind, namespace), {"propagationPolicy": "Background"})
        self.admin.call("DELETE", collection("Pod", namespace), {"gracePeriodSeconds": 0})
        wait_until(f"{namespace} has no pods", lambda: not self.admin.items("Pod", namespace), timeout)

    def wait_for_accounts(self, namespace: str) -> None:
        """Until there is the service account that pods have unless they name another."""
        account = partial(self.admin.find, "ServiceAccount", "default", namespace)
        self._wait(f"there is the service account {namespace}/default", account, "kube-controller-manager")

    def _hang_up(self) -> None:
        for caller in self._callers:
            caller.close()

    def _wait_for_taints(self, names: list[str], *, present: bool) -> None:
        def seen() -> bool:
            return all(is_cordoned(each) == present for each in self.admin.items("Node") if name_of(each) in names)

        wait_until(f"{names} are cordoned: {present}", seen)

    def _wait(self, what: str, look: Callable[[], object], *needed: str) -> None:
        def seen() -> object:
            for name in needed:
                self._children[name].check()
            return look()

        wait_until(what, seen, _PATIENCE)

    def _health_of(self, component: str) -> partial[bool]:
        return partial(is_healthy, self.layout, component)

    def _child(self, component: str) -> Child:
        flags = COMPONENTS[component](self.layout, self._settings)
        command = [str(self.layout.binaries / component), *flags]
        return Child(command, self.layout.log(component), environment=os.environ | ENVIRONMENT)

    def _write(self, file: Path, token: str) -> Path:
        authority = self.layout.certificates.authority.certificate
        return write_kubeconfig(file, self.layout.server, authority, {"token": token})
