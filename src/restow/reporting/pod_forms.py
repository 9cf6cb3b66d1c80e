"""Shorter ways to write a pod beside its owner: first without the hash of its template, then without the owner's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Sequence

_ELLIPSIS: Final = "…"


def pod_forms(pod: str, owner: str) -> list[str]:
    """Return ``shop/web-7f9c-x2k9q``, ``shop/web-…-x2k9q`` and ``shop/…-x2k9q`` for Deployment/web; each shorter than the last."""
    namespace, _, name = pod.partition("/")
    workload = owner.partition("/")[2]
    if not workload or not name.startswith(f"{workload}-"):
        return [pod]
    rest = name.removeprefix(f"{workload}-")
    suffix = rest.rpartition("-")[2]
    forms = [f"{namespace}/{workload}-{_ELLIPSIS}-{suffix}", f"{namespace}/{_ELLIPSIS}-{suffix}"]
    return [pod, *(each for each in forms if cell_len(each) < cell_len(pod))]


def fitting_form(forms: Sequence[str], width: int) -> str:
    """Return the longest form that fits, or else the shortest."""
    return next((each for each in forms if cell_len(each) <= width), forms[-1])
