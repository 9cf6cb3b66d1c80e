"""What the plan rests on: the policy as it was understood, and the versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from restow.policies.understood import DEFAULT_MARK
from restow.reporting.html.elements import Markup, section, tag, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.reporting.report import PolicyView, Report


def policy(view: PolicyView) -> Markup:
    """Write the policy; lines that restow filled in are marked."""
    name = f"{view.name} (bundled with restow)" if view.bundled else view.name
    strategies = ", ".join(view.strategies) or "no strategies"
    lines = Markup("\n".join(map(_policy_line, view.text().splitlines())))
    return section(
        "policy",
        "Policy as understood",
        tag("p", tag("b", text(name)), text(f": {strategies}. Values not set in the file are marked as defaults.")),
        tag("pre", lines, tabindex=0, aria_label="Policy in YAML"),
    )


def _policy_line(line: str) -> Markup:
    if line.endswith(DEFAULT_MARK):
        return tag("span", text(line), class_="default")
    return text(line)


def versions(report: Report) -> Markup:
    """Write what made the page, and from what."""
    return section("versions", "Versions", tag("dl", *_facts(report), class_="versions"))


def _facts(report: Report) -> Iterator[Markup]:
    plan = report.plan
    facts = {
        "restow": plan.metadata.restow_version,
        "made at": plan.metadata.generated_at,
        "cluster": report.sources,
        "placement": plan.metadata.placement,
        "document": f"{plan.kind} {plan.api_version}",
    }
    if plan.metadata.timings is not UNSET:
        facts["seconds"] = ", ".join(f"{phase} {each:.2f}" for phase, each in plan.metadata.timings.items())
    for term, value in facts.items():
        yield tag("dt", text(term))
        yield tag("dd", text(value))
