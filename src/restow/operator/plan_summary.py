"""The last plan of the descheduler, as its ConfigMap says: what ``restow run --publish-plan`` writes there."""

from __future__ import annotations

from typing import Final

import msgspec

from restow.operator.objects import Object

#: The ConfigMap, and the key of the summary in it.
PLAN: Final = "descheduler-plan"
SUMMARY: Final = "summary.json"


def summary_in(there: dict[tuple[str, str, str], Object]) -> Object | None:
    """Return the summary of the last plan, None where there is none that can be read."""
    found = next((thing for (kind, _, name), thing in there.items() if (kind, name) == ("ConfigMap", PLAN)), {})
    try:
        return msgspec.json.decode((found.get("data") or {}).get(SUMMARY, ""), type=Object)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
