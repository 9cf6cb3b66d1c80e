"""Which moves of a plan are live migrations of virtual machines."""

from __future__ import annotations

import pytest

from builders import HOSTNAME, Object, a_node, a_pdb, a_pod, ago, pod_anti_affinity, pod_term, selector, spread
from descheduling.harness import a_policy
from explaining.explained import explained, gates, helps
from proving.proven import TOLD, codes, landings, plans
from restow.descheduling.cycle import Cycle
from restow.executing.deciding import tasks_of
from restow.policies.policy import Policy
from restow.proving.surges import ANNOTATION

ROLE = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-vm"}
PACK = ("Rebalance", {"goal": "pack"})
#: Any pod is too old for it, so each pod that may go is moved.
OLD = ("PodLifeTime", {"maxPodLifeTimeSeconds": 60})


def launcher(*, kind: str = "VirtualMachineInstance", role: Object = ROLE, **features: object) -> Object:
    """A pod on a node that is to become empty."""
    return a_pod(
        "launcher", node="b", owner=(kind, "vm", "uid-vm"), created=ago(3600), labels=role, cpu="1", **features
    )


def planned(
    setting: str, *objects: Object, rules: tuple[Object, ...] = (), strategy: tuple[str, Object] = PACK
) -> Cycle:
    nodes = [a_node(name, cpu="8", labels={HOSTNAME: name, "zone": "z"}, unschedulable=name == "b") for name in "ab"]
    full = a_pod("full", node="a", cpu="5")
    policy = a_policy(*strategy, restow={"replacement": setting, "replacementRules": list(rules)})
    return next(plans([*nodes, full, *objects, *TOLD], policy, most=1, steering="nominate"))


def modes(cycle: Cycle) -> list[str]:
    landed = (each.landing for each in cycle.record.evictions)
    return [f"{each.mode}{' or evict' * each.evicts_instead}" for each in landed]


@pytest.mark.parametrize(
    ("setting", "mode"),
    [
        ("evict", "evict"),
        ("surge", "migrate"),
        ("auto", "migrate or evict"),
        ("annotated", "evict"),
        ("reserve", "reserve"),
        ("rollout", "evict"),
    ],
)
def test_the_policy_decides(setting: str, mode: str) -> None:
    """The launcher is proven like any pod whose template is not known: nothing speaks for another one."""
    cycle = planned(setting, launcher())
    assert landings(cycle) == {"launcher": "a"}
    assert modes(cycle) == [mode]
    assert [each.landing.certainty for each in cycle.record.evictions] == ["certain"]


@pytest.mark.parametrize(
    ("rule", "mode"),
    [
        ({"kinds": ["VirtualMachineInstance"]}, "evict"),
        ({"kinds": ["VirtualMachineInstance"], "namespaces": {"include": ["other"]}}, "migrate"),
        ({"kinds": ["Deployment", "ReplicaSet"]}, "migrate"),
        ({}, "evict"),
    ],
)
def test_the_first_rule_of_the_policy_that_holds_decides(rule: Object, mode: str) -> None:
    assert modes(planned("surge", launcher(), rules=({**rule, "replacement": "evict"},))) == [mode]


@pytest.mark.parametrize(
    ("setting", "asked", "mode"),
    [
        ("annotated", "surge", "migrate or evict"),
        ("annotated", "auto", "migrate or evict"),
        ("annotated", "evict", "evict"),
        ("annotated", "annotated", "evict"),
        ("auto", "evict", "evict"),
        ("auto", "nonsense", "migrate or evict"),
        ("surge", "auto", "migrate"),
        ("surge", "reserve", "reserve or evict"),
        ("evict", "surge", "evict"),
    ],
)
def test_the_owners_of_a_namespace_ask_for_something_else_where_the_policy_lets_them(
    setting: str, asked: str, mode: str
) -> None:
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "annotations": {ANNOTATION: asked}}}
    assert modes(planned(setting, namespace, launcher())) == [mode]


