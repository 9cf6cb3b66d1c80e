"""The oracle itself: rows whose outcome in the real Descheduler is known, asked through the program.

If one of these fails, the program misreads clusters or runs cycles in a way that the Descheduler does not, and no
comparison with it is worth anything. Rows X-nn were observed in the Descheduler's own test bed, RD-nn in its tests.
Not here: what restow says to the same questions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from builders import (
    NOW,
    RS,
    RS2,
    ZONE,
    Owner,
    a_list,
    a_namespace,
    a_pdb,
    a_pod,
    a_priority_class,
    a_toleration,
    ago,
    node_affinity,
    node_metrics,
    node_term,
    pod_metrics,
    pods_on,
    selector,
    spread,
    std_node,
)
from oracle.oracle_process import Answer, OracleError, OracleProcess, oracle_binary

if TYPE_CHECKING:
    from builders import Object

pytestmark = pytest.mark.oracle

DESCHEDULE = {
    "PodLifeTime",
    "RemoveFailedPods",
    "RemovePodsHavingTooManyRestarts",
    "RemovePodsViolatingInterPodAntiAffinity",
    "RemovePodsViolatingNodeAffinity",
    "RemovePodsViolatingNodeTaints",
}
LNU = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
HOSTNAME = "kubernetes.io/hostname"


def a_policy(*strategies: tuple[str, Object], evictor: Object | None = None, **more: Any) -> str:
    """A policy of one profile P that runs the strategies; JSON, which is YAML too."""
    names = [name for name, _ in strategies]
    profile = {
        "name": "P",
        "pluginConfig": [{"name": name, "args": args} for name, args in strategies]
        + [{"name": "DefaultEvictor", "args": evictor or {}}],
        "plugins": {
            "deschedule": {"enabled": [name for name in names if name in DESCHEDULE]},
            "balance": {"enabled": [name for name in names if name not in DESCHEDULE]},
        },
    }
    return json.dumps({"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]} | more)


def big(name: str, **more: Any) -> Object:
    return std_node(name, 4000, 3000, 100, **more)


def six_on_n1(**more: Any) -> list[Object]:
    return pods_on("n1", *(f"b{index}" for index in range(6)), cpu="500m", owner=RS, **more)


def names(answer: Answer) -> list[str]:
    """Evicted pods of the only outcome, without their namespace."""
    assert answer.error == ""
    (run,) = answer.runs
    assert run.errors == ()
    return [pod.split("/")[1] for pod in run.pods()]


@pytest.mark.parametrize(
    ("taints", "evicted"),
    [
        pytest.param(["a=1:NoSchedule", "b=1:NoSchedule"], 0, id="X-03-two-taints"),
        pytest.param(["a=1:NoSchedule"], 2, id="X-04-one-taint"),
    ],
)
def test_a_single_toleration_of_everything_counts_for_one_taint(
    oracle: OracleProcess, taints: list[str | Object], evicted: int
) -> None:
    cluster = [big("n1"), big("n2", taints=taints), *six_on_n1(tolerations=[""])]
    victims = names(oracle.ask(cluster, a_policy(("LowNodeUtilization", LNU))))
    assert len(victims) == evicted


def test_a_node_at_the_threshold_is_under_it_x_10(oracle: OracleProcess) -> None:
    cluster = [big("n1"), big("n2"), *six_on_n1(), a_pod("c", node="n2", cpu="800m", owner=RS)]
    victims = names(oracle.ask(cluster, a_policy(("LowNodeUtilization", LNU))))
    assert len(victims) == 2
    assert set(victims) <= {f"b{index}" for index in range(6)}


def test_the_highest_priority_of_a_crowded_domain_goes_first_x_21(oracle: OracleProcess) -> None:
    cluster = [big("n1", labels={ZONE: "a"}), big("n2", labels={ZONE: "b"})]
    for name, priority in (("low", 1), ("high", 100), ("middle", 10)):
        cluster.append(a_pod(name, node="n1", owner=RS, labels={"app": "a"}, priority=priority, spread=[by(ZONE)]))
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingTopologySpreadConstraint", {})))) == ["high"]


def by(topology: str) -> Object:
    return spread(1, topology, selector(labels={"app": "a"}))


@pytest.mark.parametrize(
    ("constraints", "evicted"),
    [
        pytest.param([by(ZONE)], {"b00", "b01", "b02", "b03"}, id="zone"),
        pytest.param([by(HOSTNAME)], {"a02", "a03", "b02", "b03"}, id="hostname"),
        pytest.param([by(ZONE), by(HOSTNAME)], {"a02", "a03", "b00", "b01", "b02", "b03"}, id="both"),
    ],
)
def test_two_constraints_evict_without_knowing_of_each_other_x_36(
    oracle: OracleProcess, constraints: list[Object], evicted: set[str]
) -> None:
    cluster: list[Object] = [
        big(name, labels={ZONE: zone, HOSTNAME: name})
        for name, zone in zip(["n1", "n2", "n3", "n4"], "aabb", strict=True)
    ]
    for letter, node in (("a", "n1"), ("b", "n2")):
        pods = [f"{letter}{index:02}" for index in range(4)]
        cluster += pods_on(node, *pods, owner=RS, labels={"app": "a"}, spread=constraints)
    assert set(names(oracle.ask(cluster, a_policy(("RemovePodsViolatingTopologySpreadConstraint", {}))))) == evicted


@pytest.mark.parametrize(
    ("node_fit", "evicted"), [pytest.param(False, ["p"], id="X-53"), pytest.param(True, [], id="X-54-nodeFit")]
)
def test_a_preferred_node_that_is_full_draws_pods_without_node_fit(
    oracle: OracleProcess, node_fit: bool, evicted: list[str]
) -> None:
    affinity = node_affinity(preferred=[(1, node_term(("disk", "In", "fast")))])
    cluster = [
        big("n1"),
        big("n2", labels={"disk": "fast"}),
        a_pod("full", node="n2", cpu="4", owner=RS),
        a_pod("p", node="n1", owner=RS, affinity=affinity),
    ]
    args = {"nodeAffinityType": ["preferredDuringSchedulingIgnoredDuringExecution"]}
    policy = a_policy(("RemovePodsViolatingNodeAffinity", args), evictor={"nodeFit": node_fit})
    assert names(oracle.ask(cluster, policy)) == evicted


def test_a_pod_that_violates_both_affinities_goes_once_x_56(oracle: OracleProcess) -> None:
    fast = node_term(("disk", "In", "fast"))
    cluster = [
        big("n1"),
        big("n2", labels={"disk": "fast"}),
        a_pod("p", node="n1", owner=RS, affinity=node_affinity(required=[fast], preferred=[(1, fast)])),
    ]
    types = ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"]
    policy = a_policy(("RemovePodsViolatingNodeAffinity", {"nodeAffinityType": types}))
    assert names(oracle.ask(cluster, policy)) == ["p"]


def test_a_second_eviction_is_not_found_and_does_not_count_rd_18(oracle: OracleProcess) -> None:
    """Two pods, four calls: were a refused one counted, the limit of three would be the answer to the last."""
    owners = [RS, RS2]
    cluster = [big("n1"), big("n2"), big("n3")]
    cluster += pods_on("n1", "p11", "p12", "p13", "p14", "p15", owner=owners)
    cluster += pods_on("n2", "p16", "p17", "p18", owner=owners) + pods_on("n3", "p19", owner=owners)
    answer = oracle.ask(cluster, a_policy(("RemoveDuplicates", {}), maxNoOfPodsToEvictTotal=3))
    victims = names(answer)
    assert len(victims) == len(set(victims)) == 2
    refused = [eviction for eviction in answer.runs[0].evictions if eviction.refused]
    assert {eviction.name for eviction in refused} == set(victims)
    assert all("pod not found when evicting" in eviction.refused for eviction in refused)


def test_tolerations_compare_numbers_x_58(oracle: OracleProcess) -> None:
    def toleration(operator: str, value: str) -> str | Object:
        return a_toleration({"key": "sla", "operator": operator, "value": value, "effect": "NoSchedule"})

    cluster = [big("n1", taints=["sla=950:NoSchedule"]), big("n2")]
    for name, operator, value in (("gt900", "Gt", "900"), ("gt990", "Gt", "990"), ("lt990", "Lt", "990")):
        cluster.append(a_pod(name, node="n1", owner=RS, tolerations=[toleration(operator, value)]))
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingNodeTaints", {})))) == ["gt990"]


def test_an_unschedulable_node_counts_as_a_place_for_duplicates_x_61(oracle: OracleProcess) -> None:
    cluster = [big("n1"), big("n2", unschedulable=True), *pods_on("n1", "a1", "a2", "a3", "a4", owner=RS)]
    victims = names(oracle.ask(cluster, a_policy(("RemoveDuplicates", {}))))
    assert victims == ["a3", "a4"]


def test_the_oldest_go_first_and_the_node_limit_skips_pods_x_73(oracle: OracleProcess) -> None:
    cluster = [big("n1"), big("n2")]
    for hours, node in ((5, "n1"), (3, "n1"), (4, "n2"), (2, "n2")):
        cluster.append(a_pod(f"{hours}h", node=node, owner=RS, created=ago(hours * 3600)))
    policy = a_policy(("PodLifeTime", {"maxPodLifeTimeSeconds": 600}), maxNoOfPodsToEvictPerNode=1)
    answer = oracle.ask(cluster, policy, now=NOW, repeat=5, order="random")
    assert names(answer) == ["5h", "4h"]
    assert (answer.runs[0].count, answer.runs[0].orders) == (5, 1)


@pytest.mark.parametrize(("age", "evicted"), [(600.2, []), (601.2, ["p"]), (-60, [])])
def test_ages_are_judged_at_the_asked_time_x_71(oracle: OracleProcess, age: float, evicted: list[str]) -> None:
    cluster = [big("n1"), big("n2"), a_pod("p", node="n1", owner=RS, created=ago(age))]
    policy = a_policy(("PodLifeTime", {"maxPodLifeTimeSeconds": 600}))
    assert names(oracle.ask(cluster, policy, now=NOW)) == evicted


@pytest.mark.parametrize(("age", "evicted"), [(599, []), (600, ["p"])])
def test_the_start_time_moves_with_the_clock(oracle: OracleProcess, age: float, evicted: list[str]) -> None:
    pod = a_pod("p", node="n1", owner=RS, created=ago(86400), started=ago(age))
    policy = a_policy(("PodLifeTime", {"maxPodLifeTimeSeconds": 600}), evictor={"minPodAge": "10m"})
    assert names(oracle.ask([big("n1"), big("n2"), pod], policy, now=NOW)) == evicted


def test_random_order_shows_every_outcome(oracle: OracleProcess) -> None:
    """RD-01: any one of three duplicates; thirty shuffles miss one of them about once in 60,000 runs."""
    cluster = [big("n1"), big("n2"), *pods_on("n1", "p1", "p2", "p3", owner=RS)]
    answer = oracle.ask(cluster, a_policy(("RemoveDuplicates", {})), repeat=30, order="random")
    assert {tuple(run.pods()) for run in answer.runs} == {("default/p1",), ("default/p2",), ("default/p3",)}
    assert sum(run.count for run in answer.runs) == 30


@pytest.mark.parametrize(("order", "evicted"), [("first", "p3"), ("last", "p1")])
def test_favoured_pods_are_found_first_or_backwards_last(
    oracle: OracleProcess, order: Literal["first", "last"], evicted: str
) -> None:
    """Of three duplicates the last one that is found goes."""
    cluster = [big("n1"), big("n2"), *pods_on("n1", "p1", "p2", "p3", owner=RS)]
    favoured = ["default/p1", "default/p2", "default/p3"]
    policy = a_policy(("RemoveDuplicates", {}))
    assert names(oracle.ask(cluster, policy, repeat=5, order=order, favoured=favoured)) == [evicted]


def test_balance_plugins_do_not_see_what_deschedule_plugins_evicted(oracle: OracleProcess) -> None:
    """The taint strategy empties n1 before the duplicates are counted, though it is listed last."""
    cluster = [big("n1", taints=["gone=1:NoSchedule"]), big("n2"), *pods_on("n1", "p1", "p2", "p3", owner=RS)]
    answer = oracle.ask(cluster, a_policy(("RemoveDuplicates", {}), ("RemovePodsViolatingNodeTaints", {})))
    assert [(eviction.name, eviction.plugin) for eviction in answer.runs[0].evictions] == [
        (name, "RemovePodsViolatingNodeTaints") for name in ("p1", "p2", "p3")
    ]


def test_filters_see_earlier_evictions_of_the_cycle(oracle: OracleProcess) -> None:
    """minReplicas counts what is left: of three replicas one may go, though two are wanted."""
    owner = Owner("ReplicaSet", "web", uid="web")
    cluster = [big("n1", taints=["gone=1:NoSchedule"]), *pods_on("n1", "p1", owner=owner)]
    cluster += [big("n2", taints=["gone=1:NoSchedule"]), *pods_on("n2", "p2", owner=owner), a_pod("p3", owner=owner)]
    policy = a_policy(("RemovePodsViolatingNodeTaints", {}), evictor={"minReplicas": 3})
    assert names(oracle.ask(cluster, policy)) == ["p1"]


def test_one_ready_node_is_no_cluster(oracle: OracleProcess) -> None:
    cluster = [big("n1", taints=["gone=1:NoSchedule"]), big("n2", ready=False), *pods_on("n1", "p1", owner=RS)]
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingNodeTaints", {})))) == []


def test_the_node_selector_of_the_policy_chooses_the_nodes(oracle: OracleProcess) -> None:
    cluster: list[Object] = []
    for name, pool in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        cluster += [
            big(name, labels={"pool": pool}, taints=["gone=1:NoSchedule"]),
            a_pod(f"on-{name}", node=name, owner=RS),
        ]
    policy = a_policy(("RemovePodsViolatingNodeTaints", {}), nodeSelector="pool=a")
    assert names(oracle.ask(cluster, policy)) == ["on-n1", "on-n2"]


def test_the_evictor_looks_budgets_classes_and_namespaces_up(oracle: OracleProcess) -> None:
    """Only ``ok`` has a budget, a priority below the class, and a namespace with the label."""
    covered = {"app": "web"}
    cluster = [
        big("n1", taints=["gone=1:NoSchedule"]),
        big("n2"),
        a_priority_class("line", 100),
        a_namespace("open", labels={"evict": "yes"}),
        a_namespace("closed"),
        a_pdb("web", namespace="open", selector=selector(labels=covered)),
        a_pdb("web", namespace="closed", selector=selector(labels=covered)),
        a_pod("ok", namespace="open", node="n1", owner=RS, labels=covered, priority=99),
        a_pod("high", namespace="open", node="n1", owner=RS, labels=covered, priority=100),
        a_pod("bare", namespace="open", node="n1", owner=RS),
        a_pod("closed", namespace="closed", node="n1", owner=RS, labels=covered),
    ]
    evictor = {
        "priorityThreshold": {"name": "line"},
        "namespaceLabelSelector": {"matchLabels": {"evict": "yes"}},
        "podProtections": {"extraEnabled": ["PodsWithoutPDB"]},
    }
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingNodeTaints", {}), evictor=evictor))) == ["ok"]


def test_no_node_fits_where_the_evictor_looks_at_none(oracle: OracleProcess) -> None:
    """An empty node cache makes the Descheduler ask the API server, which knows no more."""
    cluster = [big("n1", taints=["gone=1:NoSchedule"]), big("n2"), *pods_on("n1", "p1", owner=RS)]
    evictor = {"nodeFit": True, "nodeSelector": "pool=nowhere"}
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingNodeTaints", {}), evictor=evictor))) == []


def test_an_empty_list_of_included_taints_is_not_a_missing_one_x_59(oracle: OracleProcess) -> None:
    cluster = [big("n1", taints=["gone=1:NoSchedule"]), big("n2"), *pods_on("n1", "p1", owner=RS)]
    assert names(oracle.ask(cluster, a_policy(("RemovePodsViolatingNodeTaints", {"includedTaints": []})))) == []


def test_usage_comes_from_the_metrics_objects(oracle: OracleProcess) -> None:
    """Requests are next to nothing; 3201m less three pods of 401m is below the target of 2000m."""
    cluster = [std_node("n1", 4000, 3000, 9), std_node("n2", 4000, 3000, 10)]
    pods = [f"p{index}" for index in range(1, 6)]
    cluster += pods_on("n1", *pods, cpu="1m", owner=RS)
    cluster += [node_metrics("n1", cpu="3201m"), node_metrics("n2", cpu="11m")]
    cluster += [pod_metrics(pod, cpu="401m") for pod in pods]
    args = LNU | {"metricsUtilization": {"source": "KubernetesMetrics"}}
    policy = a_policy(("LowNodeUtilization", args), metricsProviders=[{"source": "KubernetesMetrics"}])
    assert len(names(oracle.ask(cluster, policy))) == 3


def test_the_error_of_a_plugin_is_told_and_the_next_one_runs(oracle: OracleProcess) -> None:
    cluster = [big("n1"), big("n2"), *pods_on("n1", "a1", "a2", owner=RS)]
    args = LNU | {"metricsUtilization": {"source": "KubernetesMetrics"}}
    (run,) = oracle.ask(cluster, a_policy(("LowNodeUtilization", args), ("RemoveDuplicates", {}))).runs
    assert [error.error for error in run.errors] == ["error initializing usage client: metrics client not initialized"]
    assert run.pods() == ["default/a2"]


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        pytest.param(
            '{"apiVersion": "descheduler/v1alpha1", "kind": "DeschedulerPolicy"}',
            'no kind "DeschedulerPolicy" is registered for version "descheduler/v1alpha1"',
            id="v1alpha1",
        ),
        pytest.param(
            a_policy(("PodLifeTime", {"bogus": 1})),
            'failed decoding descheduler\'s policy config "policy.yaml": strict decoding error: unknown field "bogus"',
            id="X-76",
        ),
        pytest.param(
            a_policy(("RemovePodsViolatingNodeAffinity", {})),
            "in profile P: nodeAffinityType needs to be set",
            id="X-80",
        ),
        pytest.param(
            a_policy(evictor={"priorityThreshold": {"name": "zz"}}),
            'priorityclasses.scheduling.k8s.io "zz" not found',
            id="missing-priority-class",
        ),
        pytest.param(
            json.dumps(
                {
                    "apiVersion": "descheduler/v1alpha2",
                    "profiles": [{"name": "P", "plugins": {"balance": {"enabled": ["RemoveDuplicates"]}}}],
                }
            ),
            'failed to create new descheduler: unable to create "P" profile: unable to build RemoveDuplicates plugin: '
            'unable to find "RemoveDuplicates" plugin config',
            id="no-pluginConfig",
        ),
    ],
)
def test_the_error_of_a_policy_is_the_answer(oracle: OracleProcess, policy: str, text: str) -> None:
    answer = oracle.ask([big("n1"), big("n2")], policy)
    assert text in answer.error
    assert answer.runs == ()


def test_dumps_come_from_files_too(oracle: OracleProcess, tmp_path: Path) -> None:
    """A List of mixed kinds, and a PodList whose items do not say what they are."""
    nodes, pods = tmp_path / "nodes.json", tmp_path / "pods.json"
    nodes.write_text(json.dumps(a_list(big("n1", taints=["gone=1:NoSchedule"]), big("n2")), indent=4))
    plain = [{key: pod[key] for key in ("metadata", "spec")} for pod in pods_on("n1", "p1", owner=RS)]
    pods.write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": plain}))
    policy = a_policy(("RemovePodsViolatingNodeTaints", {}))
    assert names(oracle.ask(policy=policy, files=[nodes, pods])) == ["p1"]
    pods.write_text(pods.read_text()[:-9])
    assert "ends in the middle of a value" in oracle.ask(policy=policy, files=[nodes, pods]).error


def test_a_late_answer_is_an_error() -> None:
    with OracleProcess(oracle_binary()) as process, pytest.raises(OracleError, match="in time"):
        process.ask(timeout=0.0)


def test_a_process_that_ended_is_an_error() -> None:
    with OracleProcess(Path("/bin/true")) as process, pytest.raises(OracleError, match="ended"):
        process.ask()
