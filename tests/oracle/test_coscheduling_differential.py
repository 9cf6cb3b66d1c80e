"""Which groups Coscheduling lets have nodes, compared with the plugin of kubernetes-sigs/scheduler-plugins itself.

PreFilter and Permit are asked about random groups. Whole groups are compared on a real control plane
(``e2e/test_scheduler_coscheduling.py``). The program links Kubernetes 1.33, so it is built with that minor's scheduler
(``make oracle MINORS=1.33``). ``RESTOW_COSCHEDULING_CASES=20000`` compares more clusters.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from builders import Object, a_node, a_pod
from builders.cluster_objects import a_coscheduled_group
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.cluster.pods import PENDING
from restow.scheduling.framework.coscheduled_groups import CoscheduledGroups
from restow.scheduling.plugins.coscheduling import Coscheduling, CoschedulingArgs
from scheduling.plugins.asking import a_context

pytestmark = pytest.mark.oracle

BINARY = Path(__file__).resolve().parents[2] / "build" / "oracle" / "coscheduling"
CASES = int(os.environ.get("RESTOW_COSCHEDULING_CASES", "3000"))
GPU = "example.com/gpu"
_GROUPS = ("a", "b", "c")
_WANTED = {
    "cpu": ("1", "2500m", "6", "9"),
    "memory": ("1Gi", "6Gi", "9000M"),
    "ephemeral-storage": ("1Gi", "20Gi"),
    GPU: ("0", "1", "3"),
    "example.com/none": ("0", "1"),
}


def a_question(random: Random) -> Object:
    nodes = [a_machine(random, f"n{at}") for at in range(random.randint(1, 3))]
    groups = [a_group(random, name) for name in _GROUPS if random.random() < 0.8]
    pods = [a_pod_of(random, f"p{at}", [each["metadata"]["name"] for each in nodes]) for at in range(8)]
    return {"nodes": nodes, "groups": groups, "pods": pods}


def a_machine(random: Random, name: str) -> Object:
    node = a_node(name, cpu=random.choice(("2", "4")), memory="4Gi", pods=random.choice(("2", "4", "110")))
    amounts = {GPU: "2"} if random.random() < 0.5 else {}
    amounts |= {"ephemeral-storage": "8Gi"} if random.random() < 0.5 else {}
    node["status"]["allocatable"] |= amounts
    return node


def a_group(random: Random, name: str) -> Object:
    wanted = random.sample(sorted(_WANTED), random.randint(1, 3)) if random.random() < 0.6 else []
    return a_coscheduled_group(name, random.randint(1, 4), **{each: random.choice(_WANTED[each]) for each in wanted})


def a_pod_of(random: Random, name: str, nodes: list[str]) -> Object:
    node = random.choice(nodes) if random.random() < 0.4 else None
    labels = {POD_GROUP_LABEL: random.choice(_GROUPS)} if random.random() < 0.85 else {}
    phase = random.choice(("Running", "Running", "Succeeded")) if node else "Pending"
    more = {GPU: "1"} if random.random() < 0.2 else {}
    return a_pod(
        name, node=node, labels=labels, phase=phase, cpu=random.choice(("0", "500m", "1")), memory="1Gi", requests=more
    )


def predicted(asked: Object) -> Iterator[Object]:
    """What restow says of the pods without a node; a pod that passes takes its place in its group."""
    context = a_context(*asked["nodes"], *asked["groups"], *asked["pods"], a_coscheduled_group("there are lists", 1))
    plugin, groups = Coscheduling(context, CoschedulingArgs()), CoscheduledGroups(context.state)
    arrived = Counter[str]()
    for each in asked["pods"]:
        name = each["metadata"]["name"]
        pod = context.state.cluster.pods.names.index(name)
        if context.state.node[pod] != PENDING:
            continue
        failure, key = plugin.prefilter(pod).failure, groups.of(pod)
        if failure is not None:
            yield {"name": name, "refused": failure.reasons[0], "permit": ""}
        elif key is None:
            yield {"name": name, "refused": "", "permit": "PodGroup not specified"}
        elif (found := groups.found(key)) is None:
            yield {"name": name, "refused": "", "permit": "PodGroup not found"}
        else:
            arrived[key.name] += 1
            enough = len(groups.placed(key)) + arrived[key.name] >= found.spec.min_member
            yield {"name": name, "refused": "", "permit": "Success" if enough else "Wait"}


def _told(verdict: Object) -> Object:
    """The plugin prints what lacks as it is in memory."""
    return verdict | {"refused": verdict["refused"].partition(":")[0]} if "gap" in verdict["refused"] else verdict


def test_groups_are_let_in_as_by_the_plugin_itself() -> None:
    if not BINARY.exists():
        pytest.skip("build/oracle/coscheduling is not built: make oracle MINORS=1.33")
    random, kinds = Random("coscheduling"), Counter[str]()
    questions = [a_question(random) for _ in range(CASES)]
    lines = "\n".join(json.dumps(each) for each in questions) + "\n"
    ran = subprocess.run([BINARY, "ask"], input=lines, capture_output=True, text=True, check=True, timeout=3600)
    for number, (asked, line) in enumerate(zip(questions, ran.stdout.splitlines(), strict=True)):
        ours, theirs = (list(map(_told, each)) for each in (predicted(asked), json.loads(line)["pods"]))
        assert ours == theirs, f"case {number}: {json.dumps(asked)}"
        kinds.update(each["permit"] or each["refused"].split()[0] for each in theirs)
    assert set(kinds) == {"pre-filter", "resource", "Success", "Wait", "PodGroup not specified", "PodGroup not found"}
    assert min(kinds.values()) > CASES // 20, kinds
