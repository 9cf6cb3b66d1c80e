"""Usage from metrics.k8s.io and from histories of it: the newest figures, as upstream, or what ``restow.usage`` says."""

from __future__ import annotations

from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.newest import newest
from restow.descheduling.node_utilization.usage import Usage
from restow.descheduling.node_utilization.windowed import windowed


def measured(view: View, names: tuple[str, ...]) -> Usage:
    """What nodes and pods use; StrategyError, with upstream's text if it has one, if that is not known."""
    if not view.collects_metrics:
        raise StrategyError("error initializing usage client: metrics client not initialized")
    return newest(view, names) if view.usage is None else windowed(view, view.usage, names)
