"""What a page sends: the form of a supposition, and a dump.

A dump is a file of this process for as long as it is planned, and no longer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from aiohttp import BodyPartReader, web

from restow.application.files import NamedText
from restow.application.supposing import Supposition
from restow.errors import InputError
from restow.reporting.html.what_if import WhatIfForm

#: Bytes of a dump, and of a piece of it that is saved at a time.
_LARGEST: Final = 1 << 30
_PIECE: Final = 1 << 20


def form_of(given: Mapping[str, object], policy: str) -> WhatIfForm:
    """The form as it was sent, on a page with this policy; a field that is a file, or not there, is empty."""
    names = ("gone", "cordoned", "more", "policy")
    gone, cordoned, more, written = (each if isinstance(each := given.get(name), str) else "" for name in names)
    # A browser sends lines as forms have them.
    written = written.replace("\r\n", "\n")
    return WhatIfForm(gone, cordoned, more, written, is_another=written.strip() not in ("", policy.strip()))


def supposition_of(form: WhatIfForm) -> Supposition:
    """What a form says; InputError for a number of nodes that is none."""
    policy = NamedText("the policy on the page", form.policy.encode()) if form.is_another else None
    return Supposition(_names(form.gone), _names(form.cordoned), dict(map(_more, _entries(form.more))), policy)


def _entries(written: str) -> list[str]:
    return [each.strip() for each in written.split(",") if each.strip()]


def _names(written: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(written.replace(",", " ").split()))


def _more(entry: str) -> tuple[str, int]:
    """``3 node-1``, or ``node-1`` for one."""
    first, _, name = entry.partition(" ")
    if not name:
        return first, 1
    if not first.isdecimal() or not first.isascii():
        raise InputError(f"more nodes like: {entry} is not a number and the name of a node, such as 3 node-1")
    return name.strip(), int(first)


@asynccontextmanager
async def saved_dump(request: web.Request) -> AsyncIterator[Path]:
    """The dump of a request as a file, deleted when the block is left; InputError where there is none."""
    part = await _part(request)
    if not isinstance(part, BodyPartReader) or not part.filename:
        raise InputError("choose the file of a dump first")
    with TemporaryDirectory(prefix="restow-") as directory:
        # The ending says how it is packed; nothing else of the name is used.
        ending = ".json.gz" if part.filename.endswith(".gz") else Path(part.filename).suffix or ".json"
        file = Path(directory) / f"dump{ending}"
        await _save(part, file)
        yield file


async def _part(request: web.Request) -> object:
    """The first part of a form with files; None where there is none."""
    if request.content_type != "multipart/form-data":
        return None
    try:
        return await (await request.multipart()).next()
    except ValueError as error:
        raise InputError(f"what was sent is no form: {error}") from error


async def _save(part: BodyPartReader, file: Path) -> None:
    size = 0
    with file.open("wb") as saved:
        while piece := await part.read_chunk(_PIECE):
            size += len(piece)
            if size > _LARGEST:
                raise InputError(f"the dump is larger than {_LARGEST >> 20:,} MiB; use restow plan -f")
            saved.write(piece)