@pytest.mark.parametrize(
    "pod",
    [
        launcher(kind="VirtualMachine"),
        launcher(role={"app": "vm"}),
        launcher(spread=[spread(1, HOSTNAME, selector(labels=ROLE))]),
    ],
    ids=["another owner", "no launcher", "hard topology spread"],
)
def test_others_are_evicted(pod: Object) -> None:
    assert set(modes(planned("surge", pod))) <= {"evict"}


@pytest.mark.parametrize(("setting", "mode"), [("surge", []), ("auto", ["evict"])])
def test_a_machine_without_a_place_beside_its_launcher_goes_first_only_if_it_may(setting: str, mode: list[str]) -> None:
    """Only one of these launchers may be on the two nodes at a time."""
    apart = pod_anti_affinity([pod_term(selector(labels=ROLE), topology="zone")])
    assert modes(planned("surge", launcher(), strategy=OLD)) == ["migrate"]
    assert modes(planned(setting, launcher(affinity=apart), strategy=OLD)) == mode


def a_budget(name: str = "kubevirt-disruption-budget-x", *, owner: str = "VirtualMachineInstance") -> Object:
    """A budget over the launcher that allows no disruption."""
    budget = a_pdb(name, selector={"matchLabels": {"kubevirt.io/created-by": "uid-vm"}})
    owners = [{"kind": owner, "name": "vm", "uid": "uid-vm", "controller": True}] if owner else []
    budget["metadata"]["ownerReferences"] = owners
    return budget


@pytest.mark.parametrize(
    ("setting", "budgets", "mode", "code"),
    [
        ("surge", [a_budget()], "migrate", None),
        ("auto", [a_budget()], "migrate or evict", None),
        ("evict", [a_budget()], None, "DisruptionBudget"),
        ("surge", [a_budget("mine", owner="")], None, "DisruptionBudget"),
        ("surge", [a_budget(), a_budget("mine", owner="")], None, "DisruptionBudget"),
        ("evict", [a_budget(), a_budget("mine", owner="")], None, "SeveralBudgets"),
    ],
)
def test_kubevirts_own_budget_of_a_machine_forbids_evictions_only(
    setting: str, budgets: list[Object], mode: str | None, code: str | None
) -> None:
    """KubeVirt widens it while the machine migrates; those of other people count."""
    cycle = planned(setting, launcher(), *budgets)
    assert [task.budgets for task in tasks_of(cycle, Policy())] == [frozenset()] * (mode is not None)
    assert modes(cycle) == ([] if mode is None else [mode])
    assert codes(planned(setting, launcher(), *budgets, strategy=OLD)).get("launcher") == code


def test_a_machine_that_could_only_be_evicted_stays_where_kubevirts_budget_keeps_it() -> None:
    apart = pod_anti_affinity([pod_term(selector(labels=ROLE), topology="zone")])
    cycle = planned("auto", launcher(affinity=apart), a_budget(), strategy=OLD)
    assert codes(cycle)["launcher"] == "DisruptionBudget"


@pytest.mark.parametrize("others", [[], [a_budget("mine", owner="")]], ids=["one budget", "several"])
def test_an_explanation_says_which_budget_keeps_a_machine_that_could_only_be_evicted(others: list[Object]) -> None:
    """And what it says would help does."""
    for each in others:
        each["status"]["disruptionsAllowed"] = 1
    apart = pod_anti_affinity([pod_term(selector(labels=ROLE), topology="zone")])
    policy = a_policy(*OLD, restow={"replacement": "auto"})
    nodes = [a_node(name, cpu="8", labels={"zone": "z"}, unschedulable=name == "b") for name in "ab"]
    found = explained(policy, *nodes, launcher(affinity=apart), a_budget(), *others, pod="launcher")
    code = "SeveralBudgets" if others else "DisruptionBudget"
    assert gates(found)["budget"] == (False, code)
    name = "default/kubevirt-disruption-budget-x"
    assert helps(found) == ([f"without the budget {name}"] if others else [f"if {name} allowed 1 more disruption"])
