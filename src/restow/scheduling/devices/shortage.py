"""What claims lack on a node, in words: how many devices of a kind are free there, and how many are wanted.

kube-scheduler says "cannot allocate all claims", whatever the reason. Requests are looked at one by one, so nothing is said
where each of them finds its devices and only all together do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from restow.scheduling.devices.asked import NamedClaim, Reach, Request
from restow.scheduling.devices.constraints import value_of
from restow.scheduling.devices.pools import PooledDevice


def shortage(reach: Reach, claims: Sequence[NamedClaim]) -> str:
    """A clause for people about the first request that lacks devices; empty if there is none.

    CycleError where a claim can be satisfied nowhere, as ``Reach.requests``.
    """
    found = (text for claim in claims for text in _of_claim(reach, claim))
    return next(found, "")


def _of_claim(reach: Reach, claim: NamedClaim) -> Iterator[str]:
    for alternatives in reach.requests(claim):
        texts = [_of_request(reach, claim, each) for each in alternatives]
        if all(texts):
            yield texts[0] if len(texts) == 1 else "; ".join(texts)


def _of_request(reach: Reach, claim: NamedClaim, request: Request) -> str:
    """What one request lacks, or one alternative of it; empty if it lacks nothing by itself."""
    there = [each for pool in reach.pools for each in pool.devices if reach.is_selectable(request, each)]
    free = [each for each in there if _is_free(reach, request, each)]
    wanted = "all of them" if request.everything is not None else f"{request.count:,}"
    counted = f"{len(free):,} of {len(there):,} devices of class {request.wire.device_class_name} free"
    if not there:
        return f"no device of class {request.wire.device_class_name} that its claim selects"
    if len(free) < request.count:
        return f"{counted}, and its claim wants {wanted}"
    for attribute in _in_common(claim, request):
        alike = Counter(value for each in free if (value := value_of(each, attribute)) is not None)
        if max(alike.values(), default=0) < request.count:
            most = max(alike.values(), default=0)
            return f"{counted}, at most {most:,} with one {attribute.rpartition('/')[2]}, and its claim wants {wanted}"
    return ""


def _is_free(reach: Reach, request: Request, device: PooledDevice) -> bool:
    is_taken = reach.holdings.has(device.id) and not request.wire.admin_access
    return not is_taken and request.tolerates(device) and reach.has_room(request, device)


def _in_common(claim: NamedClaim, request: Request) -> Iterator[str]:
    """The attributes in which the devices of a request must be alike."""
    for each in claim.devices.constraints or ():
        if each.match_attribute is not None and (not each.requests or request.name[0] in each.requests):
            yield each.match_attribute
