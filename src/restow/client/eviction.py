"""Asking the API server to evict one pod.

The request contains the pod's uid (``preconditions.uid``), so a new pod with the same name is left alone, and asking
twice is safe: the second request finds the pod terminating or gone. The response is data, not an exception, because
every response is normal. Source: the eviction subresource, Kubernetes 1.36.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET, Struct, UnsetType

from restow.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NoCredentials,
    NotFound,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Untrusted,
    missing_right,
)
from restow.client.objects import ObjectRef
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Call, Permit
from restow.kube.excerpts import excerpt

#: The cause that a budget, rather than a busy server, gives.
_BUDGET = "DisruptionBudget"
#: The server's message for a pod under more than one budget, with status 500.
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
#: Of a uid that is not the pod's, in the words of either place that checks it.
_OTHER_UID = re.compile("UID in (the )?precondition")
#: An answer after which nothing was done and asking again helps.
_UNAVAILABLE = 503
#: Answers of those who stand between, or of the server's own clock: the request may still be carried out.
_BAD_GATEWAY, _GATEWAY_TIMEOUT = 502, 504


class EvictionAccepted(Struct, frozen=True):
    """The pod is being deleted (or would be, in a dry run)."""


class AlreadyGone(Struct, frozen=True):
    """There is no such pod any more, or another one has its name."""

    message: str


class BudgetExhausted(Struct, frozen=True):
    """A disruption budget has no room now; ask again later."""

    message: str
    #: The budget's own message: "The disruption budget web needs 6 healthy pods and has 6 currently".
    budget: str
    #: Seconds, where the server names them.
    retry_after: float | None


class Busy(Struct, frozen=True):
    """Nothing was done, ask again: the server had no time, others changed the budget, our credentials have run out."""

    message: str
    retry_after: float | None


class Misconfigured(Struct, frozen=True):
    """The pod belongs to several budgets; asking again does not help before that is changed."""

    message: str


class Denied(Struct, frozen=True):
    """We may not evict pods here, or the namespace is being deleted."""

    message: str


class EvictionUnanswered(Struct, frozen=True):
    """No answer: the pod may be going or not. Asking again is safe, and shows which."""

    message: str


class EvictionFailed(Struct, frozen=True):
    """Any other refusal."""

    message: str
    status: int


class Unconfirmed(Struct, frozen=True):
    """Not asked for: the replacement would not be the pod that the plan assumes."""

    message: str


Outcome = (
    Unconfirmed
    | EvictionAccepted
    | AlreadyGone
    | BudgetExhausted
    | Busy
    | Misconfigured
    | Denied
    | EvictionUnanswered
    | EvictionFailed
)


class _Preconditions(Struct, frozen=True):
    uid: str


class _DeleteOptions(Struct, frozen=True, rename="camel"):
    preconditions: _Preconditions
    grace_period_seconds: int | UnsetType = UNSET
    dry_run: tuple[str, ...] | UnsetType = UNSET


class _Named(Struct, frozen=True):
    name: str
    namespace: str


class _Eviction(Struct, frozen=True, rename="camel"):
    metadata: _Named
    delete_options: _DeleteOptions
    api_version: str = "policy/v1"
    kind: str = "Eviction"


async def evict(
    api: Api, target: ObjectRef, *, permit: Permit, grace_period: int | None = None, dry_run: bool = False
) -> Outcome:
    """Ask once. ``permit`` is asked when the request goes out; NotPermitted is raised if it says no.

    ``grace_period`` in seconds, None for the pod's own; with ``dry_run`` budgets are checked and nothing is written.
    """
    options = _DeleteOptions(
        preconditions=_Preconditions(target.uid),
        grace_period_seconds=UNSET if grace_period is None else grace_period,
        dry_run=("All",) if dry_run else UNSET,
    )
    path = RESOURCES["Pod"].path(target.namespace, target.name, "eviction")
    body = msgspec.json.encode(_Eviction(_Named(target.name, target.namespace), options))
    try:
        await api.send(Call("POST", path, body=body), permit=permit)
    except Unreachable as error:
        return EvictionUnanswered(str(error))
    except (NoCredentials, Untrusted) as error:
        return Busy(str(error), None)
    except ApiError as error:
        return _outcome(error)
    return EvictionAccepted()


def _outcome(error: ApiError) -> Outcome:
    if isinstance(error, NotFound) or (isinstance(error, Conflict) and _OTHER_UID.search(error.answer)):
        return AlreadyGone(error.message)
    if isinstance(error, TooManyRequests):
        return _too_many(error)
    if isinstance(error, (Conflict, Unauthorized)):
        return Busy(error.message, error.retry_after)
    if isinstance(error, Forbidden):
        return Denied(missing_right(error, RESOURCES["Pod"], ("create",), "eviction"))
    if isinstance(error, ServerTrouble):
        return _server_trouble(error)
    return EvictionFailed(error.message, error.status)


def _too_many(error: ApiError) -> Outcome:
    budget = next((cause for cause in error.causes if cause.reason == _BUDGET), None)
    if budget is None:
        return Busy(error.message, error.retry_after)
    return BudgetExhausted(error.message, excerpt(budget.message), error.retry_after)


def _server_trouble(error: ApiError) -> Outcome:
    if _SEVERAL_BUDGETS in error.answer:
        return Misconfigured(error.message)
    if error.status == _UNAVAILABLE:
        return Busy(error.message, error.retry_after)
    if error.status in {_BAD_GATEWAY, _GATEWAY_TIMEOUT}:
        return EvictionUnanswered(error.message)
    return EvictionFailed(error.message, error.status)
