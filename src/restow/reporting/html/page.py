"""``-o html``: the whole page in one file.

Style and script are inlined from the package, and the plan itself travels in the page as JSON, so nothing is ever
fetched; a content security policy that names the hashes of both holds the page to that.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from restow.reporting.answer import headline, predicts
from restow.reporting.html.answer import answer
from restow.reporting.html.cluster import MOST_CARDS, cluster
from restow.reporting.html.context import policy, versions
from restow.reporting.html.elements import EMPTY, Markup, tag, text
from restow.reporting.html.heat_map import heat_data
from restow.reporting.html.moves import moves
from restow.reporting.html.refusals import refusals
from restow.reporting.html.usage import usage
from restow.reporting.json import compact_json, document

if TYPE_CHECKING:
    from restow.reporting.report import Report


def render_html(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    style, script = _packaged("style.css"), _packaged("script.js")
    head = tag("head", *_meta(report, style, script), tag("style", style))
    return f"<!doctype html>\n{tag('html', head, _body(report, script), lang='en')}\n"


def _packaged(name: str) -> Markup:
    return Markup(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _meta(report: Report, style: str, script: str) -> tuple[Markup, ...]:
    allowed = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    return (
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", text(f"{headline(report.plan)} - restow plan")),
    )


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def _body(report: Report, script: Markup) -> Markup:
    decided = (cluster(report), moves(report.plan), refusals(report.plan), usage(report.plan))
    main = (*decided, policy(report.policy), versions(report))
    data = _data("plan", compact_json(document(report.plan)))
    heat = _data("heat", heat_data(report)) if len(report.loads) > MOST_CARDS else EMPTY
    return tag("body", answer(report), _contents(report), tag("main", *main), data, heat, tag("script", script))


def _contents(report: Report) -> Markup:
    moving = "Moves" if predicts(report.plan) else "Evictions"
    places = {"cluster": "Cluster", "moves": moving, "stays": "Refusals"}
    places |= {"usage": "Usage"} if report.plan.usage else {}
    places |= {"policy": "Policy", "versions": "Versions"}
    links = (tag("a", text(title), href=f"#{name}") for name, title in places.items())
    return tag("nav", *links, aria_label="Contents")


def _data(name: str, data: bytes) -> Markup:
    """Embed JSON; an escaped ``<`` cannot end the element, whatever a string in the document says."""
    safe = Markup(data.replace(b"<", rb"\u003c").decode())
    return tag("script", safe, id=name, type="application/json")
