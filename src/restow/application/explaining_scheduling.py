"""Why a pod waits for a scheduler that runs: ask it, and where it does not know the pod, ask the API server."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import NotFound
from restow.client.resources import RESOURCES
from restow.errors import ClientError, InputError
from restow.in_thread import in_own_loop
from restow.kube.excerpts import excerpt
from restow.plain_text import printable
from restow.scheduler.explanation import NotWaitingError, QueueExplanation, WhereToAsk, endpoint_of, why_it_waits

#: Names as the API server takes them, so that none of them is another path.
_POD: Final = re.compile(r"([a-z0-9][-a-z0-9]*)/([a-z0-9][-a-z0-9.]*)")
_OVER: Final = ("Succeeded", "Failed")


@dataclass(slots=True, frozen=True)
class WaitingPodRequest:
    """Which pod is asked about, and which scheduler; as a user writes it."""

    #: NAMESPACE/NAME.
    pod: str
    #: Where the scheduler serves.
    url: str | None
    #: The path of a token for it; None: the token of the kubeconfig.
    token_file: str | None = None
    #: The path of the authorities of its certificate.
    ca_file: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


class _Meta(Struct, frozen=True, rename="camel"):
    deletion_timestamp: str | None = None


class _Spec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""


class _Status(Struct, frozen=True):
    phase: str = ""


class _Pod(Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def explained_scheduling(request: WaitingPodRequest) -> QueueExplanation:
    """Explain why a pod waits; InputError where the request cannot be used, ClientError where nothing answers."""
    named = _POD.fullmatch(request.pod)
    if named is None:
        raise InputError(f"explain scheduling: {excerpt(request.pod)} is not of the form NAMESPACE/NAME")
    if request.url is None:
        raise InputError(
            "explain scheduling asks a scheduler that runs: say where with --scheduler-url, "
            "such as https://127.0.0.1:10259 beside kubectl port-forward",
            f"restow schedule --pod {request.pod} asks no server, and decides on the cluster as it is now",
        )
    return in_own_loop(_asked(request, request.url, named[1], named[2]))


async def _asked(request: WaitingPodRequest, url: str, namespace: str, name: str) -> QueueExplanation:
    where = WhereToAsk(url, request.token_file, request.ca_file)
    endpoint = await endpoint_of(where, request.kubeconfig, request.context, os.environ)
    try:
        return await why_it_waits(endpoint, namespace, name)
    except NotWaitingError as error:
        raise await _instead(error, request, namespace, name) from error


async def _instead(error: NotWaitingError, request: WaitingPodRequest, namespace: str, name: str) -> Exception:
    """What is wrong with a pod that a scheduler does not know, as far as the API server says."""
    try:
        async with connect(request.kubeconfig, request.context) as api:
            pod = await objects.get(api, RESOURCES["Pod"], namespace, name, _Pod)
    except NotFound:
        return InputError(f"explain scheduling: the cluster holds no pod {namespace}/{name}")
    except (ClientError, InputError):
        return error
    return InputError(f"explain scheduling: {namespace}/{name} {_why_not(pod, request.url)}")


def _why_not(pod: _Pod, url: str | None) -> str:
    """Why a pod does not wait for the scheduler that was asked."""
    if pod.status.phase in _OVER:
        return f"is {pod.status.phase}: it is not scheduled again"
    if pod.metadata.deletion_timestamp is not None:
        return "is being deleted: it is not scheduled again"
    if pod.spec.node_name:
        return f"does not wait: it is on {printable(pod.spec.node_name)}"
    return f"names the scheduler {printable(pod.spec.scheduler_name)}, and does not wait for the one at {url}"
