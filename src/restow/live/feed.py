"""One kind of a live cluster: how far its list is, and when it was heard of last."""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.client.back_off import BackOff
from restow.cluster.snapshot import ClusterIntake
from restow.live.kinds import REQUIRED

#: For kinds that are refused: roles may be changed at any time, and are not known yet while an API server starts.
REFUSED = BackOff(first=1.0, cap=300.0, factor=4.0, jitter=0.1)


@dataclass(slots=True)
class Feed:
    """What is known of one kind."""

    kind: str
    #: A whole list has come, and nothing has taken it away since.
    listed: bool = False
    #: Why the kind cannot be listed; None while it can, or nobody knows yet.
    refused: str | None = None
    #: Refusals in a row.
    refusals: int = 0
    #: When the connection broke last, in the event loop's time.
    broken: float = float("-inf")
    #: When the API server said something last, in the event loop's time.
    heard: float = float("-inf")
    #: A list that is still coming in.
    coming: ClusterIntake = field(default_factory=ClusterIntake)

    @property
    def settled(self) -> bool:
        """Whether it is known what there is of the kind, or that nobody may know; nodes and pods must be known."""
        return self.listed or (self.refused is not None and self.kind not in REQUIRED)
