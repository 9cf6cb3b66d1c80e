"""What happens in a cluster, recorded from now on until a command ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from restow.application.files import prepare_directory
from restow.client.connection import connect
from restow.client.transport import Api
from restow.client.version import server_minor
from restow.errors import InputError
from restow.kube.duration import HOUR, MILLISECOND, SECOND, format_duration
from restow.recordings.following import Recorder
from restow.recordings.redaction import Redactor, redactor
from restow.recordings.writing import RecordingLimits, RecordingWriter, sole_writer
from restow.reporting.wording import counted

MIB: Final = 1 << 20
#: The least that has room for a few segments of a large cluster.
_LEAST_SIZE: Final = MIB

Tell = Callable[[str], None]


@dataclass(slots=True, frozen=True)
class RecordRequest:
    """What to record, and where; as a user writes it."""

    directory: str
    kubeconfig: str | None = None
    context: str | None = None
    #: Nanoseconds.
    keep: int = 7 * 24 * HOUR
    #: Bytes.
    size: int = 1024 * MIB
    #: Nanoseconds from one reading of metrics.k8s.io to the next; 0 is never.
    usage_interval: int = 300 * SECOND


async def record(request: RecordRequest, stopping: asyncio.Event, tell: Tell) -> None:
    """Record until ``stopping`` is set; ``tell`` gets what the user should know.

    InputError for what cannot be used, ClientError where nodes or pods cannot be read at the beginning.
    """
    _check(request)
    place = prepare_directory(request.directory, "-o")
    limits = RecordingLimits(request.size, request.keep // MILLISECOND)
    writer, redacting = RecordingWriter(place, limits, tell), redactor(place)
    with sole_writer(place):
        await _record(request, stopping, writer, redacting, tell)
    tell(f"{place}: {counted(writer.changes, 'change')} in {format_duration(writer.lasted * MILLISECOND)}")


async def _record(
    request: RecordRequest, stopping: asyncio.Event, writer: RecordingWriter, redacting: Redactor, tell: Tell
) -> None:
    place = request.directory
    async with connect(request.kubeconfig, request.context) as api:
        interval = request.usage_interval / SECOND
        recorder = Recorder(api, writer, redacting, tell, lambda: tell(_begun(api, writer, place)), interval)
        work = asyncio.ensure_future(_run(recorder))
        stopped = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (work, stopped):
                each.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)
            writer.close(recorder.now())
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error


async def _run(recorder: Recorder) -> None:
    recorder.writer.server_minor = await server_minor(recorder.api)
    await recorder.run()


def _check(request: RecordRequest) -> None:
    if request.size < _LEAST_SIZE:
        raise InputError(f"--max-size must be {_LEAST_SIZE // MIB} MiB or more")
    if request.keep <= 0:
        raise InputError("--keep must be more than 0, such as 168h")
    if 0 < request.usage_interval < SECOND or request.usage_interval < 0:
        raise InputError("--usage-interval must be 1s or more, or 0 to record no usage")


def _begun(api: Api, writer: RecordingWriter, place: str) -> str:
    nodes, pods = (counted(len(writer.objects(kind)), kind.lower()) for kind in ("Node", "Pod"))
    return f"recording {api.endpoint.server}, {nodes} and {pods}, to {place}; Ctrl-C ends it"
