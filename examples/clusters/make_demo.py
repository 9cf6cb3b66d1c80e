# ruff: noqa: INP001 - a script, no package
"""Write the demo cluster to standard output: ``python examples/clusters/make_demo.py > examples/clusters/demo.json``.

A small web shop, as it stands some weeks after a zone was short of machines: zone a is crowded, zone c has new nodes
that nothing moved to, one node is about to be maintained, and a few applications ended up on one another. Everything
is fixed, so the same version of this file always writes the same bytes.
"""

from __future__ import annotations

import itertools
import sys
from random import Random
from typing import TYPE_CHECKING

from restow.sources.synthetic import write_list
from restow.sources.synthetic.names import DAY, HOSTNAME, ZONE, Machine, ago, node_object
from restow.sources.synthetic.pods import HEALTHY, Life, container, pod_maker
from restow.sources.synthetic.scenarios import namespace_object
from restow.sources.synthetic.system import bound_claim, service_of, storage_class, system_objects
from restow.sources.synthetic.workloads import (
    Kind,
    SyntheticWorkload,
    disruption_budget,
    one_per_node,
    only_in,
    owner_objects,
    priority_class,
    rather_in,
    spread_over,
    workload,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.sources.synthetic.names import Object

SEED = 2026
ZONES = ("eu-1a", "eu-1b", "eu-1c")
GPU = "nvidia.com/gpu"

#: Nodes of the general pool, eight a zone, by how they fared.
CROWDED = [f"general-a-{number}" for number in range(1, 5)]
BUSY = [f"general-a-{number}" for number in range(5, 8)]
BUSY += [f"general-b-{number}" for number in range(1, 9)] + [f"general-c-{number}" for number in range(1, 4)]
#: Joined last week.
NEW = [f"general-c-{number}" for number in range(4, 9)]
LARGE = [f"large-{zone}-{number}" for zone in "abc" for number in (1, 2)]
ACCELERATED = ["gpu-a-1", "gpu-b-1", "gpu-c-1"]
SPOT = ["spot-a-1", "spot-b-1", "spot-c-1"]
#: Will be shut down tomorrow.
MAINTAINED = "large-b-1"
CORDONED = "general-a-8"
LOST = "spot-b-1"

NAMESPACES = (
    "accounts", "analytics", "batch", "ci", "crm", "kube-system", "logistics", "media", "monitoring", "payments",
    "sandbox", "shop",
)  # fmt: skip
PRIORITIES = {"standard": 0, "business-critical": 1_000_000, "batch": -100}
CRITICAL = {"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"}
EVERYWHERE = {"tolerations": [{"operator": "Exists"}]}
SCRATCH = {"volumes": [{"name": "scratch", "emptyDir": {}}]}


class Demo:
    """The cluster while it is being told; objects are collected in the order of their kinds."""

    def __init__(self) -> None:
        self.rng = Random(SEED)  # noqa: S311 - reproducible on purpose
        self.owners: list[Object] = []
        self.pods: list[Object] = []
        #: Milli-CPU requested so far, by node.
        self.load = dict.fromkeys([*CROWDED, *BUSY], 0)

    def run(
        self,
        kind: Kind,
        name: str,
        on: Sequence[str | None],
        cpu: int = 0,
        memory: str = "",
        *,
        rules: Object | None = None,
        priority: str = "standard",
        allowed: int | None = None,
        claims: bool = False,
        lives: Sequence[Life] = (),
        days: int = 21,
    ) -> None:
        """Tell of a controller ``namespace/name`` and of its replicas, one a node of ``on`` (None: pending).

        ``allowed`` gives it a disruption budget; ``lives`` is what its first pods have been through; its pods are
        about ``days`` days old.
        """
        namespace, _, app = name.partition("/")
        requests = ({"cpu": f"{cpu}m"} if cpu else {}) | ({"memory": memory} if memory else {})
        limits = {"memory": memory} if memory else None
        spec = {
            "containers": [container(f"registry.example.com/{namespace}/{app}:1.4", requests, limits)],
            "priority": PRIORITIES[priority],
            "priorityClassName": priority,
            **(rules or {}),
        }
        owner = workload(kind, namespace, app, len(on), spec, rng=self.rng, claim="data" if claims else "")
        self.owners += owner_objects(owner)
        self.owners += service_of(owner)
        if allowed is not None:
            self.owners.append(disruption_budget(owner, allowed, self.rng))
        make = pod_maker(owner, self.rng)
        for replica, (node, life) in enumerate(
            zip(on, itertools.chain(lives, itertools.repeat(HEALTHY)), strict=False)
        ):
            self.claim(owner, replica, node)
            self.pods.append(make(replica, node, self.created(days), life))
            if node in self.load:
                self.load[node] += cpu

    def claim(self, owner: SyntheticWorkload, replica: int, node: str | None) -> None:
        """Bind the claim of a StatefulSet's pod to a volume in the zone where it runs."""
        if owner.claim and node:
            self.owners += bound_claim(owner, replica, self.rng, zone=zone_of(node))

    def created(self, days: int) -> str:
        """A time some hours around so many days ago."""
        return ago(int(days * DAY * (0.8 + 0.4 * self.rng.random())))

    def fill(self, name: str, replicas: int, cpu: int, memory: str) -> None:
        """Run replicas where most is missing to 81 % CPU on crowded and 42 % on busy nodes."""
        on = []
        for _ in range(replicas):
            fresh = [node for node in self.load if node not in on] or list(self.load)
            on.append(max(fresh, key=lambda node: (6300 if node in CROWDED else 3300) - self.load[node]))
            self.load[on[-1]] += cpu
        for node in on:
            self.load[node] -= cpu
        self.run("Deployment", name, on, cpu, memory)


def zone_of(node: str) -> str:
    """Node names carry the letter of their zone."""
    return ZONES["abc".index(node.split("-")[1])]


def machines() -> Iterator[Machine]:
    """Yield the 36 nodes."""
    for name in [*CROWDED, CORDONED, *BUSY, *NEW]:
        yield Machine(name, zone_of(name), 7800, 30 * 1024, unschedulable=name == CORDONED, taints=taints(name))
    for name in LARGE:
        yield Machine(name, zone_of(name), 15_800, 250 * 1024, instance_type="large-16", taints=taints(name))
    for name in ACCELERATED:
        yield Machine(
            name, zone_of(name), 15_800, 60 * 1024, instance_type="gpu-4", taints=taints(name), extended={GPU: "4"}
        )
    for name in SPOT:
        yield Machine(
            name, zone_of(name), 3800, 14 * 1024, instance_type="spot-4", ready=name != LOST, taints=taints(name)
        )


def taints(name: str) -> tuple[Object, ...]:
    """The taints of a node."""
    if name in ACCELERATED:
        return ({"key": GPU, "value": "present", "effect": "NoSchedule"},)
    if name == MAINTAINED:
        return ({"key": "example.com/maintenance", "value": "2026-01-02", "effect": "NoSchedule"},)
    if name == CORDONED:
        return ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},)
    if name == LOST:
        return ({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},)
    return ({"key": "example.com/spot", "effect": "PreferNoSchedule"},) if name in SPOT else ()


