"""Why one pod waits, as a running scheduler says it: the JSON of its page ``/pods/NAMESPACE/NAME``, and asking for it.

The page is read over HTTPS, with a bearer token from a file or from the kubeconfig, which is sent only to the URL that
the user named. The server's certificate is checked, unless the server is on this machine: there it is the other end of
``kubectl port-forward``, or the scheduler in the same pod, and has a self-signed certificate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from restow.client.connection import find_endpoint
from restow.client.credentials import Credentials, Endpoint, Fixed, Identity, TokenFile, Trust
from restow.client.errors import ApiError, Forbidden, NotFound, ServerTrouble, Unauthorized, Unreachable
from restow.client.prometheus import Authorities, server_at
from restow.client.proxies import is_loopback
from restow.client.sessions import open_session
from restow.client.transport import Api, Call, decoded
from restow.errors import ClientError, InputError
from restow.kube.excerpts import excerpt
from restow.plain_text import without_password

#: The answer for all pods of a replica without the lease.
DOES_NOT_SCHEDULE: Final = "this replica does not schedule"


class LastAttempt(Struct, frozen=True, rename="camel"):
    """How a pod's last attempt ended."""

    result: str
    message: str
    seconds_ago: float
    #: Where its binding failed; empty where no node was found.
    node: str


class Objection(Struct, frozen=True, rename="camel"):
    """Why a plugin rejects some nodes."""

    #: Empty where several plugins exclude them together, and no single one does.
    plugin: str
    reasons: tuple[str, ...]
    count: int
    #: The first of them.
    nodes: tuple[str, ...]


class QueueExplanation(Struct, frozen=True, rename="camel"):
    """Why one pod waits. Durations are seconds."""

    namespace: str
    name: str
    uid: str
    scheduler: str
    #: Where it is: active, backoff, unschedulable, gated or in flight.
    queue: str
    attempts: int
    waited: float
    #: Seconds until the pod may be tried again without any event; None if unknown.
    tried_again_in: float | None
    nominated_node: str
    rejected_by: tuple[str, ...]
    waits_for: tuple[str, ...]
    #: All of that in words, a sentence each.
    sentences: tuple[str, ...]
    last_attempt: LastAttempt | None
    #: As the cluster is now.
    feasible_nodes: int
    objections: tuple[Objection, ...]


#: Seconds to wait for an answer.
_PATIENCE: Final = 15.0
_URL: Final = "--scheduler-url"
_TOKEN: Final = "--scheduler-token-file"  # noqa: S105
_AUTHORITIES: Final = "--scheduler-ca-file"
_IS_URL: Final = re.compile(r"https://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(:(?P<port>[0-9]{1,5}))?/?")
_HIGHEST_PORT: Final = 65_535
#: What a Kubernetes server answers for an unknown path.
_NO_PAGE: Final = "404 page not found"


class NotWaitingError(ClientError):
    """The scheduler has no such waiting pod."""


@dataclass(slots=True, frozen=True)
class WhereToAsk:
    """The scheduler to ask, as the command line names it."""

    url: str
    token_file: str | None = None
    ca_file: str | None = None


async def endpoint_of(
    where: WhereToAsk, kubeconfig: str | None, context: str | None, environ: Mapping[str, str]
) -> Endpoint:
    """The scheduler's address and our credentials; InputError if they cannot be used."""
    found = _IS_URL.fullmatch(where.url)
    if found is None or int(found["port"] or 443) > _HIGHEST_PORT:
        shown = excerpt(repr(without_password(where.url)))
        raise InputError(f"{_URL} {shown} is not an https:// URL such as https://127.0.0.1:10259")
    token = TokenFile(Path(where.token_file)) if where.token_file else await _token_of(kubeconfig, context, environ)
    if where.ca_file or not is_loopback(urlsplit(where.url).hostname or ""):
        authorities = Authorities(Path(where.ca_file), f"{_AUTHORITIES} {where.ca_file}") if where.ca_file else None
        return server_at(where.url, token, authorities, environ, origin=_URL)
    identity = Identity((await token.identity()).headers, Trust(skip_verification=True).context())
    return Endpoint(where.url.rstrip("/"), Fixed(identity), origin=_URL)


async def why_it_waits(endpoint: Endpoint, namespace: str, name: str) -> QueueExplanation:
    """The scheduler's explanation; NotWaitingError if the pod does not wait for it, ClientError if it does not answer."""
    call = Call("GET", f"/pods/{namespace}/{name}")
    async with open_session() as session:
        try:
            body = await Api(endpoint, session, None, time_out=_PATIENCE).send(call)
        except ApiError as refusal:
            raise _in_words(endpoint.server, refusal) from refusal
        except Unreachable as error:
            raise ClientError(f"{error}; kubectl port-forward leads to a scheduler in a cluster") from error
    return decoded(body, msgspec.json.Decoder(QueueExplanation).decode, call)


async def _token_of(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> Credentials:
    """The bearer token of a kubeconfig; everything else in it is ignored."""
    endpoint = find_endpoint(kubeconfig, context, environ)
    headers = (await endpoint.credentials.identity()).headers
    tokens = tuple(each for each in headers if each[0] == "Authorization" and each[1].startswith("Bearer "))
    if not tokens:
        raise InputError(
            f"{endpoint.origin}: there is no token, and a scheduler takes no certificate; "
            f"give it one with {_TOKEN}, such as what kubectl create token prints"
        )
    return Fixed(Identity(tokens))


def _in_words(server: str, refusal: ApiError) -> ClientError:
    """Explain a refusal to the user."""
    message = refusal.message.strip()
    match refusal:
        case Unauthorized():
            return ClientError(
                f"the scheduler at {server} does not accept the token; give it another one with {_TOKEN}"
            )
        case Forbidden():
            rule = '{nonResourceURLs: ["/pods/*"], verbs: [get]}'
            return ClientError(
                f"the token gives no right to ask {server}; add the rule {rule} to a ClusterRole of its user"
            )
        case NotFound() if message == _NO_PAGE:
            return ClientError(
                f"{server} does not explain pods: it runs without --explain-pods, or is no restow scheduler"
            )
        case NotFound():
            return NotWaitingError(f"the scheduler at {server}: {message}")
        case ServerTrouble() if message == DOES_NOT_SCHEDULE:
            return ClientError(
                f"{server} is a replica that waits; the lease names the one that schedules: kubectl get lease -A"
            )
    return ClientError(f"the scheduler at {server} answered {refusal.status}: {message}")
