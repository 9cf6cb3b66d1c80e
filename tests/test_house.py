"""The house as a whole: no module or folder needs itself by way of others, and a public class has a name of its own."""

from __future__ import annotations

import ast
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


def name_of(file: Path) -> str:
    parts = file.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in SOURCES.rglob("*.py")}
TREES = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in MODULES.items()}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of restow that a tree imports when it runs: what only types need is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module and child.module.startswith("restow"):
            full = (f"{child.module}.{each.name}" for each in child.names)
            yield from (each if each in MODULES else child.module for each in full)
        yield from imported(child)


#: What each module imports; the package itself only offers names.
GRAPH = {name: {each for each in imported(tree) if each not in (name, "restow")} for name, tree in TREES.items()}


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
