"""All objects of a kind, page by page.

A page's objects refer to its bytes where they have raw fields; copy what is needed before asking for the next page, and
only one page is ever in memory. If a ``continue`` token has expired (410), the list starts again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from restow.client.errors import Gone, MalformedReply, NotFound
from restow.client.flow_control import REQUESTS
from restow.client.resources import ApiResource
from restow.client.transport import Api
from restow.errors import ClientError
from restow.kube import decoding
from restow.kube.decoding import DECODING_ERRORS, Unreadable, decode_or_name

#: Objects a page, as client-go asks for.
_PAGE = 500
#: How often one list is begun in all.
_BEGINNINGS = 4

T = TypeVar("T")


class Selection(Struct, frozen=True):
    """Which objects of a kind; all of them by default."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def params(self) -> dict[str, str]:
        """The selectors as parameters."""
        chosen = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: text for name, text in chosen.items() if text}


#: All objects of a kind.
EVERYTHING = Selection()


class Page(Struct, frozen=True):
    """Some objects of a list; one that is not what the API promises is an ``Unreadable``."""

    objects: Sequence[Any]
    #: Begins a list; what an unfinished list before it brought does not count.
    first: bool
    #: Completes the list.
    last: bool
    #: The version of the list, from which a watch may continue.
    resource_version: str


class _ListMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    proceed: str = field(default="", name="continue")


class _List(Struct, Generic[T], frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[T, ...] | None = None


async def as_served(api: Api, resource: ApiResource) -> ApiResource:
    """The newest version of a kind that the API server has; the oldest where it has none."""
    *newer, oldest = resource.versions()
    for version in newer:
        try:
            await api.read(version.path(), {"limit": "1"}, len)
        except NotFound:
            continue
        return version
    return oldest


async def pages(api: Api, resource: ApiResource, selection: Selection = EVERYTHING) -> AsyncGenerator[Page, None]:
    """The pages of one consistent list; Gone if it could not be finished however often it was begun."""
    resource = await as_served(api, resource)
    for beginning in range(1, _BEGINNINGS + 1):
        try:
            async with aclosing(_from_the_start(api, resource, selection)) as found:
                async for page in found:
                    yield page
                    del page
        except Gone:
            if beginning == _BEGINNINGS:
                raise
            await asyncio.sleep(REQUESTS.wait(beginning))
        else:
            return


async def all_objects(api: Api, resource: ApiResource, selection: Selection = EVERYTHING) -> list[Any]:
    """Return the objects of one list, all in memory; one that is not what the API promises is an ``Unreadable``. ClientError."""
    found: list[Any] = []
    async with aclosing(pages(api, resource, selection)) as listed:
        async for page in listed:
            if page.first:
                found = []
            found += page.objects
    return found


async def readable_objects(api: Api, resource: ApiResource) -> list[Any]:
    """Return the objects of one list, all in memory; ClientError also for one that is not what the API promises."""
    found = await all_objects(api, resource)
    for each in found:
        if isinstance(each, Unreadable):
            raise ClientError(f"{resource.kind} {each.metadata.name} cannot be read: {each.why}")
    return found


async def _from_the_start(api: Api, resource: ApiResource, selection: Selection) -> AsyncGenerator[Page, None]:
    decoder = msgspec.json.Decoder(_List[resource.type])  # type: ignore[name-defined]
    params = selection.params() | {"limit": str(_PAGE)}
    path = resource.path(selection.namespace)
    first = True
    while True:
        listed: _List[Any] = await api.read(path, params, partial(_decode, decoder, resource))
        proceed = listed.metadata.proceed
        page = Page(listed.items or (), first, not proceed, listed.metadata.resource_version)
        del listed
        yield page
        # Nothing of this page is kept while the next one is fetched.
        del page
        if not proceed:
            return
        if proceed == params.get("continue"):
            raise MalformedReply(f"GET {path}: the list never ends: a page names itself as the next one")
        params["continue"], first = proceed, False
        # A list counts once against the limit, as it does for clients that ask for all of it in one request: pages come
        # one after the other, and five a second would be a minute for 150,000 pods.
        api = api.without_limit()


def _decode(decoder: msgspec.json.Decoder[_List[Any]], resource: ApiResource, body: bytes) -> _List[Any]:
    """A page; where it cannot be decoded as a whole, object by object."""
    try:
        return decoding.decode(decoder, body)
    except DECODING_ERRORS as error:
        one_by_one = msgspec.json.Decoder(resource.type)
        try:
            page = msgspec.json.decode(body, type=_List[Raw])
            return _List(page.metadata, tuple(decode_or_name(one_by_one, each) for each in page.items or ()))
        except DECODING_ERRORS:
            raise error from None
