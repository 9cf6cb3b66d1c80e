"""The house as a whole: no module or folder needs itself by way of others, and a public class has a name of its own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import restow

SOURCES = Path(restow.__file__).parent
#: Names that the API has twice, or two APIs have: lean and whole objects of Kubernetes, policies of two versions and of
#: KubeDescheduler, a kubeconfig, kube-scheduler's plugin and the field that it reads; and the front door's own.
TWICE = frozenset(
    (
        *("Cluster", "ContainerStatus", "Context", "ControllerRevision", "DeschedulerPolicy", "EvictionLimits", "Job"),
        *("JobSpec", "JobStatus", "Namespace", "Node", "NodeAffinity", "PluginConfig", "PluginSet", "Plugins", "Pod"),
        *(
            "PodDisruptionBudget",
            "PodDisruptionBudgetStatus",
            "PodStatus",
            "PodTemplate",
            "PriorityClass",
            "Prometheus",
        ),
        *("ReplicationController", "ReplicationControllerSpec", "RevisedSpec", "RevisionData", "RollingUpdate"),
        "UpdateStrategy",
    )
)

#: Fields that more than two files explain, because several kinds of objects have them, each with a meaning of its own.
OF_SEVERAL_KINDS = {
    "labelSelector": "of spread constraints, and of arguments in policies",
    "maxUnavailable": "of budgets, DaemonSets and Deployments",
    "nodeSelector": "of pods, and of policies",
    "resourceVersion": "of every object",
}
#: Rules of kube-scheduler, of controllers and of the eviction API, with the file where a search for the field ends.
DECIDED_IN = {
    "addedAffinity": "scheduling.plugins.node_affinity",
    "evictLocalStoragePods": "descheduling.protections",
    "maxNoOfPodsToEvictPerNamespace": "descheduling.limits",
    "maxNoOfPodsToEvictPerNode": "descheduling.limits",
    "maxSkew": "scheduling.plugins.pod_topology_spread",
    "nominatedNodeName": "scheduling.framework.waiting_pods",
    "podFailurePolicy": "workloads.jobs",
    "podManagementPolicy": "workloads.controllers",
    "podMaxBackoffSeconds": "scheduling.queueing.queued_pods",
    "podReplacementPolicy": "workloads.jobs",
    "preemptionPolicy": "scheduling.plugins.default_preemption",
    "schedulingGates": "scheduling.framework.waiting_pods",
    "unhealthyPodEvictionPolicy": "cluster.budgets",
    "volumeBindingMode": "scheduling.plugins.volume_binding",
}


def name_of(file: Path) -> str:
    parts = file.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in SOURCES.rglob("*.py")}
TREES = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in MODULES.items()}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of restow that a tree imports: at once, when a function runs, or for types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.module and child.module.startswith("restow"):
            full = (f"{child.module}.{each.name}" for each in child.names)
            yield from (each if each in MODULES else child.module for each in full)
        yield from imported(child)


GRAPH = {name: set(imported(tree)) - {name} for name, tree in TREES.items()}


def order(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def folder_of(name: str) -> str:
    return name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert len(order(GRAPH)) == len(MODULES)


def test_no_folder_imports_itself_by_way_of_others() -> None:
    folders: dict[str, set[str]] = defaultdict(set)
    for name, needs in GRAPH.items():
        here = folder_of(name)
        for each in map(folder_of, needs):
            if not (here.startswith(each) or each.startswith(here)):
                folders[here].add(each)
    assert len(order(folders)) > 30


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in TWICE} == {}
    assert {name for name in TWICE if len(homes[name]) < 2} == set()


def explanations(name: str) -> str:
    """The docstrings of a module, and its comments about names."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node) or "" for node in ast.walk(TREES[name]) if isinstance(node, kinds))
    comments = (
        line for line in MODULES[name].read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("#:")
    )
    return "\n".join((*docstrings, *comments))


#: Not the vocabulary itself, nor help texts.
EXPLANATIONS = {name: explanations(name) for name in MODULES if not name.startswith(("restow.kube.", "restow.cli."))}


def homes_of(field: str) -> list[str]:
    """The modules that explain a field of the API, by its spelling there."""
    spelled = re.compile(rf"\b{field}\b")
    return [name.removeprefix("restow.") for name, text in EXPLANATIONS.items() if spelled.search(text)]


def fields_that_are_read() -> Iterator[str]:
    """The fields of the API's objects whose names are several words, as the API spells them."""
    for name, tree in TREES.items():
        if not name.startswith(("restow.kube.objects", "restow.kube.manifests")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "_" in node.target.id:
                yield re.sub(r"_(.)", lambda found: found[1].upper(), node.target.id)


def test_a_field_of_the_api_is_explained_in_at_most_two_files() -> None:
    found = {field: homes_of(field) for field in fields_that_are_read()}
    assert len(found) > 150
    assert {field: homes for field, homes in found.items() if len(homes) > 2 and field not in OF_SEVERAL_KINDS} == {}
    assert [field for field in OF_SEVERAL_KINDS if len(homes_of(field)) < 3] == []


def test_a_rule_is_found_by_the_name_that_the_api_gives_it() -> None:
    assert [field for field, home in DECIDED_IN.items() if home not in homes_of(field)] == []
    assert {field: homes for field in DECIDED_IN if len(homes := homes_of(field)) > 2} == {}


def test_no_test_patches_a_private_constant() -> None:
    patched = re.compile(r"setattr\([^\n]*[\".]_[A-Z][A-Z_]+\b")
    tests = Path(__file__).parent
    assert [str(file) for file in tests.rglob("*.py") if patched.search(file.read_text(encoding="utf-8"))] == []
