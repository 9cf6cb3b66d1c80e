"""Counting the pods that label selectors mean; plugins that ask for the same pods share one tracker."""

from __future__ import annotations

from restow.kube.labels import Selector
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.pod_counts import Tracker

#: A selector and the namespaces, by identifier, that it looks into; None stands for all.
Selection = tuple[Selector, frozenset[int] | None]


def selected(context: Context, *selections: Selection) -> Tracker:
    """The count of the pods that match all of some selections (at least one) and are not over."""
    labels = context.labels

    def is_meant(group: int) -> bool:
        return all(
            (namespaces is None or labels.namespace(group) in namespaces) and selector.matches(labels.labels(group))
            for selector, namespaces in selections
        )

    def meant() -> list[int]:
        first, *others = (labels.matching_groups(*each) for each in selections)
        return sorted(set(first).intersection(*others))

    return context.counts.tracker(selections, labels.groups, meant, is_meant)
