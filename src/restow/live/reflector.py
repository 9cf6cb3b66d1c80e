"""One kind of a live cluster: how far its list is, and when it was heard of last.

What was heard of a kind is kept when no more comes, be it that the right is taken away, that lists fail or that a watch
hangs. It is trusted for a while, for most of that passes; then nobody knows what there is of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.client.back_off import BackOff
from restow.client.resources import RESOURCES
from restow.cluster.snapshot import ClusterStore
from restow.live.kinds import REQUIRED

#: For kinds that are refused: roles may be changed at any time, and are not known yet while an API server starts.
REFUSED = BackOff(first=1.0, cap=300.0, factor=4.0, jitter=0.1)
#: Seconds for which what was heard of a kind is trusted; the API server says each minute that nothing is missing.
TRUSTED = 180.0


@dataclass(slots=True)
class Reflector:
    """What is known of one kind."""

    kind: str
    #: A whole list has come.
    listed: bool = False
    #: Why the kind cannot be listed; None while it can, or nobody knows yet.
    refused: str | None = None
    #: Refusals in a row.
    refusals: int = 0
    #: When the connection broke last, in the event loop's time.
    broken: float = float("-inf")
    #: When what is known was last up to date, in the event loop's time.
    heard: float = float("-inf")
    #: A list that is still coming in.
    coming: ClusterStore = field(default_factory=ClusterStore)

    @property
    def settled(self) -> bool:
        """Whether it is known what there is of the kind, or that nobody may know; nodes and pods must be known."""
        return self.listed or (self.refused is not None and self.kind not in REQUIRED)

    def is_known(self, now: float) -> bool:
        """Whether what was heard of the kind may be trusted at a time."""
        return self.listed and now - self.heard <= TRUSTED

    def doubt(self, now: float) -> str | None:
        """Why it may not; None if it may."""
        if self.is_known(now):
            return None
        if not self.listed:
            return self.refused or f"{RESOURCES[self.kind].plural} have not been listed yet"
        return f"the API server has not reported on {RESOURCES[self.kind].plural} for {now - self.heard:.0f} s"
