"""Which namespaces let their pods be evicted: an annotation on the namespace says so.

``restow.dev/eviction: disabled`` keeps every pod of a namespace in place, even against an annotation of the pod: the
owner of a namespace decides before the owner of a pod. ``enabled`` is what a policy with ``namespaces: annotated``
requires. Any other value is a mistake, and counts as ``disabled`` because its author wanted to set something.

If a dump has no Namespaces, no annotation is known: then no namespace opts out, and whether one opts in is unknown. If
an API server does not show them, some namespace may have opted out, so nothing may be evicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.protections import Protection, everywhere, unknown_check
from restow.kube.excerpts import did_you_mean, excerpt
from restow.plain_text import some
from restow.policies.codes import RefusalCode
from restow.policies.policy import Namespaces

ANNOTATION = "restow.dev/eviction"
_ENABLED, _DISABLED = "enabled", "disabled"
_KIND = "Namespace"
_OUT = f"pod namespace is protected against eviction: its annotation {ANNOTATION} is not {_ENABLED}"
_NOT_IN = (
    f"pod namespace lacks the annotation {ANNOTATION}: {_ENABLED}, and the policy's namespaces: annotated asks for it"
)


def namespace_checks(chosen: Namespaces, cluster: ClusterSnapshot) -> tuple[Protection, ...]:
    """The checks of a policy in their order; none if no namespace has the annotation and the policy does not require it."""
    if is_missing(chosen, cluster):
        return (unknown_check(_KIND, everywhere(cluster.pods), f"the annotation {ANNOTATION} of "),)
    said = _said(cluster)
    checks = []
    if any(withheld(value, chosen) for value in said.values()):
        checks.append(Protection(RefusalCode.NAMESPACE_OPTED_OUT, _OUT, _withheld(_OUT, said, chosen, cluster)))
    if chosen == "annotated":
        checks.append(
            Protection(RefusalCode.NAMESPACE_NOT_OPTED_IN, _NOT_IN, _withheld(_NOT_IN, said, chosen, cluster))
        )
    return tuple(checks)


def withheld(value: str | None, chosen: Namespaces) -> str | None:
    """Why pods of a namespace must stay, by the value of its annotation (None: it has none); None if they may go."""
    if value is not None and value != _ENABLED:
        return _OUT
    return _NOT_IN if value is None and chosen == "annotated" else None


def is_missing(chosen: Namespaces, cluster: ClusterSnapshot) -> bool:
    """Whether the policy depends on annotations of namespaces that the input lacks."""
    return _KIND in cluster.missing or (chosen == "annotated" and not cluster.has_list(_KIND))


def namespace_notes(cluster: ClusterSnapshot) -> Iterator[str]:
    """Yield one sentence if some namespace has a value of the annotation that is neither of the two."""
    strange = {name: value for name, value in _said(cluster).items() if value not in {_ENABLED, _DISABLED}}
    if strange:
        value = next(iter(strange.values()))
        hint = did_you_mean(value, (_ENABLED, _DISABLED))
        yield (
            f'namespace {some(list(strange), 1)}: the annotation {ANNOTATION} is "{excerpt(value)}", neither {_ENABLED} nor {_DISABLED}, '
            f"and counts as {_DISABLED}{f'; {hint}' if hint else ''}"
        )


def _said(cluster: ClusterSnapshot) -> dict[str, str]:
    """The annotation's value by namespace, for those that have it."""
    found = ((name, each.metadata.annotations) for (_, name), each in cluster.kind(_KIND).items())
    return {name: given.eviction for name, given in found if given is not None and given.eviction is not None}


def _withheld(why: str, said: Mapping[str, str], chosen: Namespaces, cluster: ClusterSnapshot) -> PodColumn[np.bool_]:
    """Whether each pod is in a namespace whose pods must stay for this reason."""
    return by_value(
        cluster.pods,
        "namespace",
        "namespaces",
        lambda names: [withheld(said.get(each), chosen) == why for each in names],
    )
