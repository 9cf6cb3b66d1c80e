"""From the arguments of ``restow explain scheduling`` to its output: ask the scheduler, and report what it says."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

from restow.cli.output import write_bytes
from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import ClientError, NotFound
from restow.client.resources import RESOURCES
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.plain_text import printable
from restow.reporting.explain_scheduling import scheduling_sections
from restow.reporting.json import indented_json
from restow.reporting.table import print_sections
from restow.reporting.terminal import console
from restow.scheduler.asking import NotWaitingError, WhereToAsk, endpoint_of, why_it_waits
from restow.scheduler.explanation import Explanation

#: Names as the API server takes them, so that none of them is another path.
_POD: Final = re.compile(r"([a-z0-9][-a-z0-9]*)/([a-z0-9][-a-z0-9.]*)")
_OVER: Final = ("Succeeded", "Failed")


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    pod: str
    url: str | None
    token_file: str | None
    ca_file: str | None
    kubeconfig: str | None
    context: str | None
    output: Literal["table", "json"]


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


def explain_scheduling(request: Request) -> None:
    """Explain why a pod waits; InputError for whatever cannot be used or is no such pod, ClientError for who does not answer."""
    named = _POD.fullmatch(request.pod)
    if named is None:
        raise InputError(f"explain scheduling: {excerpt(request.pod)} is not of the form NAMESPACE/NAME")
    if request.url is None:
        raise InputError(
            "explain scheduling asks a scheduler that runs: say where with --scheduler-url, "
            "such as https://127.0.0.1:10259 beside kubectl port-forward",
            f"restow schedule --pod {request.pod} asks nobody, and decides on the cluster as it is now",
        )
    found = asyncio.run(_asked(request, request.url, named[1], named[2]))
    if request.output == "json":
        write_bytes(indented_json(found) + b"\n")
        return
    page = console()
    print_sections(scheduling_sections(found, request.url.rstrip("/"), page.width), page)


async def _asked(request: Request, url: str, namespace: str, name: str) -> Explanation:
    where = WhereToAsk(url, request.token_file, request.ca_file)
    endpoint = await endpoint_of(where, request.kubeconfig, request.context, os.environ)
    try:
        return await why_it_waits(endpoint, namespace, name)
    except NotWaitingError as error:
        raise await _instead(error, request, namespace, name) from error


async def _instead(error: NotWaitingError, request: Request, namespace: str, name: str) -> Exception:
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
