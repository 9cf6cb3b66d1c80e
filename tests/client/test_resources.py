"""The table of API paths."""

from __future__ import annotations

import pytest

from restow.client.resources import LEASES, RESOURCES
from restow.kube.objects import KINDS
from restow.live.reading import STORED


def test_every_kind_that_an_api_server_may_have_has_a_path() -> None:
    assert RESOURCES.keys() == KINDS.keys() - set(STORED)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (RESOURCES["Pod"].path(), "/api/v1/pods"),
        (RESOURCES["Pod"].path("dev"), "/api/v1/namespaces/dev/pods"),
        (RESOURCES["Pod"].path("dev", "a", "eviction"), "/api/v1/namespaces/dev/pods/a/eviction"),
        (RESOURCES["Node"].path("", "n1"), "/api/v1/nodes/n1"),
        (RESOURCES["PodDisruptionBudget"].path(), "/apis/policy/v1/poddisruptionbudgets"),
        (LEASES.path("kube-system", "restow"), "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/restow"),
        (RESOURCES["Pod"].path("dev", "../../nodes"), "/api/v1/namespaces/dev/pods/..%2F..%2Fnodes"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_the_rule_that_permits_it() -> None:
    rule = RESOURCES["PodDisruptionBudget"].rule(("get", "list", "watch"))

    assert rule == '{apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [get, list, watch]}'
