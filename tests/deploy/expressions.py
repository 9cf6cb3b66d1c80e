"""The PromQL of the alerts and of the dashboard."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from deploy.manifests import MONITORING, documents

_METRIC = re.compile(r"\b(?:restow|descheduler|scheduler|leader_election|process|python)_\w+")
#: What Grafana puts into an expression.
_VARIABLES = {'job=~"$job"': 'job=~".+"', "$__rate_interval": "5m"}


def alerts() -> list[dict[str, Any]]:
    """The rules of alerts.yaml."""
    return [rule for group in documents(MONITORING / "alerts.yaml")[0]["groups"] for rule in group["rules"]]


@cache
def dashboard() -> dict[str, Any]:
    """The dashboard."""
    read: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    return read


def panels() -> list[dict[str, Any]]:
    """The panels of the dashboard, without the titles of rows."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def questions() -> list[tuple[str, str]]:
    """Every expression with its place."""
    asked = [(f"alert {alert['alert']}", alert["expr"]) for alert in alerts()]
    return asked + [(f"dashboard {panel['title']}", each["expr"]) for panel in panels() for each in panel["targets"]]


def filled_in(question: str) -> str:
    """An expression as Grafana asks it with all jobs chosen."""
    for variable, value in _VARIABLES.items():
        question = question.replace(variable, value)
    return question


def metrics_in(question: str) -> set[str]:
    """The names of series in an expression."""
    return set(_METRIC.findall(question))
