"""Text that nobody should put into a name: what terminals obey, what reorders lines, what ends them."""

from __future__ import annotations

#: C0, DEL, C1, marks of direction, separators of lines, what has no width; all of it is accepted in a dump.
OBEYED = "\x1b[2J\x00\x07\x7f\x85\x9b31m\u202e\u2066\u200f\u2028\u2029\u200b\ufeff\r\n"
#: As JSON has it: half a surrogate pair.
HALF = "\ud83d"


def is_harmless(text: str) -> bool:
    """Whether a terminal shows every character of a text, and obeys none but tabs and the ends of lines."""
    return text.replace("\n", "").replace("\t", "").isprintable()