def tell_platform(demo: Demo) -> None:
    """What every cluster runs: agents, DNS, ingress, monitoring."""
    everywhere = [machine.name for machine in machines()]
    demo.run("DaemonSet", "kube-system/node-network", everywhere, 50, "64Mi", rules=CRITICAL | EVERYWHERE, days=90)
    exporter = EVERYWHERE | {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}
    demo.run("DaemonSet", "monitoring/node-exporter", everywhere, 20, "32Mi", rules=exporter, days=90)
    demo.run(
        "Deployment", "kube-system/coredns", ["general-a-1", "general-a-2", "large-b-1"], 100, "170Mi", rules=CRITICAL
    )
    demo.run("Deployment", "kube-system/metrics-server", ["general-a-3"], 100, "200Mi", rules=CRITICAL)
    demo.run(
        "Deployment", "kube-system/ingress", ["general-a-4", "general-b-1", "general-c-1"], 500, "512Mi", allowed=1
    )
    demo.run("StatefulSet", "monitoring/prometheus", ["large-a-1", "large-b-1"], 1500, "16Gi", claims=True)
    traced = [*CROWDED, *BUSY, *NEW]
    demo.run("DaemonSet", "monitoring/trace-agent", traced, 30, "64Mi", days=30)
    demo.run("Deployment", "monitoring/grafana", ["general-a-5"], 200, "256Mi", rules=SCRATCH)
    demo.run(
        "StatefulSet", "monitoring/loki", ["large-a-2", "large-b-2", "large-c-1"], 1000, "8Gi", claims=True, allowed=1
    )
    demo.run("Deployment", "monitoring/alertmanager", ["large-b-1", "general-b-2", "general-c-2"], 50, "64Mi")


