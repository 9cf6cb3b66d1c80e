"""The scheduler oracle itself, beyond the plugins that filter and score: the queue, the choice of a node, messages,
preemption, nominations, and what the program is told.

Not here: what restow says to the same questions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import a_list, a_node, a_pdb, a_pod, ago, claim_volume, node_affinity, node_term, selector
from oracle.scheduler_process import Candidate, SchedulerProcess, scheduler_binary, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Object

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def oracle() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


def used(node: str, cpu: str, memory: str = "0") -> Object:
    return a_pod(f"used-{node}", node=node, cpu=cpu, memory=memory)


def test_totals_of_a_whole_cycle_x04(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1", cpu="2", memory="4Gi"), a_node("n2", cpu="8", memory="32Gi")]
    cluster += [a_node("n3", cpu="16", memory="32Gi"), used("n2", "4", "16Gi"), used("n3", "8", "8Gi")]
    outcome = verdict(oracle, *cluster, a_pod("p", cpu="1", memory="2Gi"))
    assert outcome.scores_of("total") == {"n1": 425, "n2": 413, "n3": 430}
    assert (outcome.best, outcome.node, outcome.message) == (("n3",), "n3", "")


def test_one_feasible_node_is_not_scored_unless_asked_n03(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1"), a_pod("p")]
    (outcome,) = oracle.ask(cluster).pods
    assert (outcome.node, outcome.scores) == ("n1", {})
    assert verdict(oracle, *cluster).scores["n1"]["total"] > 0


def test_ties_are_broken_by_name_and_the_next_pod_sees_the_choice(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n2"), a_node("n1"), a_pod("p1", cpu="1"), a_pod("p2", cpu="1")]
    first, second = oracle.ask(cluster).pods
    assert (first.best, first.node, second.best) == (("n1", "n2"), "n1", ("n2",))
    assert [pod.best for pod in oracle.ask(cluster, apply=False).pods] == [("n1", "n2")] * 2


def test_placements_may_be_forced_in_any_order(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1"), a_node("n2"), a_pod("p1", cpu="1"), a_pod("p2", cpu="1"), a_pod("p3")]
    second, first = oracle.ask(cluster, place=[("default/p2", "n2"), ("default/p1", "")]).pods
    assert (second.pod, second.node) == ("default/p2", "n1")
    assert (first.pod, first.best) == ("default/p1", ("n1",))


@pytest.mark.parametrize(
    "unfit",
    [
        pytest.param({"cpu": "5"}, id="by-a-filter"),
        pytest.param(
            {"affinity": node_affinity([node_term(fields=[("metadata.name", "In", name) for name in "ab"])])},
            id="by-a-prefilter",
        ),
        pytest.param({"volumes": [claim_volume("missing")]}, id="by-its-volumes"),
    ],
)
def test_a_pod_may_be_forced_where_it_does_not_fit(oracle: SchedulerProcess, unfit: Object) -> None:
    cluster = [a_node("n1"), a_pod("p1", **unfit), a_pod("p2", cpu="4")]
    first, second = oracle.ask(cluster, place=[("default/p1", "n1"), ("default/p2", "")]).pods
    assert (first.node, second.node) == ("", "")


def test_the_queue_is_ordered_by_priority_then_age_then_name_u01(oracle: SchedulerProcess) -> None:
    pods = [
        a_pod("old-low", created=ago(9)),
        a_pod("b", priority=10, created=ago(5)),
        a_pod("a", priority=10, created=ago(5)),
        a_pod("older", priority=10, created=ago(6)),
    ]
    order = [outcome.pod for outcome in oracle.ask([a_node("n1"), *pods]).pods]
    assert order == ["default/older", "default/a", "default/b", "default/old-low"]


def test_only_pods_of_the_scheduler_that_may_run_wait_in_the_queue_u12(oracle: SchedulerProcess) -> None:
    cluster = [
        a_node("n1"),
        a_pod("foreign", spec={"schedulerName": "other"}),
        a_pod("leaving", deleted=ago(1)),
        a_pod("done", phase="Succeeded"),
        a_pod("gated", spec={"schedulingGates": [{"name": "b"}]}),
        a_pod("p"),
    ]
    asked, gated = oracle.ask(cluster).pods
    assert (asked.pod, asked.node) == ("default/p", "n1")
    assert (gated.pod, gated.gated) == ("default/gated", "waiting for scheduling gates: [b]")
    assert oracle.ask(cluster, pod="default/foreign").error == "pod default/foreign does not wait to be scheduled"


def test_the_message_counts_reasons_v01(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n0", unschedulable=True)]
    for index in range(1, 5):
        cluster += [a_node(f"n{index}", cpu="2", memory="2Gi"), used(f"n{index}", "2", "2Gi" if index < 3 else "0")]
    assert verdict(oracle, *cluster, a_pod("p", cpu="1", memory="1Gi")).message == (
        "0/5 nodes are available: 1 node(s) were unschedulable, 2 Insufficient memory, 4 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/5 nodes are available: "
        "1 Preemption is not helpful for scheduling, 4 No preemption victims found for incoming pod."
    )


def test_no_node_at_all_is_no_reason_to_preempt(oracle: SchedulerProcess) -> None:
    outcome = verdict(oracle, a_pod("p"))
    assert (outcome.reason, outcome.message) == ("Unschedulable", "no nodes available to schedule pods")


def cpu_pod(name: str, cpu: int, priority: int, *, at: int = 0, **more: Any) -> Object:
    """A pod on the node that its name begins with, started ``at`` seconds into the test."""
    return a_pod(name, node=name[:2], cpu=f"{cpu}m", priority=priority, started=ago(100 - at), **more)


@pytest.mark.parametrize(
    ("victims", "expected"),
    [
        pytest.param([("n1a", 300, 100), ("n2a", 300, 100)], {"n1": ["n1a"], "n2": ["n2a"]}, id="O20"),
        pytest.param(
            [("n1a", 100, 0), ("n1b", 300, 100), ("n2a", 300, 100)], {"n1": ["n1b"], "n2": ["n2a"]}, id="O22-reprieved"
        ),
        pytest.param(
            [("n1a", 100, 100), ("n1b", 100, 0), ("n1c", 200, 100), ("n1d", 100, 1000), ("n2a", 300, 1000)],
            {"n1": ["n1c", "n1b"]},
            id="O23",
        ),
    ],
)
def test_victims_are_as_unimportant_as_can_be(
    oracle: SchedulerProcess, victims: list[tuple[str, int, int]], expected: dict[str, list[str]]
) -> None:
    cluster = [a_node("n1", cpu="500m"), a_node("n2", cpu="500m")]
    cluster += [cpu_pod(name, cpu, priority) for name, cpu, priority in victims]
    outcome = verdict(oracle, *cluster, a_pod("p", cpu="300m", priority=1000))
    found = {
        node: sorted(name.removeprefix("default/") for name in on_node.victims)
        for node, on_node in outcome.candidates.items()
    }
    assert found == {node: sorted(names) for node, names in expected.items()}


def test_a_budget_may_be_violated_o28(oracle: SchedulerProcess) -> None:
    labels = {"app": "foo"}
    cluster = [a_node("n1", cpu="500m"), a_pdb("b", selector=selector(labels=labels), disruptions_allowed=1)]
    cluster += [cpu_pod(name, 200, 100, labels=labels) for name in ("n1a", "n1b")]
    outcome = verdict(oracle, *cluster, a_pod("p", cpu="500m", priority=1000))
    assert outcome.candidates == {"n1": Candidate(("default/n1a", "default/n1b"), 1)}
    assert (outcome.nominated_node, outcome.best_candidates) == ("n1", ("n1",))
    assert outcome.message == "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("victims", "best"),
    [
        pytest.param(
            [("n1a", 250, 100, 0), ("n1b", 250, 100, 0), ("n2a", 300, 100, 0), ("n2b", 200, 0, 0)],
            ["n2"],
            id="O50-smallest-sum",
        ),
        pytest.param(
            [("n1a", 250, 100, 4), ("n1b", 250, 100, 2), ("n2a", 250, 100, 5), ("n2b", 250, 100, 1)],
            ["n1"],
            id="O55-latest-start",
        ),
        pytest.param([("n2a", 500, 100, 4), ("n1a", 500, 100, 4), ("n3a", 500, 100, 3)], ["n1", "n2"], id="tie"),
    ],
)
def test_the_best_candidates(
    oracle: SchedulerProcess, victims: list[tuple[str, int, int, int]], best: list[str]
) -> None:
    cluster = [a_node(name, cpu="500m") for name in sorted({name[:2] for name, *_ in victims})]
    cluster += [cpu_pod(name, cpu, priority, at=at) for name, cpu, priority, at in victims]
    outcome = verdict(oracle, *cluster, a_pod("p", cpu="500m", priority=1000))
    assert (list(outcome.best_candidates), outcome.nominated_node) == (best, best[0])


@pytest.mark.parametrize(("policy", "node"), [("PreemptLowerPriority", "n1"), ("Never", "")])
def test_the_policy_of_the_pod_may_forbid_preemption_o01_o12(oracle: SchedulerProcess, policy: str, node: str) -> None:
    cluster = [a_node("n1", pods=1), a_pod("a", node="n1")]
    outcome = verdict(oracle, *cluster, a_pod("p", priority=1000, spec={"preemptionPolicy": policy}))
    assert outcome.nominated_node == node
    assert ("not eligible due to preemptionPolicy=Never." in outcome.message) == (node == "")


@pytest.mark.parametrize(("priority", "feasible"), [(5, ("n2",)), (11, ("n1", "n2"))])
def test_a_nominated_pod_keeps_its_place_from_pods_below_n06_n07(
    oracle: SchedulerProcess, priority: int, feasible: tuple[str, ...]
) -> None:
    nominated = a_pod("nominated", cpu="2", priority=10, nominated_node="n1")
    cluster = [a_node("n1", cpu="3"), a_node("n2", cpu="3"), nominated, a_pod("p", cpu="2", priority=priority)]
    (outcome,) = oracle.ask(cluster, pod="default/p").pods
    assert outcome.feasible == feasible


def test_a_nominated_node_that_fits_is_taken_without_a_look_at_others_n04(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1", cpu="2"), a_node("n2", cpu="64"), a_pod("p", nominated_node="n1")]
    outcome = verdict(oracle, *cluster)
    assert (outcome.feasible, outcome.node) == (("n1",), "n1")


def test_a_preemptor_holds_its_place_and_its_victims_stay_v08(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1", cpu="1"), a_pod("a", node="n1", cpu="1")]
    cluster += [a_pod("high", cpu="1", priority=10), a_pod("low", cpu="1", priority=5)]
    high, low = oracle.ask(cluster).pods
    assert (high.nominated_node, high.message) == ("n1", "0/1 nodes are available: 1 Insufficient cpu.")
    assert low.message.endswith("preemption: 0/1 nodes are available: 1 Insufficient cpu.")
    assert [pod.nominated_node for pod in oracle.ask(cluster, apply=False).pods] == ["n1", "n1"]


def test_a_preemptor_takes_the_nomination_of_pods_below_it(oracle: SchedulerProcess) -> None:
    """``later`` needs the memory that ``nominated`` holds; the preemptor wants nothing but cpu."""
    cluster = [
        a_node("n1", cpu="2", memory="8Gi"),
        a_pod("a", node="n1", cpu="1"),
        a_pod("high", cpu="2", priority=10),
        a_pod("later", cpu="0", memory="6Gi", priority=5, created=ago(9)),
        a_pod("nominated", cpu="0", memory="4Gi", priority=5, created=ago(8), nominated_node="n1"),
    ]
    answer = oracle.ask(cluster)
    assert answer.of("default/high").nominated_node == "n1"
    assert answer.of("default/later").node == "n1"
    assert oracle.ask(cluster, apply=False).of("default/later").feasible == ()


def test_dumps_come_from_files_too(oracle: SchedulerProcess, tmp_path: Path) -> None:
    """A List of mixed kinds, and a PodList whose items do not say what they are."""
    nodes, pods = tmp_path / "nodes.json", tmp_path / "pods.json"
    nodes.write_text(json.dumps(a_list(a_node("n1"), a_node("n2", unschedulable=True)), indent=4))
    plain = {key: value for key, value in a_pod("p").items() if key in {"metadata", "spec"}}
    pods.write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [plain]}))
    (outcome,) = oracle.ask(files=[nodes, pods]).pods
    assert outcome.node == "n1"


def a_profile(profile: Object) -> str:
    """A configuration; JSON, which is YAML too."""
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return json.dumps(header | {"profiles": [profile]})


def test_each_pod_is_judged_by_its_own_profile(oracle: SchedulerProcess) -> None:
    plain = {"schedulerName": "plain", "plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}
    cluster = [a_node("n1", taints=["a:NoSchedule"]), a_pod("p", spec={"schedulerName": "plain"})]
    assert verdict(oracle, *cluster, config=a_profile(plain)).node == "n1"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        pytest.param("apiVersion: kubescheduler.config.k8s.io/v1beta3", "Object 'Kind' is missing", id="kind"),
        pytest.param(
            a_profile({"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]}),
            "Invalid value: 101: not in valid range [0, 100]",
            id="args",
        ),
        pytest.param(a_profile({"plugins": {"score": {"enabled": [{"name": "Bogus"}]}}}), "Bogus", id="unknown-plugin"),
    ],
)
def test_the_error_of_a_configuration_is_the_answer(oracle: SchedulerProcess, config: str, text: str) -> None:
    answer = oracle.ask([a_node("n1"), a_pod("p")], config=config)
    assert text in answer.error
    assert answer.pods == ()
