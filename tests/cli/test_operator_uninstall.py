"""``restow operator uninstall``: what it shows, and its exit status. The steps themselves are tried in tests/operator."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from builders.kubedeschedulers import an_object
from builders.memory_api import MemoryApi
from restow.application import removing
from restow.cli import operating as command
from restow.client.errors import Forbidden
from restow.operator import uninstalling
from restow.operator.objects import LABELS
from restow.operator.resource import NAMESPACE

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/openshift-descheduler-operand"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryApi:
    """A cluster with an operator."""
    api = MemoryApi()
    resource = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
    api.put(resource, an_object("LongLifecycle"))
    api.put(ROLE, {"metadata": {"name": "openshift-descheduler-operand", "labels": dict(LABELS)}})
    api.put(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"name": NAMESPACE}})

    @asynccontextmanager
    async def connect(*_: Any) -> AsyncIterator[Any]:
        api.endpoint = SimpleNamespace(server="https://cluster.example.com:6443", warnings=())  # type: ignore[attr-defined]
        yield api

    monkeypatch.setattr(removing, "connect", connect)
    monkeypatch.setattr(uninstalling, "PAUSE", 0.0)
    return api


def forbid_the_role(api: MemoryApi) -> None:
    def trouble(method: str, path: str) -> None:
        if (method, path) == ("DELETE", ROLE):
            raise Forbidden(403, "Forbidden", "no")

    api.trouble = trouble


def test_it_shows_what_there_is_and_says_that_nothing_is_left(restow, cluster):
    ran = restow("operator", "uninstall", "--yes")
    assert ran.status == 0
    assert ran.out.splitlines() == [
        "STEP       KIND             NAME",
        f"resource   KubeDescheduler  {NAMESPACE}/cluster",
        "objects    ClusterRole      openshift-descheduler-operand",
        f"namespace  Namespace        {NAMESPACE}",
        "3 objects removed; nothing is left",
    ]
    assert ran.err.splitlines() == [
        "deleting the KubeDescheduler; the operator removes what it made for it",
        "deleting what the operator has left",
        "deleting the namespace",
    ]


def test_what_is_left_is_listed_with_the_reason(restow, cluster):
    forbid_the_role(cluster)
    ran = restow("operator", "uninstall", "--yes")
    assert ran.status == 1
    assert ran.out.endswith(
        "\n1 object left:\nSTEP     KIND         NAME\nobjects  ClusterRole  openshift-descheduler-operand\n"
    )
    assert "deleting what the operator has left: the API server answered 403 Forbidden: no" in ran.err


def test_as_json(restow, cluster):
    forbid_the_role(cluster)
    ran = restow("operator", "uninstall", "--yes", "-o", "json")
    told = json.loads(ran.out)
    assert (ran.status, told["kind"], told["interrupted"]) == (1, "OperatorRemoval", False)
    assert [each["name"] for each in told["removed"]] == ["cluster", NAMESPACE]
    assert told["left"] == [
        {"step": "objects", "kind": "ClusterRole", "name": "openshift-descheduler-operand", "namespace": ""}
    ]
    assert len(told["problems"]) == 1


def test_where_there_is_nothing_it_says_so(restow, cluster):
    restow("operator", "uninstall", "--yes")
    assert restow("operator", "uninstall", "--yes") == (0, "there is no operator\n", "")


def test_without_a_terminal_it_asks_nobody(restow, cluster):
    ran = restow("operator", "uninstall")
    assert (ran.status, ran.err) == (2, "there is no terminal to ask at: add --yes to remove everything\n")
    assert cluster.written == []


def test_whoever_does_not_agree_keeps_everything(restow, cluster, monkeypatch):
    monkeypatch.setattr(command, "can_ask", lambda: True)
    ran = restow("operator", "uninstall", stdin=b"n\n")
    assert ran.status == 1
    assert "Remove 3 objects from cluster.example.com:6443? [y/N]" in ran.err
    assert cluster.written == []


def test_a_time_that_is_none(restow):
    ran = restow("operator", "uninstall", "--yes", "--timeout", "soon")
    assert ran.status == 2
    assert "--timeout" in ran.err
