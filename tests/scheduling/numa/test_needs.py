"""What of a pod's requests a kubelet aligns, and what together."""

from __future__ import annotations

from typing import Any

from builders import Object, a_pod
from descheduling.harness import a_cluster
from restow.scheduling.numa.needs import Part, parts_of, total_of
from restow.scheduling.numa.topology import TopologyScope

NIC = "example.com/nic"
GIB = 2**30
ALIGNED = frozenset({"cpu", "memory", "hugepages-2Mi", NIC})


def a_container(name: str, *, limited: bool = True, sidecar: bool = False, **requests: str) -> Object:
    """A container; its limits are its requests."""
    amounts = {each.replace("_", "-"): value for each, value in requests.items()} | {"memory": "1Gi"}
    resources = {"requests": amounts, "limits": amounts} if limited else {"requests": amounts}
    return {"name": name, "resources": resources} | ({"restartPolicy": "Always"} if sidecar else {})


def parts(
    *containers: Object, scope: TopologyScope = TopologyScope.CONTAINER, init: tuple[Object, ...] = (), **spec: Any
) -> list[Part]:
    pods = a_cluster(a_pod("p", containers=list(containers), spec={"initContainers": list(init), **spec})).pods
    return list(parts_of(pods.tables.resources[pods.resources[0]], scope, ALIGNED))


def test_of_a_guaranteed_pod_whole_cpus_and_memory() -> None:
    assert parts(a_container("c", cpu="2")) == [Part({"cpu": 2, "memory": GIB})]
    assert parts(a_container("c", cpu="1500m")) == [Part({"memory": GIB})]


def test_of_other_pods_only_devices() -> None:
    containers = a_container("c", limited=False, cpu="2"), a_container("d", limited=False, cpu="1")
    assert parts(*containers) == []
    containers[1]["resources"]["limits"] = containers[1]["resources"]["requests"] = {"cpu": "1", NIC: "2"}
    assert parts(*containers) == [Part({NIC: 2})]


def test_nothing_of_cpu_and_memory_where_the_pod_itself_requests_them() -> None:
    own = {"requests": {"cpu": "4", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}}
    assert parts(a_container("c", cpu="2"), resources=own) == []


def test_containers_one_after_the_other() -> None:
    init = a_container("i", cpu="3"), a_container("s", cpu="1", sidecar=True)
    found = parts(a_container("c", cpu="2"), init=init)
    assert [(each.asks["cpu"], each.ends) for each in found] == [(3, True), (1, False), (2, False)]
    assert total_of(found) == {"cpu": 3, "memory": 2 * GIB}


def test_or_all_that_runs_at_one_time() -> None:
    init = a_container("i", cpu="4"), a_container("s", cpu="1", sidecar=True)
    (whole,) = parts(a_container("c", cpu="2"), scope=TopologyScope.POD, init=init)
    assert whole == Part({"cpu": 4, "memory": 2 * GIB})


def test_huge_pages_of_init_containers_alone_are_not_looked_at() -> None:
    init = {"name": "i", "resources": a_container("i", cpu="1")["resources"]}
    init["resources"] = {each: {**init["resources"][each], "hugepages-2Mi": "4Mi"} for each in ("requests", "limits")}
    (whole,) = parts(a_container("c", cpu="2"), scope=TopologyScope.POD, init=(init,))
    assert whole.gets_more
