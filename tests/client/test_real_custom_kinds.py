"""Kinds that the table of resources does not hold, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing

import pytest
from msgspec import Struct

from e2e.control_plane import ControlPlane
from e2e.waiting import wait_until
from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import NotFound
from restow.client.objects import PatchKind
from restow.client.resources import ApiResource
from restow.client.transport import Api
from restow.client.watching import Changed, Listed, follow

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class _Name(Struct, frozen=True):
    name: str


class _Spec(Struct, frozen=True):
    size: int = 0


class Widget(Struct, frozen=True, rename="camel"):
    metadata: _Name
    spec: _Spec = _Spec()
    api_version: str = "test.restow.dev/v1"
    kind: str = "Widget"


WIDGETS = ApiResource(
    kind="Widget", group="test.restow.dev", version="v1", plural="widgets", namespaced=True, type=Widget
)


@pytest.fixture
def widgets(plane: ControlPlane) -> Iterator[None]:
    """The API server serves them."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.test.restow.dev"},
        "spec": {
            "group": WIDGETS.group,
            "scope": "Namespaced",
            "names": {"plural": WIDGETS.plural, "kind": WIDGETS.kind},
            "versions": [served],
        },
    }
    plane.admin.create_all([definition])
    wait_until("the API server serves widgets", lambda: _is_served(plane), 120)
    yield
    plane.admin.call("DELETE", f"{_DEFINITIONS}/widgets.test.restow.dev")


def _is_served(plane: ControlPlane) -> bool:
    told = plane.admin.call("GET", f"{_DEFINITIONS}/widgets.test.restow.dev")
    found = {each["type"]: each["status"] for each in told.get("status", {}).get("conditions") or []}
    return found.get("Established") == "True"


@pytest.mark.usefixtures("widgets")
async def test_a_custom_kind_is_written_listed_and_watched_by_the_type_that_its_resource_carries(
    plane: ControlPlane, namespace: str
) -> None:
    async with connect(str(plane.kubeconfig)) as api:
        await _first(api, namespace)
        async with aclosing(follow(api, WIDGETS)) as news:
            seen = []
            async for each in news:
                if isinstance(each, Listed):
                    seen += each.objects
                    change = {"spec": {"size": 2}}
                    await objects.patch(api, WIDGETS, namespace, "one", change, kind=PatchKind.MERGE)
                elif isinstance(each, Changed):
                    seen.append(each.object)
                    break
    assert seen == [Widget(_Name("one"), _Spec(1)), Widget(_Name("one"), _Spec(2))]


async def _first(api: Api, namespace: str) -> None:
    """Create a widget; the path may be served a moment after the definition is established."""
    for _ in range(100):
        try:
            await objects.create(api, WIDGETS, namespace, Widget(_Name("one"), _Spec(1)))
        except NotFound:
            continue
        return
    raise AssertionError("widgets are not served")
