"""What goes to the pods of a Job and comes back: the pieces of work packed, and the results of an index as one line of text.

A pod gets its pieces from files, and its results leave it as its termination message, which the kubelet puts into the pod's
status. So a pod needs no rights in the cluster and no storage, and results outlive the node. The message has 4096 bytes
(kubelet, 1.0 and later), so results are small and are packed.

Pieces are pickled, so a change of them could have the pod run anything. Their digest is part of the pod's command,
which is fixed once the Job exists. Results are plain data, and are decoded as such.
"""

from __future__ import annotations

import hashlib
import pickle
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from restow.engines.work import Work, outcome
from restow.errors import InputError
from restow.version import __version__

#: Bytes of a termination message.
_MESSAGE: Final = 4096
#: Bytes of results before they are packed; no real ones have as many.
_RESULTS: Final = 1 << 20
#: Bytes of a file: those of a ConfigMap, less what else it has.
_CHUNK: Final = 900 << 10


@dataclass(slots=True, frozen=True)
class Parcel:
    """Pieces of work for the indexes of a Job: index i makes those at i, i + indexes, i + 2 * indexes ..."""

    work: Work
    numbers: tuple[int, ...]
    indexes: int


class PieceResult(Struct, frozen=True, omit_defaults=True):
    """The end of one piece: a result, or the sentences of an InputError."""

    number: int
    result: Raw = Raw(b"null")
    errors: tuple[str, ...] = ()


class UnreadableResultError(Exception):
    """A termination message that is no results: something else has ended the pod, or has written there."""


def packed(parcel: Parcel) -> tuple[list[bytes], str]:
    """Return a parcel as files of at most 900 KiB, and its digest."""
    content = zlib.compress(pickle.dumps(parcel), 9)
    return [content[at : at + _CHUNK] for at in range(0, len(content), _CHUNK)], hashlib.sha256(content).hexdigest()


def unpacked(files: Sequence[Path], digest: str) -> Parcel:
    """Return the parcel in files, in their order; InputError where these are others than the digest says."""
    content = b"".join(each.read_bytes() for each in files)
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(
            f"the {len(files)} files of the parcel are not those that the Job was made for; start the command again"
        )
    parcel: Parcel = pickle.loads(zlib.decompress(content))  # noqa: S301 - of this digest, which is part of the command
    return parcel


def make_index(directory: Path, digest: str, version: str, index: int) -> bytes:
    """Make the pieces of one index of the parcel in a directory, and return the termination message."""
    if version != __version__:
        sentence = f"the image has restow {__version__} and the command restow {version}: name an image of {version}"
        return _message([PieceResult(-1, errors=(sentence,))])
    files = sorted((each for each in directory.iterdir() if each.suffix == ".part"), key=lambda each: int(each.stem))
    parcel = unpacked(files, digest)
    return _message([_made(parcel.work, number) for number in parcel.numbers[index :: parcel.indexes]])


def _made(work: Work, number: int) -> PieceResult:
    made = outcome(work, number, lambda _: None)
    if isinstance(made, InputError):
        return PieceResult(number, errors=made.sentences)
    if isinstance(made, Exception):
        raise made
    return PieceResult(number, Raw(msgspec.json.encode(made)))


def _message(results: list[PieceResult]) -> bytes:
    message = b64encode(zlib.compress(msgspec.json.encode(results), 9))
    if len(message) > _MESSAGE:
        raise OSError(
            f"the results of {len(results)} pieces take {len(message)} bytes, and a termination message has {_MESSAGE}"
        )
    return message


def results_in(message: str, result: Any) -> list[tuple[int, Any]]:
    """Return the results in a termination message, by number; each is decoded to the type ``result``.

    InputError where a piece has failed with it, UnreadableResultError where the message holds no results.
    """
    try:
        content = zlib.decompressobj().decompress(b64decode(message, validate=True), _RESULTS)
        found = msgspec.json.decode(content, type=list[PieceResult])
        errors = [sentence for each in found for sentence in each.errors]
        if not errors:
            return [(each.number, msgspec.json.decode(each.result, type=result)) for each in found]
    except (ValueError, zlib.error, msgspec.MsgspecError, RecursionError) as error:
        raise UnreadableResultError(str(error)) from error
    raise InputError(*dict.fromkeys(errors))
