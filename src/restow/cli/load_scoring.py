"""What a scheduler configuration that scores by usage needs of the input, and what is said where it lacks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from restow.reporting.wording import counted
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.plugins.load_variation import NAME, LoadVariationRiskBalancingArgs
from restow.scheduling.plugins.resources.measured_usage import measured_usage

if TYPE_CHECKING:
    from restow.cli.inputs import LoadedCluster


def scores_by_usage(profiles: Iterable[SchedulerProfile]) -> bool:
    """Whether a profile has a plugin that goes by what nodes use."""
    return any(profile.runs(NAME, "score") for profile in profiles)


def unmeasured_nodes(found: LoadedCluster, profiles: Iterable[SchedulerProfile]) -> list[str]:
    """One sentence where a profile scores by usage and the input has none of some nodes, with what adds it."""
    scoring = [each for each in profiles if each.runs(NAME, "score")]
    windows = [each.arguments.get(NAME, LoadVariationRiskBalancingArgs()).window_seconds for each in scoring]
    if not windows:
        return []
    unknown = np.isnan(measured_usage(found.cluster, min(windows)).mean).all(axis=0).sum()
    if not unknown:
        return []
    nodes = counted(int(unknown), "node")
    if found.is_live:
        return [f"{NAME} scores {nodes} 0: metrics.k8s.io has no usage of them: kubectl top nodes shows which"]
    adding = "add -f usage.csv, or take the snapshot with --usage"
    return [f"{NAME} scores {nodes} 0: the input has no usage of them; {adding}"]
