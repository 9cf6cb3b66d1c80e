"""The pages and their paths. Each is rendered when it is asked for, from the board, the history file, or a new plan.

One plan is made at a time for all who ask: it takes every core that Python has for threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
from aiohttp import web
from msgspec import structs

from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.files import file_bytes
from restow.application.past import HistoryRequest, past
from restow.application.planning import Planned, PlanRequest, make, rendered, report_of
from restow.application.policies import bundled_text
from restow.application.supposing import SupposedPlan, suppose
from restow.errors import ClientError, InputError
from restow.in_thread import EndlessError, in_thread
from restow.reporting.answer import headline
from restow.reporting.html import now as now_page
from restow.reporting.html.elements import Markup, tag, text
from restow.reporting.html.page import content as plan_content
from restow.reporting.html.past import RANGES, past_content, without_history
from restow.reporting.html.site import PLACES, PLAN_SCRIPT, files, site_page
from restow.reporting.html.what_if import WhatIfForm, plan_section, supposed_content, what_if_form
from restow.serving.health import Health
from restow.serving.pages import pages, plain_text
from restow.web.access import add_headers, own_site_only
from restow.web.asking import form_of, saved_dump, supposition_of
from restow.web.board import Board, News, columns

T = TypeVar("T")

#: Seconds that a page may take to be made.
_PATIENCE: Final = 600.0
#: Those that wait for a plan of their own; more are asked to come again.
_MOST_WAITING: Final = 4
#: Seconds from one word to a page to the next at most.
_QUIET: Final = 15.0
#: A comment, which pages skip.
_NOTHING_NEW: Final = ": nothing new\n\n"
_NO_PLAN: Final = "The plan is being made."


@dataclass(slots=True)
class Site:
    """What the pages are made from."""

    board: Board
    request: PlanRequest
    #: The file that ``restow run --history`` writes; None: no history is shown.
    history: str | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _waiting: int = 0

    def application(self, health: Health) -> web.Application:
        """The application with all pages, and those about the health of the process."""
        application = pages(health, None)
        application.middlewares.append(own_site_only())
        application.on_response_prepare.append(add_headers)
        add_get, add_post = application.router.add_get, application.router.add_post
        add_get("/", self._now)
        add_get("/events", self._events)
        add_get("/samples.json", self._samples)
        add_get("/plan", self._plan)
        add_get("/plan.json", self._plan_json)
        add_get("/what-if", self._what_if)
        add_post("/what-if", self._suppose)
        add_post("/dump", self._dump)
        add_get("/history", self._history)
        add_get("/static/{name}", _static)
        return application

    async def _now(self, _request: web.Request) -> web.Response:
        found = self.board
        return _page("/", PLACES["/"], now_page.now_content(found.now, self._sentence(), found.caveats))

    def _sentence(self) -> str:
        """What the plan of the next cycle comes to."""
        planned = self.board.planned
        return _NO_PLAN if planned is None else f"The plan of the next cycle: {headline(planned.plan)}."

    async def _samples(self, _request: web.Request) -> web.Response:
        body = msgspec.json.encode(columns(self.board.samples))
        return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """News for a page that is open, until it is closed: server-sent events."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        # A page that is closed ends this.
        with suppress(ConnectionResetError):
            await self._tell_news(response, shows_now=request.query.get("of") == "now")
        return response

    async def _tell_news(self, response: web.StreamResponse, *, shows_now: bool) -> None:
        board, shown = self.board, News()
        while not board.is_closed:
            before, shown = shown, replace(board.news)
            told = self._told(before, shown, shows_now=shows_now)
            # Something is written at each turn, so that a page that is gone is noticed.
            await response.write((told or _NOTHING_NEW).encode())
            if not board.has_news(shown):
                await board.changed(_QUIET)

    def _told(self, before: News, after: News, *, shows_now: bool) -> str:
        """The events that lead a page from one state to another."""
        board, events = self.board, [_event("plan", str(after.plan))] if after.plan > before.plan else []
        if shows_now and after.samples > before.samples:
            events.append(_event("sample", msgspec.json.encode(board.samples[-1]).decode()))
        if shows_now and after.now > before.now:
            events.append(_event("", now_page.now_fragment(board.now, self._sentence(), board.caveats)))
        return "".join(events)

    async def _plan(self, _request: web.Request) -> web.Response:
        planned, caveats = self.board.planned, self.board.caveats
        if planned is None:
            return _page("/plan", PLACES["/plan"], _waiting(caveats))
        return await self._plan_page(planned, _newer(self.board.news.plan, caveats))

    async def _plan_page(self, planned: Planned, *above: Markup) -> web.Response:
        shown = await in_thread(partial(_plan_elements, planned), _PATIENCE)
        return _page("/plan", headline(planned.plan), (*above, *shown), (PLAN_SCRIPT,))

    async def _plan_json(self, _request: web.Request) -> web.Response:
        planned = self.board.planned
        if planned is None:
            return plain_text(f"{_NO_PLAN}\n", HTTPStatus.SERVICE_UNAVAILABLE)
        body = await in_thread(partial(rendered, planned, "json"), _PATIENCE)
        headers = {"Content-Disposition": 'attachment; filename="plan.json"', "Cache-Control": "no-store"}
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def _what_if(self, _request: web.Request) -> web.Response:
        return _page("/what-if", PLACES["/what-if"], what_if_form(self._empty_form(), self._nodes()))

    def _empty_form(self) -> WhatIfForm:
        """A form with the policy as it is, which may be changed there."""
        return WhatIfForm(policy=self._policy())

    def _policy(self) -> str:
        """The policy as it was written; empty where it depends on the cluster."""
        if self.request.kubedescheduler is not None:
            return ""
        with suppress(InputError, UnicodeDecodeError):
            policy = self.request.policy
            return (bundled_text() if policy is None else file_bytes(policy)).decode()
        return ""

    def _nodes(self) -> tuple[str, ...]:
        return () if self.board.now is None else tuple(each.name for each in self.board.now.nodes)

    async def _suppose(self, request: web.Request) -> web.Response:
        form = form_of(await request.post(), self._policy())
        known = self.board.planned
        try:
            if known is None:
                raise InputError(_NO_PLAN)
            supposition = supposition_of(form)
            found = await self._in_turn(partial(suppose, self.request, known, supposition, Collected()))
        except _PROBLEMS as error:
            asked = what_if_form(form, self._nodes(), str(error))
            return _page("/what-if", PLACES["/what-if"], asked, status=_status(error))
        shown = await in_thread(partial(_supposed_elements, found), _PATIENCE)
        return _page("/what-if", PLACES["/what-if"], (*what_if_form(form, self._nodes()), *shown), (PLAN_SCRIPT,))

    async def _dump(self, request: web.Request) -> web.Response:
        try:
            async with saved_dump(request) as file:
                where = ClusterSource((str(file),))
                planned = await self._in_turn(partial(make, structs.replace(self.request, where=where), Collected()))
        except _PROBLEMS as error:
            asked = what_if_form(self._empty_form(), self._nodes(), str(error))
            return _page("/what-if", PLACES["/what-if"], asked, status=_status(error))
        return await self._plan_page(planned)

    async def _in_turn(self, compute: Callable[[], T]) -> T:
        """Compute when those before are done; _BusyError where too many wait."""
        if self._waiting >= _MOST_WAITING:
            raise _BusyError("other plans are being made; try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                return await in_thread(compute, _PATIENCE)
        finally:
            self._waiting -= 1

    async def _history(self, request: web.Request) -> web.Response:
        if self.history is None:
            return _page("/history", PLACES["/history"], without_history())
        since = request.query.get("since", RANGES[2])
        try:
            found = await in_thread(partial(past, HistoryRequest(self.history, since)), _PATIENCE)
        except (InputError, EndlessError) as error:
            return _page("/history", PLACES["/history"], _waiting(str(error)), status=_status(error))
        return _page("/history", PLACES["/history"], past_content(found, since))


class _BusyError(Exception):
    """Too many wait for a plan."""


_PROBLEMS: Final = (InputError, ClientError, EndlessError, _BusyError)


def _status(error: Exception) -> HTTPStatus:
    return HTTPStatus.BAD_REQUEST if isinstance(error, InputError) else HTTPStatus.SERVICE_UNAVAILABLE


def _page(
    place: str,
    title: str,
    content: tuple[Markup, ...],
    scripts: tuple[str, ...] = (),
    status: HTTPStatus = HTTPStatus.OK,
) -> web.Response:
    body = site_page(place, title, content, scripts).encode()
    response = web.Response(
        body=body, status=status, content_type="text/html", charset="utf-8", headers={"Cache-Control": "no-store"}
    )
    response.enable_compression()
    return response


def _event(name: str, data: str) -> str:
    """A server-sent event; each line of its data is one of its own."""
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {name}\n{lines}\n" if name else f"{lines}\n"


def _waiting(problem: str) -> tuple[Markup, ...]:
    said = tag("p", text(problem), class_="attention", role="alert") if problem else tag("p", text(_NO_PLAN))
    return tag("header", tag("h1", text("No plan yet" if not problem else "That cannot be shown")), said), tag("main")


def _newer(number: int, caveats: str) -> Markup:
    """What offers a newer plan, and says why there is none."""
    noted = tag("p", text(caveats), class_="attention", role="status") if caveats else Markup("")
    link = tag("a", text("Show it"), href="/plan")
    offer = tag(
        "p", text("There is a newer plan."), link, id="newer", class_="attention", data_number=number, hidden=""
    )
    return tag("div", noted, offer, id="plan-news", hx_swap="none", **{"hx-sse:connect": "/events?of=plan"})


def _plan_elements(planned: Planned) -> tuple[Markup, ...]:
    return plan_content(report_of(planned, planned.cluster.origin, (*planned.notes, *planned.missing)))


def _supposed_elements(found: SupposedPlan) -> tuple[Markup, ...]:
    below = plan_section(_plan_elements(found.planned), "The plan that follows")
    return (*supposed_content(found.supposed), below)


async def _static(request: web.Request) -> web.Response:
    found = files().get(request.match_info["name"])
    if found is None:
        raise web.HTTPNotFound
    response = web.Response(
        body=found.content,
        content_type=found.content_type,
        charset="utf-8",
        headers={"Cache-Control": "max-age=31536000"},
    )
    response.enable_compression()
    return response
