"""Lists in pages."""

from __future__ import annotations

import asyncio

import pytest

from client.double import Answer, Double, a_list, a_status, an_answer, an_api
from restow.client.errors import Gone, MalformedReply
from restow.client.flow_control import TokenBucket
from restow.client.listing import Page, Selection, all_objects, pages, readable_objects
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.errors import ClientError
from restow.kube.decoding import ObjectName, Unreadable

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PODS = RESOURCES["Pod"]
PATH = "/api/v1/pods"
EXPIRED = a_status(410, "Expired", "The provided continue parameter is too old")


def names(page: Page) -> list[str]:
    return [each.metadata.name for each in page.objects]


async def listed(api: Api, selection: Selection | None = None) -> list[Page]:
    return [page async for page in pages(api, PODS, *([selection] if selection else []))]


async def test_pages_follow_the_continue_token(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a", "b", proceed="more"), a_list("c", version="10"))

    first, second = await listed(api)

    assert (names(first), first.first, first.last) == (["a", "b"], True, False)
    assert (names(second), second.first, second.last) == (["c"], False, True)
    assert second.resource_version == "10"
    assert [asked.params for asked in double.asked] == [{"limit": "500"}, {"limit": "500", "continue": "more"}]


async def test_a_selection_is_asked_for_on_every_page(api: Api, double: Double) -> None:
    path = "/api/v1/namespaces/dev/pods"
    double.answers("GET", path, a_list("a", proceed="more"), a_list("b"))

    await listed(api, Selection(namespace="dev", labels="app=x", fields="status.phase!=Failed"))

    assert all(
        asked.params.items() >= {"labelSelector": "app=x", "fieldSelector": "status.phase!=Failed"}.items()
        for asked in double.asked
    )
    assert len(double.asked) == 2


async def test_a_list_counts_once_against_the_limit(double: Double) -> None:
    double.answers("GET", PATH, *[a_list("a", proceed=f"more-{at}") for at in range(20)], a_list("b"))
    async with an_api(double.url, limit=TokenBucket(0.1, 1)) as api:
        await listed(api)
        assert asyncio.get_running_loop().time() < 1
        await listed(api)
        assert asyncio.get_running_loop().time() >= 10


async def test_a_page_that_is_its_own_next_one_ends_the_list(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a", proceed="more"))

    with pytest.raises(MalformedReply, match="GET /api/v1/pods: the list never ends"):
        await listed(api)

    assert len(double.asked) == 2


async def test_an_expired_token_begins_the_list_again(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a", proceed="old"), EXPIRED, a_list("a", proceed="new"), a_list("b"))

    assert [(names(page), page.first) for page in await listed(api)] == [(["a"], True), (["a"], True), (["b"], False)]
    assert "continue" not in double.asked[2].params


async def test_all_objects_are_those_of_the_list_that_was_finished(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a", proceed="old"), EXPIRED, a_list("a", proceed="new"), a_list("b"))

    assert [each.metadata.name for each in await all_objects(api, PODS)] == ["a", "b"]


async def test_one_that_cannot_be_read_is_named_where_all_are_needed(api: Api, double: Double) -> None:
    odd = {"metadata": {"name": "odd"}, "spec": {"priority": "high"}}
    double.answers("GET", PATH, an_answer({"metadata": {}, "items": [{"metadata": {"name": "a"}}, odd]}))

    with pytest.raises(ClientError, match=r"^Pod odd cannot be read: spec\.priority: "):
        await readable_objects(api, PODS)
    assert [each.metadata.name for each in await all_objects(api, PODS)] == ["a", "odd"]


async def test_a_list_that_expires_again_and_again_is_given_up(api: Api, double: Double) -> None:
    double.answers("GET", PATH, EXPIRED)

    with pytest.raises(Gone):
        await listed(api)
    assert len(double.asked) == 4


async def test_trouble_between_pages_does_not_begin_the_list_again(api: Api, double: Double) -> None:
    cut = Answer((b'{"metadata": {}, "items": [',), cut=True)
    double.answers("GET", PATH, a_list("a", proceed="more"), a_status(503), cut, a_list("b"))

    assert [names(page) for page in await listed(api)] == [["a"], ["b"]]


@pytest.mark.parametrize("items", [[], None])
async def test_no_objects_is_one_empty_page(api: Api, double: Double, items: list[object] | None) -> None:
    double.answers("GET", PATH, an_answer({"metadata": {"resourceVersion": "7"}, "items": items}))

    assert await listed(api) == [Page((), first=True, last=True, resource_version="7")]


async def test_null_members_are_as_good_as_absent(api: Api, double: Double) -> None:
    double.answers("GET", PATH, an_answer({"metadata": {}, "items": [{"metadata": {"name": "a", "namespace": None}}]}))

    assert [names(page) for page in await listed(api)] == [["a"]]


async def test_an_unreadable_object_names_its_field(api: Api, double: Double) -> None:
    double.answers("GET", PATH, an_answer({"items": [{"spec": {"priority": "high"}}]}))

    with pytest.raises(MalformedReply, match=r"Expected `int \| null`, got `str` - at `\$.items\[0\].spec.priority`"):
        await listed(api)


async def test_an_unreadable_object_with_a_name_is_named_and_the_others_are_read(api: Api, double: Double) -> None:
    odd = {"metadata": {"name": "odd", "namespace": "shop"}, "spec": {"priority": "high"}}
    others = [{"metadata": {"name": name}, "spec": {"priority": None}} for name in "ab"]
    double.answers("GET", PATH, an_answer({"metadata": {"resourceVersion": "7"}, "items": [others[0], odd, others[1]]}))

    (page,) = await listed(api)
    assert names(page) == ["a", "odd", "b"]
    assert page.objects[1] == Unreadable(ObjectName("odd", "shop"), "spec.priority: Expected `int | null`, got `str`")
    assert page.resource_version == "7"


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        pytest.param("Pod", {"spec": {"containers": [{"env": [{"name": "X", "value": "s3cret"}]}]}}, id="env value"),
        pytest.param("Pod", {"metadata": {"annotations": {"own": "s3cret"}}}, id="pod annotation"),
        pytest.param("Deployment", {"metadata": {"annotations": {"last-applied": "s3cret"}}}, id="annotation"),
        pytest.param(
            "Deployment", {"spec": {"template": {"spec": {"containers": [{"args": ["s3cret"]}]}}}}, id="template"
        ),
        pytest.param("Namespace", {"metadata": {"managedFields": [{"manager": "s3cret"}]}}, id="managed fields"),
    ],
)
async def test_what_decisions_do_not_read_never_becomes_an_object(
    api: Api, double: Double, kind: str, item: dict[str, object]
) -> None:
    resource = RESOURCES[kind]
    double.answers("GET", resource.path(), an_answer({"items": [item]}))

    assert ["s3cret" in repr(page.objects) async for page in pages(api, resource)] == [False]
