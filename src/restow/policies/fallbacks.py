"""Settings that count only where a policy says nothing: flags of Descheduler 0.10 to 0.22.

Before 0.19 they were the only place for these three settings, and until 0.22 the fallback of the policy's own. They are
written into the document before it is read, in the words of its version, so nothing after this needs to know of them.
Source: Kubernetes Descheduler, options of v0.10 to v0.22.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from restow.documents.shapes import RANGES
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.labels import parse_selector
from restow.policies import v1alpha1
from restow.policies.schema import DEFAULT_EVICTOR

if TYPE_CHECKING:
    from restow.documents.document import Document

_LOCAL_STORAGE = "PodsWithLocalStorage"


class Fallbacks(Struct, frozen=True):
    """The values of the flags; None if a flag is absent."""

    node_selector: str | None = None
    #: 0 is no limit, as it was then.
    max_pods_to_evict_per_node: int | None = None
    evict_local_storage_pods: bool = False


def with_fallbacks(document: Document, fallbacks: Fallbacks) -> Document:
    """Return the document with the flags in the place of settings that it leaves out.

    Raises InputError for a flag that no document could contain.
    """
    if fallbacks == Fallbacks():
        return document
    _check(fallbacks)
    data = deepcopy(document.data)
    _fill(data, "nodeSelector", fallbacks.node_selector)
    _fill(data, "maxNoOfPodsToEvictPerNode", fallbacks.max_pods_to_evict_per_node or None)
    if fallbacks.evict_local_storage_pods:
        _evict_local_storage_pods(data)
    return structs.replace(document, data=data)


def _check(fallbacks: Fallbacks) -> None:
    most = RANGES["uint"][1]
    if (fallbacks.max_pods_to_evict_per_node or 0) > most:
        raise InputError(f"--max-pods-to-evict-per-node must be at most {most}; 0 is no limit")
    try:
        parse_selector(fallbacks.node_selector or "")
    except ValueError as error:
        raise InputError(f'--node-selector "{excerpt(fallbacks.node_selector)}": {excerpt(error)}') from error


def _fill(data: dict[str, Any], key: str, value: object) -> None:
    if value is not None and data.get(key) is None:
        data[key] = value


def _evict_local_storage_pods(data: dict[str, Any]) -> None:
    if data.get("apiVersion") == v1alpha1.API_VERSION:
        _fill(data, "evictLocalStoragePods", value=True)
        return
    # The document is not validated yet: the reader refuses what is no mapping.
    profiles = data.get("profiles")
    for profile in profiles if isinstance(profiles, list) else []:
        if isinstance(profile, dict):
            args = _evictor_args(profile)
            if args is not None:
                _unprotect(args)


def _evictor_args(profile: dict[str, Any]) -> dict[str, Any] | None:
    """Return the evictor's arguments, which are created if there are none; None if they are not a mapping."""
    _fill(profile, "pluginConfig", [])
    configs = profile["pluginConfig"]
    if not isinstance(configs, list):
        return None
    named = [each for each in configs if isinstance(each, dict) and each.get("name") == DEFAULT_EVICTOR]
    if not named:
        named = [{"name": DEFAULT_EVICTOR}]
        configs += named
    _fill(named[0], "args", {})
    args = named[0]["args"]
    return args if isinstance(args, dict) else None


def _unprotect(args: dict[str, Any]) -> None:
    """Disable the protection, with podProtections if the policy uses that: upstream refuses a mixture of old and new."""
    protections = args.get("podProtections")
    if isinstance(protections, dict) and (protections.get("extraEnabled") or protections.get("defaultDisabled")):
        _fill(protections, "defaultDisabled", [_LOCAL_STORAGE])
    else:
        _fill(args, "evictLocalStoragePods", value=True)