def tell_shop(demo: Demo) -> None:
    """The customer-facing applications, and what went wrong with them."""
    web = ["general-a-1"] * 6 + ["general-a-2"] * 4 + ["general-a-3", "general-a-4", *BUSY[:6]]
    demo.run("Deployment", "shop/web", web, 250, "256Mi", allowed=4)
    checkout = ["general-a-1", "general-a-3", *CROWDED[3:], *BUSY[:3], "general-b-3", "general-b-4", "general-c-1"]
    demo.run("Deployment", "shop/checkout", checkout, 300, "384Mi", rules=spread_over(ZONE, "checkout"))
    cart = ["general-a-5", "general-a-5", "general-a-5", "general-b-5", "general-b-6", "general-c-3"]
    demo.run("Deployment", "shop/cart", cart, 200, "256Mi", allowed=0)
    recommendations = ["general-b-7"] * 3 + ["general-a-6", "general-c-2", "general-c-3"]
    soft = spread_over(HOSTNAME, "recommendations", when="ScheduleAnyway")
    demo.run("Deployment", "shop/recommendations", recommendations, 400, "1Gi", rules=soft)
    demo.run("Deployment", "shop/search", [*CROWDED, "general-b-8"], 500, "2Gi", rules=SCRATCH)
    sessions = ["general-a-7", "general-a-7", "general-b-1"]
    demo.run("StatefulSet", "accounts/sessions", sessions, 150, "512Mi", rules=one_per_node("sessions"))
    demo.run(
        "Deployment",
        "accounts/auth",
        ["general-a-1", "general-a-1", "general-b-2", "general-c-2"],
        200,
        "256Mi",
        allowed=1,
    )
    gateway = ["general-a-2", "general-a-3", "general-a-3", "general-b-3", "general-c-1", "large-b-1"]
    demo.run("Deployment", "payments/gateway", gateway, 500, "512Mi", priority="business-critical", allowed=2)
    ledger = ["large-a-1", "large-b-2", "large-c-2"]
    demo.run(
        "StatefulSet", "payments/ledger", ledger, 2000, "8Gi", claims=True, priority="business-critical", allowed=1
    )
    fraud = ["general-a-6", "general-a-6", "general-b-4"]
    demo.run("Deployment", "payments/fraud", fraud, 750, "1Gi", priority="business-critical")
    demo.run("Deployment", "payments/statements", ["general-b-6", "general-c-3"], 200, "256Mi", rules=only_in("eu-1a"))


