"""Types of fields that Python has no type of its own for.

``Meta(extra={"go": ...})`` names a type of Go, whose programs read many of these files too: the decoder
(``documents.decoding``) knows by it what may be written, and messages may quote it.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

DURATION: Final = "v1.Duration"
INT_OR_STRING: Final = "intstr.IntOrString"

Uint = Annotated[int, Meta(extra={"go": "uint"})]
Int = Annotated[int, Meta(extra={"go": "int"})]
#: Written as a Go duration ("1h30m"), decoded to nanoseconds.
Duration = Annotated[int, Meta(extra={"go": DURATION})]
#: A number, or text such as "25%".
IntOrString = Annotated[int | str, Meta(extra={"go": INT_OR_STRING})]

#: What integer types hold that say nothing themselves; as on every platform that Kubernetes is built for.
RANGES: Final = {"uint": (0, 2**64 - 1), "int": (-(2**63), 2**63 - 1)}
