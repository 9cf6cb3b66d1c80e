"""In ``prove`` no policy drives a workload round, whatever the cluster wants of it; of these same ones, ``upstream`` drives many."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import HOSTNAME, ZONE, a_node, node_affinity, node_term, selector, spread
from builders.policies import a_config, a_policy, a_profile
from simulating.manifests import a_template
from simulating.scenarios.staging import Staged

WHEN = st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])
CPU = st.sampled_from(["200m", "700m", "1500m", "3"])
#: Strategies that look at places, each with arguments and the extension point that it runs at.
STRATEGIES: dict[str, tuple[str, dict[str, Any]]] = {
    "RemoveDuplicates": ("balance", {}),
    "RemovePodsViolatingTopologySpreadConstraint": ("balance", {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}),
    "LowNodeUtilization": ("balance", {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}),
    "HighNodeUtilization": ("balance", {"thresholds": {"cpu": 40}}),
    "RemovePodsViolatingNodeTaints": ("deschedule", {"includePreferNoSchedule": True}),
    "RemovePodsViolatingNodeAffinity": (
        "deschedule",
        {"nodeAffinityType": ["preferredDuringSchedulingIgnoredDuringExecution"]},
    ),
}
#: LowNodeUtilization and HighNodeUtilization want opposite things, so no policy has both.
POLICIES = st.lists(st.sampled_from(sorted(STRATEGIES)), min_size=1, max_size=3, unique=True).filter(
    lambda names: not {"LowNodeUtilization", "HighNodeUtilization"} <= {*names}
)


@st.composite
def workloads(draw, name):
    """A Deployment whose pods have wishes."""
    ours, spec = selector(labels={"app": name}), {}
    constraints = [
        spread(1, key, ours, when=draw(WHEN)) for key in draw(st.sets(st.sampled_from([ZONE, HOSTNAME]), max_size=2))
    ]
    if constraints:
        spec["topologySpreadConstraints"] = constraints
    if zone := draw(st.sampled_from(["", "a", "b"])):
        spec["affinity"] = node_affinity(preferred=[(draw(st.sampled_from([1, 100])), node_term((ZONE, "In", zone)))])
    template = a_template(name, **spec)
    template["spec"]["containers"][0]["resources"]["requests"]["cpu"] = draw(CPU)
    told = {"replicas": draw(st.integers(1, 6)), "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": told}


@st.composite
def clusters(draw):
    """Workloads on two nodes, and two more nodes, some of all with a soft taint: what is there first, and what comes."""
    nodes = [
        a_node(
            f"n{number}",
            labels={HOSTNAME: f"n{number}", ZONE: zone},
            taints=draw(st.sampled_from([None, None, ["retiring:PreferNoSchedule"]])),
        )
        for number, zone in enumerate("abab", 1)
    ]
    return [*nodes[:2], *(draw(workloads(name)) for name in ("web", "db", "api"))], nodes[2:]


def a_policy_of(names):
    points = {point: [each for each in names if STRATEGIES[each][0] == point] for point in ("balance", "deschedule")}
    enabled = {point: found for point, found in points.items() if found}
    return a_policy(a_profile(*(a_config(each, STRATEGIES[each][1]) for each in names), **enabled))


def loops(cluster, names, directory, placement):
    (directory / "policy.yaml").write_text(yaml.safe_dump(a_policy_of(names)))
    descheduler = {"policy": "policy.yaml", "every": "5m", "placement": placement}
    expect = [{"never": {"loops": "any"}}]
    there, coming = cluster
    events = [{"at": "1m", "apply": coming}]
    scene = Staged(nodes=0, folder=directory, start=there, events=events, descheduler=descheduler, expect=expect)
    scene.run(3600)
    (verdict,) = scene.observer.finish()
    return verdict.objects, len(scene.descheduler.moves)


@given(clusters(), POLICIES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_prove_nothing_goes_round(tmp_path, cluster, names):
    assert loops(cluster, names, tmp_path, "prove")[0] == ()