def tell_back_office(demo: Demo) -> None:
    """Analytics, media, batch jobs, builds, and what people left behind."""
    warehouse = LARGE
    demo.run("Deployment", "analytics/warehouse", warehouse, 4000, "72Gi", rules=one_per_node("warehouse"))
    demo.run("Deployment", "analytics/dashboards", ["large-b-1", "general-b-5"], 300, "512Mi", rules=rather_in("eu-1c"))
    accelerated = {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}
    demo.run("Deployment", "media/transcoder", ["gpu-a-1", "gpu-a-1", "gpu-b-1"], 3000, "8Gi", rules=accelerated)
    demo.run("Deployment", "media/thumbnails", ["spot-a-1", "spot-a-1", "spot-c-1", "large-b-1"], 500, "512Mi")
    etl = [*CROWDED, *CROWDED[:3]]
    demo.run("Job", "batch/etl", etl, 400, "512Mi", priority="batch", days=1)
    done = [Life("Succeeded", terminated="Completed")] * 6
    demo.run("Job", "batch/invoices", BUSY[:6], 500, "512Mi", priority="batch", lives=done, days=2)
    failed = [Life("Failed", reason="Evicted"), Life("Failed", terminated="OOMKilled", exit_code=137)]
    demo.run("Job", "batch/report", ["general-a-2", "general-b-7"], 500, "1Gi", priority="batch", lives=failed, days=3)
    demo.run("Job", "batch/forecast", [None, None], 15_000, "64Gi", priority="batch", days=1)
    for number, node in enumerate(["general-a-4", "general-a-7", "general-a-8", "large-b-1"], start=1):
        demo.run("Bare", f"ci/runner-{number}", [node], 500, "1Gi", days=1)
    demo.run("Deployment", "ci/cache", ["general-a-8", "general-a-8"], 250, "1Gi")
    crashing = [Life(restarts=412, waiting="CrashLoopBackOff"), Life(restarts=131)]
    demo.run(
        "Deployment", "sandbox/chatbot", ["general-a-1", "general-b-2", "general-b-3"], 100, "256Mi", lives=crashing
    )
    demo.run("Deployment", "sandbox/notebooks", [*CROWDED[2:], "spot-c-1"], days=60)
    kept = [Life(annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": "true"})]
    demo.run("Deployment", "crm/importer", ["general-a-2", "general-a-2"], 300, "512Mi", lives=kept, days=240)
    demo.run("Deployment", "crm/letters", ["general-a-8", "general-b-8"], 150, "256Mi", days=180)


#: Ordinary applications: namespace/name, replicas, milli-CPU, memory.
ORDINARY = (
    ("shop/catalog", 8, 400, "512Mi"), ("shop/inventory", 6, 300, "512Mi"), ("shop/pricing", 5, 300, "256Mi"),
    ("shop/reviews", 4, 250, "256Mi"), ("shop/orders", 8, 400, "512Mi"), ("shop/returns", 3, 250, "256Mi"),
    ("shop/images", 6, 300, "384Mi"), ("shop/wishlist", 3, 200, "128Mi"), ("logistics/delivery", 6, 300, "384Mi"),
    ("logistics/tracking", 8, 300, "256Mi"), ("logistics/routes", 4, 800, "1Gi"), ("logistics/labels", 3, 200, "128Mi"),
    ("crm/mail", 5, 300, "256Mi"), ("crm/loyalty", 4, 300, "256Mi"), ("crm/contacts", 3, 250, "256Mi"),
    ("crm/surveys", 2, 200, "128Mi"), ("accounts/profiles", 6, 300, "384Mi"), ("accounts/consent", 3, 200, "128Mi"),
    ("payments/invoices", 4, 300, "384Mi"), ("payments/exchange", 3, 250, "256Mi"), ("media/gallery", 4, 300, "512Mi"),
    ("media/upload", 4, 300, "512Mi"), ("analytics/events", 8, 400, "512Mi"), ("analytics/sessions", 5, 300, "384Mi"),
    ("sandbox/prototype", 3, 300, "256Mi"), ("crm/offers", 4, 300, "384Mi"), ("logistics/customs", 4, 300, "384Mi"),
    ("shop/gifts", 4, 300, "256Mi"), ("media/captions", 4, 400, "512Mi"), ("accounts/devices", 4, 300, "256Mi"),
)  # fmt: skip


def demo_cluster() -> Iterator[Object]:
    """Yield the objects of the demo cluster, nodes first and pods last."""
    demo = Demo()
    nodes = [node_object(machine, demo.rng) for machine in machines()]
    tell_platform(demo)
    tell_shop(demo)
    tell_back_office(demo)
    for name, replicas, cpu, memory in ORDINARY:
        demo.fill(name, replicas, cpu, memory)
    yield from nodes
    yield from (namespace_object(name, demo.rng) for name in NAMESPACES)
    yield from (priority_class(name, value, demo.rng) for name, value in PRIORITIES.items())
    yield storage_class(demo.rng)
    yield from system_objects((machine.name for machine in machines()), NAMESPACES)
    yield from demo.owners
    yield from demo.pods


if __name__ == "__main__":
    write_list(demo_cluster(), sys.stdout.buffer)
