"""What is below deploy/, read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
MONITORING = DEPLOY / "monitoring"
CHART = DEPLOY / "helm" / "restow"
#: The ways to run restow, each a kustomization.
WAYS = ("job", "cronjob", "deployment")

Object = dict[str, Any]


def documents(file: Path) -> list[Object]:
    """The objects in a file of YAML."""
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each is not None]


def manifests(directory: Path) -> Iterator[Object]:
    """The objects of a kustomization, those of its resources and components included, and without any transformation."""
    kustomization = documents(directory / "kustomization.yaml")[0]
    for listed in (*kustomization.get("resources", ()), *kustomization.get("components", ())):
        path = directory / listed
        yield from manifests(path) if path.is_dir() else documents(path)


def only(objects: Iterator[Object] | list[Object], kind: str, name: str = "") -> Object:
    """The one object of a kind, or of a kind and a name."""
    (found,) = (each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"]))
    return found


def pod_of(workload: Object) -> Object:
    """The template of the pods of a Job, CronJob or Deployment."""
    spec = workload["spec"]
    template: Object = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]
    return template


def granted(rules: list[Object]) -> set[tuple[str, str, str]]:
    """Rules as (group, resource, verb), whatever they are for."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
