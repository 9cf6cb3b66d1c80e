"""What a VerticalPodAutoscaler makes of a new pod, compared with its own admission code on random pods and policies.

``RESTOW_AUTOSCALER_CASES=20000`` compares more. LimitRanges are not read, so there are none.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from restow.kube.objects import ResourceRequirements, VerticalPodAutoscaler
from restow.workloads import next_parts
from restow.workloads.autoscaling import scaled

pytestmark = pytest.mark.oracle

BINARY = Path(__file__).resolve().parents[2] / "build" / "oracle" / "verticalpodautoscaler"
CASES = int(os.environ.get("RESTOW_AUTOSCALER_CASES", "2000"))
Object = dict[str, Any]
CPU = ("1m", "10m", "100m", "250m", "333m", "1", "1500m", "2", "4")
MEMORY = ("1", "100Mi", "128Mi", "333333333", "1Gi", "1500Mi", "2G", "4Gi")
NAMES = ("app", "proxy")


def amounts(random: Random, share: float = 0.6) -> Object:
    """Quantities of some resources."""
    found = {"cpu": random.choice(CPU), "memory": random.choice(MEMORY)}
    return {name: amount for name, amount in found.items() if random.random() < share}


def a_container(random: Random, name: str) -> Object:
    """A container whose requests are within its limits, as the API server wants it; limits alone are requests too."""
    requests, limits = amounts(random), {}
    for resource in ("cpu", "memory"):
        if random.random() < 0.5:
            base = requests.get(resource)
            values = CPU if resource == "cpu" else MEMORY
            larger = [each for each in values if base is None or not_less(each, base)]
            limits[resource] = random.choice(larger)
            requests.setdefault(resource, limits[resource])
    resources = {field: given for field, given in (("requests", requests), ("limits", limits)) if given}
    return {"name": name, "image": "i", "resources": resources}


def not_less(one: str, other: str) -> bool:
    """Whether a quantity is not less than another."""
    found = next_parts.quantities({"a": one, "b": other})
    return found["a"] >= found["b"]


def a_policy(random: Random, name: str) -> Object:
    """A container policy whose bounds are in order."""
    policy: Object = {"containerName": name}
    if random.random() < 0.15:
        policy["mode"] = random.choice(("Off", "Auto"))
    if random.random() < 0.4:
        policy["minAllowed"] = amounts(random)
    if random.random() < 0.4:
        most = amounts(random)
        least = policy.get("minAllowed", {})
        policy["maxAllowed"] = {
            key: each for key, each in most.items() if key not in least or not_less(each, least[key])
        }
    if random.random() < 0.5:
        policy["controlledValues"] = random.choice(("RequestsOnly", "RequestsAndLimits"))
    if random.random() < 0.2:
        policy["controlledResources"] = random.choice((["cpu"], ["memory"], ["cpu", "memory"]))
    return policy


def a_case(seed: int) -> Object:
    """A pod, and the VerticalPodAutoscaler that is for it."""
    random = Random(seed)
    names = [each for each in (*NAMES, "*") if random.random() < 0.5]
    recommended = [each for each in (*NAMES, "gone") if random.random() < 0.8]
    targets = [
        {"containerName": each, "target": {"cpu": random.choice(CPU), "memory": random.choice(MEMORY)}}
        for each in recommended
    ]
    return {
        "pod": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web-0", "namespace": "default"},
            "spec": {"containers": [a_container(random, each) for each in NAMES[: random.randint(1, 2)]]},
        },
        "autoscaler": {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "updatePolicy": {"updateMode": random.choice(("Initial", "Recreate", "Auto", "InPlaceOrRecreate"))},
                "resourcePolicy": {"containerPolicies": [a_policy(random, each) for each in names]},
            },
            "status": {"recommendation": {"containerRecommendations": targets}},
        },
        "limitRanges": [],
    }


def upstream(cases: list[Object]) -> list[Object]:
    """The pods that the admission controller makes."""
    lines = "".join(f"{json.dumps(each)}\n" for each in cases)
    ran = subprocess.run([BINARY], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def restow(case: Object) -> dict[str, Any]:
    """The amounts of each container, by restow."""
    containers = {
        each["name"]: msgspec.convert(each["resources"], ResourceRequirements)
        for each in case["pod"]["spec"]["containers"]
    }
    found = containers | scaled(msgspec.convert(case["autoscaler"], VerticalPodAutoscaler), containers)
    return {name: amounts_of(each.requests, each.limits) for name, each in found.items()}


def amounts_of(requests: Object | None, limits: Object | None) -> tuple[Object, Object]:
    """Exact amounts."""
    return next_parts.quantities(requests), next_parts.quantities(limits)


def test_new_pods_request_what_the_admission_controller_gives_them() -> None:
    cases = [a_case(seed) for seed in range(CASES)]
    wrong, changed = [], 0
    for seed, (case, answer) in enumerate(zip(cases, upstream(cases), strict=True)):
        assert "error" not in answer, answer
        expected = {
            each["name"]: amounts_of(each["resources"].get("requests"), each["resources"].get("limits"))
            for each in answer["pod"]["spec"]["containers"]
        }
        found = restow(case)
        changed += any(each["resources"] for each in case["pod"]["spec"]["containers"]) and found != {
            each["name"]: amounts_of(each["resources"].get("requests"), each["resources"].get("limits"))
            for each in case["pod"]["spec"]["containers"]
        }
        if found != expected:
            wrong.append(f"seed {seed}: {json.dumps(case)}\n  restow {found}\n  upstream {expected}")
    assert not wrong, f"{len(wrong)} of {len(cases)} differ\n" + "\n".join(wrong[:4])
    assert changed > len(cases) / 2
