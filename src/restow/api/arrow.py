"""Tables for Arrow, by the PyCapsule protocol: pandas, polars and others read them without a copy and without a dependency.

A table is a stream of one record batch. The structures are those of Arrow's C data interface; buffers are NumPy arrays, which
live until the reader releases what it was given. Source: Arrow 21, C data interface, C stream interface, PyCapsule interface.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

#: What a column holds: text, whole numbers, numbers, yes or no. Each may be null.
ColumnKind = Literal["text", "integer", "number", "flag"]

_FORMATS: Final[Mapping[ColumnKind, bytes]] = {"text": b"U", "integer": b"l", "number": b"g", "flag": b"b"}
_STRUCT: Final = b"+s"
_NULLABLE: Final = 2
_STREAM: Final = b"arrow_array_stream"


class _Schema(ctypes.Structure):
    """ArrowSchema."""


class _Array(ctypes.Structure):
    """ArrowArray."""


class _Stream(ctypes.Structure):
    """ArrowArrayStream."""


_ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))
_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))
_GetLastError = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _GetSchema),
    ("get_next", _GetNext),
    ("get_last_error", _GetLastError),
    ("release", _ReleaseStream),
    ("private_data", ctypes.c_void_p),
]

#: What readers hold and have not released, by the number in ``private_data``.
_held: dict[int, Any] = {}
_numbers = itertools.count(1)


@dataclass(slots=True, frozen=True)
class Column:
    """The values of one column; None is null."""

    name: str
    kind: ColumnKind
    values: Sequence[Any]


@dataclass(slots=True)
class _Reading:
    """One reader's way through a table."""

    columns: tuple[Column, ...]
    length: int
    is_read: bool = field(default=False)


class ArrowTable:
    """A table that Arrow readers take: ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow``."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._length = len(columns[0].values) if columns else 0

    def __repr__(self) -> str:
        return f"<ArrowTable of {self._length:,} rows and {len(self._columns)} columns>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """A PyCapsule with an ArrowArrayStream; a requested schema is not heeded, as the protocol allows."""
        stream = _Stream(_GET_SCHEMA, _GET_NEXT, _GET_LAST_ERROR, _RELEASE_STREAM, _hold(self._reading()))
        address = ctypes.addressof(stream)
        _streams[address] = stream
        return _new_capsule(address, _STREAM, _DESTROY)

    def _reading(self) -> _Reading:
        return _Reading(self._columns, self._length)


#: The structures of streams in capsules, by address; a reader moves their content out and leaves the structure.
_streams: dict[int, _Stream] = {}


def _hold(kept: Any) -> int:
    number = next(_numbers)
    _held[number] = kept
    return number


def _get_schema(stream: Any, out: Any) -> int:
    reading: _Reading = _held[stream.contents.private_data]
    children = [_schema(each.name.encode(), _FORMATS[each.kind]) for each in reading.columns]
    _fill(out.contents, _schema(b"", _STRUCT, children))
    return 0


def _get_next(stream: Any, out: Any) -> int:
    reading: _Reading = _held[stream.contents.private_data]
    if reading.is_read:
        # The end of a stream is an array that is released already.
        _fill(out.contents, _Array())
    else:
        reading.is_read = True
        _fill(out.contents, _array(reading.length, 0, [None], list(map(_column, reading.columns))))
    return 0


def _get_last_error(_stream: Any) -> None:
    return None


def _fill(target: ctypes.Structure, source: ctypes.Structure) -> None:
    ctypes.memmove(ctypes.addressof(target), ctypes.addressof(source), ctypes.sizeof(source))


def _schema(name: bytes, form: bytes, children: Sequence[_Schema] = ()) -> _Schema:
    pointers = (ctypes.POINTER(_Schema) * len(children))(*map(ctypes.pointer, children))
    made = _Schema(form, name, None, _NULLABLE, len(children), pointers, None, _RELEASE_SCHEMA, None)
    made.private_data = _hold((name, form, children, pointers))
    return made


def _array(length: int, nulls: int, buffers: Sequence[Any], children: Sequence[_Array] = ()) -> _Array:
    addresses = (ctypes.c_void_p * len(buffers))(*(None if each is None else each.ctypes.data for each in buffers))
    pointers = (ctypes.POINTER(_Array) * len(children))(*map(ctypes.pointer, children))
    made = _Array(length, nulls, 0, len(buffers), len(children), addresses, pointers, None, _RELEASE_ARRAY, None)
    made.private_data = _hold((buffers, addresses, children, pointers))
    return made


def _column(column: Column) -> _Array:
    there = np.array([each is not None for each in column.values], dtype=bool)
    nulls = int(len(there) - there.sum())
    validity = np.packbits(there, bitorder="little") if nulls else None
    return _array(len(there), nulls, [validity, *_buffers(column)])


def _buffers(column: Column) -> list[npt.NDArray[Any]]:
    match column.kind:
        case "text":
            return _text_buffers(column.values)
        case "integer":
            return [np.array([each or 0 for each in column.values], dtype=np.int64)]
        case "number":
            return [np.array([each or 0.0 for each in column.values], dtype=np.float64)]
        case "flag":
            return [np.packbits(np.array([bool(each) for each in column.values], dtype=bool), bitorder="little")]


def _text_buffers(values: Sequence[Any]) -> list[npt.NDArray[Any]]:
    encoded = [("" if each is None else str(each)).encode("utf-8", "replace") for each in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    return [offsets, np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)]


def _release(structure: Any) -> None:
    """Release the children that the reader has not moved away, and what the structure holds."""
    for at in range(structure.n_children):
        child = structure.children[at].contents
        if child.release:
            child.release(ctypes.byref(child))
    _held.pop(structure.private_data, None)
    structure.release = type(structure.release)()


def _release_schema(schema: Any) -> None:
    _release(schema.contents)


def _release_array(array: Any) -> None:
    _release(array.contents)


def _release_stream(stream: Any) -> None:
    _held.pop(stream.contents.private_data, None)
    stream.contents.release = _ReleaseStream()


def _destroy(capsule: Any) -> None:
    """Release the stream, unless the reader has moved it out of the capsule."""
    address = _pointer_in(capsule, _STREAM)
    stream = _streams.pop(address, None)
    if stream is not None and stream.release:
        stream.release(ctypes.byref(stream))


#: Kept alive as long as the process, because readers may call them at any time.
_GET_SCHEMA: Final = _GetSchema(_get_schema)
_GET_NEXT: Final = _GetNext(_get_next)
_GET_LAST_ERROR: Final = _GetLastError(_get_last_error)
_RELEASE_SCHEMA: Final = _ReleaseSchema(_release_schema)
_RELEASE_ARRAY: Final = _ReleaseArray(_release_array)
_RELEASE_STREAM: Final = _ReleaseStream(_release_stream)
_DESTROY: Final = _Destructor(_destroy)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
