"""The command line of each program of the control plane.

Heartbeats of nodes are never missed (no kubelet sends any), client limits are out of the way, and etcd trusts the
operating system not to crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builders import Object
from e2e.fake_nodes import PROCESSES
from e2e.layout import Layout
from e2e.ports import HOST

_STAGES = Path(__file__).resolve().parent / "stages.yaml"
#: Program paths that need no authorisation.
_OPEN_PATHS = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"
_QPS, _BURST = 5000, 10000
#: For all of them: processors are few where tests run, and memory is there, so garbage is collected less often.
ENVIRONMENT = {"GOGC": "400"}


@dataclass(slots=True, frozen=True)
class Settings:
    """What a test may want otherwise: more flags, and profiles and extenders... of the scheduler's configuration."""

    apiserver: tuple[str, ...] = ()
    controllers: tuple[str, ...] = ()
    kwok: tuple[str, ...] = ()
    scheduler: Object | None = None


def etcd(layout: Layout, settings: Settings) -> list[str]:
    """Flags of etcd."""
    clients = f"http://{HOST}:{layout.ports.etcd}"
    peers = f"http://{HOST}:{layout.ports.etcd_peer}"
    return [
        "--name=test",
        f"--data-dir={layout.directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=test={peers}",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, settings: Settings) -> list[str]:
    """Flags of kube-apiserver: RBAC, aggregation, PodGroups, an audit log of every finished call, and of what evictions say."""
    made = layout.certificates
    evictions = {"level": "Request", "resources": [{"group": "", "resources": ["pods/eviction"]}]}
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"} | {
        "omitStages": ["RequestReceived"],
        "rules": [evictions, {"level": "Metadata"}],
    }
    return [
        f"--etcd-servers=http://{HOST}:{layout.ports.etcd}",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports.apiserver}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={made.serving.certificate}",
        f"--tls-private-key-file={made.serving.key}",
        f"--client-ca-file={made.authority.certificate}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={made.accounts.certificate}",
        f"--service-account-signing-key-file={made.accounts.key}",
        "--allow-privileged=true",
        f"--requestheader-client-ca-file={made.front_proxy_authority.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={made.front_proxy.certificate}",
        f"--proxy-client-key-file={made.front_proxy.key}",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        f"--audit-policy-file={layout.made('audit-policy.json', json.dumps(policy))}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-maxsize=10000",
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
        *settings.apiserver,
    ]


def controllers(layout: Layout, settings: Settings) -> list[str]:
    """Flags of kube-controller-manager."""
    return [
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        *_serving(layout, "kube-controller-manager", layout.ports.controllers),
        "--leader-elect=false",
        f"--root-ca-file={layout.certificates.authority.certificate}",
        f"--service-account-private-key-file={layout.certificates.accounts.key}",
        f"--kube-api-qps={_QPS}",
        f"--kube-api-burst={_BURST}",
        "--concurrent-replicaset-syncs=20",
        "--node-monitor-grace-period=24h",
        "--node-startup-grace-period=24h",
        "--node-eviction-rate=100",
        "--secondary-node-eviction-rate=100",
        "--unhealthy-zone-threshold=1.0",
        *settings.controllers,
    ]


def scheduler(layout: Layout, settings: Settings) -> list[str]:
    """Flags of kube-scheduler, and its configuration."""
    connection = {"kubeconfig": str(layout.kubeconfig("kube-scheduler")), "qps": _QPS, "burst": _BURST}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
    } | (settings.scheduler or {})
    return [
        f"--config={layout.made('kube-scheduler.json', json.dumps(configuration))}",
        *_serving(layout, "kube-scheduler", layout.ports.scheduler),
        "--feature-gates=GenericWorkload=true,GangScheduling=true",
    ]


def kwok(layout: Layout, settings: Settings) -> list[str]:
    """Flags of kwok, which plays all kubelets but those of pods that are processes."""
    options = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {"podPlayStageParallelism": 32, "nodePlayStageParallelism": 8, "nodeLeaseParallelism": 8},
    }
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.made('kwok.json', json.dumps(options))}",
        f"--config={_STAGES}",
        f"--manage-nodes-with-label-selector=!{PROCESSES}",
        f"--node-ip={HOST}",
        f"--node-port={layout.ports.kwok}",
        f"--server-address={HOST}:{layout.ports.kwok}",
        "--cidr=10.128.0.0/9",
        f"--tls-cert-file={layout.certificates.serving.certificate}",
        f"--tls-private-key-file={layout.certificates.serving.key}",
        *settings.kwok,
    ]


def _serving(layout: Layout, name: str, port: int) -> list[str]:
    return [f"--bind-address={HOST}", f"--secure-port={port}", f"--cert-dir={layout.room(name)}", _OPEN_PATHS]


#: By the name of the program.
COMPONENTS: dict[str, Callable[[Layout, Settings], list[str]]] = {
    "etcd": etcd,
    "kube-apiserver": apiserver,
    "kube-controller-manager": controllers,
    "kube-scheduler": scheduler,
    "kwok": kwok,
}
