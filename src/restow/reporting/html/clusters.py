"""The index page of ``restow plan --pages``: a row for each cluster, with a link to its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from restow.reporting.clusters_lines import HEADS, cells, failures, headline
from restow.reporting.html.elements import EMPTY, Markup, cards, facts, figure, origin, section, tag, text, whole_page
from restow.reporting.html.simulation import STYLES
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.reporting.clusters_result import ClusterRow, ClustersPlan


_READING: Final = (
    "One policy, planned in each cluster by itself. CPU and memory are how unevenly they are requested over the nodes, now and after "
    "the plan: the standard deviation of the nodes' shares."
)


def form(found: ClustersPlan) -> bytes:
    """Render ``-o html``."""
    return render_clusters(found).encode()


def render_clusters(found: ClustersPlan) -> str:
    """Return the page; the same result gives the same text."""
    metadata = found.metadata
    header = tag(
        "header",
        origin(("restow plan", counted(len(found.clusters), "cluster"), metadata.generated_at)),
        tag("h1", text(headline(found))),
        tag("p", text(_READING), class_="lead"),
        tag("dl", *_figures(found), class_="figures"),
    )
    wrong = cards({"Cluster": text(name), "Problem": text(why)} for name, why in failures(found))
    versions = facts(
        {"restow": metadata.restow_version, "policy": metadata.policy, "document": f"{found.kind} {found.api_version}"}
    )
    main = tag(
        "main",
        section("clusters", "Clusters", cards(_row(each) for each in found.clusters)),
        section("problems", "Problems", wrong) if wrong else EMPTY,
        section("versions", "Versions", versions),
    )
    return whole_page(f"{headline(found)} - restow plan", (header, main), [*STYLES])


def _figures(found: ClustersPlan) -> Iterator[Markup]:
    planned = [each for each in found.clusters if not each.error]
    certain = sum(each.certain for each in planned)
    pods, nodes = (sum(getattr(each, name) for each in planned) for name in ("pods", "nodes"))
    yield figure("Clusters", text(f"{len(found.clusters):,}"), f"{len(found.failed):,} with a problem")
    yield figure("Moves", text(f"{found.moves:,}"), f"the gain of {certain:,} is certain")
    yield figure("Pods", text(f"{pods:,}"), f"on {counted(nodes, 'node')}")
    staying = sum(each.staying for each in planned)
    yield figure("Staying", text(f"{staying:,}"), "wanted by a strategy, and refused")


def _row(row: ClusterRow) -> dict[str, Markup]:
    heads = ("CPU" if each == "CPU" else each.capitalize() for each in HEADS)
    found = {head: text(cell.replace(" -> ", " → ")) for head, cell in zip(heads, cells(row), strict=True)}
    found["Pending"] = text("-" if row.error else f"{row.pending_pods:,}")
    if row.file:
        found["Cluster"] = tag("a", found["Cluster"], href=f"{quote(row.file)}.html")
        found["Plan"] = tag("a", text("JSON"), href=f"{quote(row.file)}.json")
    else:
        found["Plan"] = text("none" if row.error else "")
    return found
