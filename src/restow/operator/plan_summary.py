"""The last plan of the descheduler, as its ConfigMap says: what ``restow run --publish-plan`` writes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from restow.operator.objects import Object
from restow.operator.rights import PLAN_CONFIG_MAP
from restow.running.publishing import SUMMARY, PlanSummary

#: Bytes of a summary that belongs into a status; those of restow have a few hundred.
_LARGEST: Final = 10_000


def summary_in(there: Mapping[tuple[str, str, str], Object]) -> Object | None:
    """Return the summary of the last plan for a status, None where there is none that can be read."""
    found = next(
        (thing for (kind, _, name), thing in there.items() if (kind, name) == ("ConfigMap", PLAN_CONFIG_MAP)), {}
    )
    text = (found.get("data") or {}).get(SUMMARY, "")
    if len(text) > _LARGEST:
        return None
    try:
        summary = msgspec.json.decode(text, type=PlanSummary)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return {**msgspec.to_builtins(summary), "configMap": PLAN_CONFIG_MAP}
