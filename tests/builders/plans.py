"""Plans and reports as the renderers get them: small ones to look at, large ones to measure."""

from __future__ import annotations

from random import Random
from statistics import fmean, pstdev

from msgspec import structs

from restow.descheduling.plan import (
    Move,
    NodeLoad,
    OwnerRef,
    PlanDocument,
    PlanMetadata,
    PlanTotals,
    PodRef,
    Refusal,
    Remark,
    ResourceLoad,
    Utilisation,
)
from restow.policies.codes import Certainty, Placement, Stage
from restow.reporting.forms import PolicyView, Report

GI = 1024**3

POLICY_TEXT = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - name: LowNodeUtilization
    args:
      thresholds: {cpu: 20, memory: 20}
      targetThresholds: {cpu: 50, memory: 50}
      useDeviationThresholds: false  # default
  - name: DefaultEvictor
    args:
      nodeFit: true
      evictLocalStoragePods: false  # default
"""


def a_pod(name: str) -> PodRef:
    """``a_pod("shop/web-1")``."""
    namespace, _, pod = name.rpartition("/")
    return PodRef(namespace or "default", pod, f"uid-{pod}")


def a_move(
    pod: str,
    route: tuple[str, str | None],
    *,
    owner: str | None = "Deployment/web",
    certainty: Certainty | None = "certain",
    probability: float | None = None,
    candidates: tuple[str, ...] | None = None,
    plugin: str = "RemoveDuplicates",
    reason: str = "3 of 5 replicas on node-1, fair share 1",
) -> Move:
    """One move along ``route``; a route to None is an eviction in upstream placement."""
    source, target = route
    winners = candidates if candidates is not None else (target,) if target else ()
    return Move(
        pod=a_pod(pod),
        owner=OwnerRef(*owner.split("/", 1)) if owner else None,
        source=source,
        target=target,
        certainty=certainty if target else None,
        probability=1.0 if target and certainty == "certain" else probability,
        target_probability=(1.0 if len(winners) == 1 else None) if target and certainty else None,
        candidates=winners,
        candidate_count=len(winners),
        profile="default",
        plugin=plugin,
        reason=reason,
    )


def a_steered_move(pod: str, route: tuple[str, str]) -> Move:
    """One move whose replacement is brought to its target."""
    return structs.replace(a_move(pod, route), probabilities=(1.0,), steering="nominate")


def a_likely_move(pod: str, route: tuple[str, str], probability: float = 0.93) -> Move:
    """One move that is in vain where its replacement lands on the other candidate, ``node-9``."""
    move = a_move(pod, route, certainty="likely", probability=probability, candidates=(route[1], "node-9"))
    figures = (probability, round(1 - probability, 4))
    return structs.replace(move, probabilities=figures, target_probability=probability, in_vain=("node-9",))


def an_open_move(pod: str, route: tuple[str, str], chances: tuple[float, ...]) -> Move:
    """One move that gains on every node that could win; the target has the first chance, nodes of other names the rest."""
    nodes = (route[1], *(f"other-{number}" for number in range(1, len(chances))))
    return structs.replace(a_move(pod, route, candidates=nodes), probabilities=chances, target_probability=chances[0])


def a_clearance(pod: str, node: str) -> Move:
    """A pod that is over and only taken away."""
    return structs.replace(a_move(pod, (node, None), owner="Job/nightly", plugin="PodLifeTime"), certainty="certain")


def a_refusal(
    pod: str, stage: Stage, code: str, message: str, *, node: str = "node-2", plugin: str = "LowNodeUtilization"
) -> Refusal:
    """One refusal in the profile ``default``."""
    return Refusal(a_pod(pod), node, "default", plugin, stage, code, message)


def a_load(name: str, cpu: tuple[int, int], memory: tuple[int, int], *, zone: str = "zone-a") -> NodeLoad:
    """A node of 16 CPUs and 64Gi; the pairs are percentages before and after."""
    return NodeLoad(
        name=name,
        zone=zone,
        unschedulable=False,
        resources={
            "cpu": (16000, 160 * cpu[0], 160 * cpu[1]),
            "memory": (64 * GI, 64 * GI * memory[0] // 100, 64 * GI * memory[1] // 100),
        },
        pods_before=cpu[0] // 8,
        pods_after=cpu[1] // 8,
    )


def a_report(
    moves: tuple[Move, ...] = (),
    refusals: tuple[Refusal, ...] = (),
    loads: tuple[NodeLoad, ...] = (),
    *,
    placement: Placement = "prove",
    problems: tuple[Remark, ...] = (),
    notes: tuple[str, ...] = (),
    bundled: bool = False,
) -> Report:
    """A report whose summary follows from its parts."""
    pods = sum(load.pods_before for load in loads)
    summary = PlanTotals(len(loads), pods, 2 if loads else 0, len(moves), len(refusals), _utilisation(loads))
    metadata = PlanMetadata("2026-03-01T12:00:00Z", placement, "0.1.0")
    return Report(
        plan=PlanDocument(metadata, moves, refusals, summary, problems),
        count_loads=lambda: loads,
        sources="cluster.json, 0.1 s",
        policy=PolicyView(
            "default" if bundled else "policy.yaml",
            bundled,
            ("RemoveDuplicates", "LowNodeUtilization"),
            lambda: POLICY_TEXT,
        ),
        notes=notes,
        count_requests=lambda: ({"cpu": 400, "memory": GI},) * len(moves),
    )


def _utilisation(loads: tuple[NodeLoad, ...]) -> Utilisation:
    def side(index: int) -> dict[str, ResourceLoad]:
        names = sorted({name for load in loads for name in load.resources})
        parts = {name: [load.resources[name][index] / load.resources[name][0] for load in loads] for name in names}
        return {name: ResourceLoad(max(each), fmean(each), pstdev(each)) for name, each in parts.items()}

    return Utilisation(side(1), side(2))


SMALL_LOADS = (
    a_load("node-1", (78, 61), (60, 48)),
    a_load("node-2", (92, 61), (78, 70)),
    a_load("node-3", (55, 55), (62, 62), zone="zone-b"),
    a_load("node-4", (12, 39), (20, 31), zone="zone-b"),
    a_load("node-5", (9, 27), (16, 25), zone="zone-c"),
    a_load("node-6", (31, 34), (35, 35), zone="zone-c"),
)

SMALL_REFUSALS = (
    *(
        a_refusal(f"kube-system/proxy-{each}", "evictor", "DaemonSetPods", "pods of a DaemonSet", node=f"node-{each}")
        for each in "123456"
    ),
    *(a_refusal(f"kube-system/log-{each}", "evictor", "DaemonSetPods", "pods of a DaemonSet") for each in "12"),
    *(
        a_refusal(f"batch/big-{each}", "placement", "NoFit", f"no other node fits: {each} Insufficient memory")
        for each in "1223"
    ),
    *(a_refusal(f"shop/db-{each}", "budget", "DisruptionBudget", "shop/db allows 0 more disruptions") for each in "01"),
)


def small_report() -> Report:
    """Three certain moves, fourteen refusals of thirteen pods, six nodes."""
    return a_report(
        (
            a_move("shop/web-7f9c5d8b44-x2k9q", ("node-1", "node-4")),
            a_move("shop/web-7f9c5d8b44-9qdmz", ("node-1", "node-5")),
            a_move(
                "batch/etl-0",
                ("node-2", "node-4"),
                owner="Job/etl",
                plugin="LowNodeUtilization",
                reason="node-2 at cpu 92 %, target 50 %",
            ),
        ),
        SMALL_REFUSALS,
        SMALL_LOADS,
    )


def upstream_report() -> Report:
    """The same cluster as evictions without targets."""
    moves = tuple(a_move(pod, ("node-1", None)) for pod in ("shop/web-7f9c5d8b44-x2k9q", "shop/web-7f9c5d8b44-9qdmz"))
    loads = (a_load("node-1", (78, 50), (60, 40)), *SMALL_LOADS[2:3])
    return a_report(moves, SMALL_REFUSALS[:3], loads, placement="upstream")


def large_report(nodes: int = 5000, moves: int = 40_000, refusals: int = 60_000) -> Report:
    """As many of each as asked for, always the same ones."""
    random = Random(7)
    names = [f"ip-10-{each // 250}-{each % 250}-{each % 17}.eu-west-1.compute.internal" for each in range(nodes)]
    return a_report(
        tuple(_some_move(random, names, each) for each in range(moves)),
        tuple(_some_refusal(random, names, each) for each in range(refusals)),
        tuple(_some_load(random, name, index) for index, name in enumerate(sorted(names))),
    )


def _some_move(random: Random, names: list[str], index: int) -> Move:
    app = f"app-{random.randrange(400)}"
    source, target = random.choice(names), random.choice(names)
    return a_move(
        f"team-{index % 90}/{app}-{random.getrandbits(40):010x}-{index:05}",
        (source, target),
        owner=f"Deployment/{app}",
        certainty="possible" if index % 10 == 9 else "certain",
        plugin=("RemoveDuplicates", "LowNodeUtilization", "RemovePodsViolatingNodeTaints")[index % 3],
        reason=f"{source} at cpu {random.randrange(60, 99)} %, target 50 %",
    )


def _some_refusal(random: Random, names: list[str], index: int) -> Refusal:
    stage, code, message = random.choice(
        (
            ("evictor", "DaemonSetPods", "pods of a DaemonSet"),
            ("evictor", "PodsWithLocalStorage", "pod has local storage (emptyDir) and evictLocalStoragePods is off"),
            ("limit", "MaxPodsPerNode", "the limit of 5 evictions from one node is reached"),
            ("budget", "DisruptionBudget", f"shop/db-{index % 50} allows 0 more disruptions"),
            ("placement", "NoFit", f"0/5000 nodes are available: {index % 5000} Insufficient memory."),
        )
    )
    return a_refusal(f"team-{index % 90}/job-{index:06}", stage, code, message, node=random.choice(names))  # type: ignore[arg-type]


def _some_load(random: Random, name: str, index: int) -> NodeLoad:
    def pair() -> tuple[int, int]:
        before = int(min(99, max(2, random.gauss(55, 22))))
        return before, int(55 + (before - 55) * 0.35 + random.gauss(0, 3))

    return a_load(name, pair(), pair(), zone=f"eu-west-1{'abc'[index % 3]}")
