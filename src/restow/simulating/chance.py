"""Chance by a seed: every actor has numbers of its own, so that one who draws more changes nothing for another.

Names and uids are not drawn from a stream at all: they follow from the seed and from what is named, so an object has
the same name no matter what else happens in a run.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

#: The characters of generated names: no vowels, so that they make no words. Source: apimachinery 0.36.
_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5


@dataclass(slots=True, frozen=True)
class Chance:
    """What is random in a run."""

    seed: int
    #: How many names were made with each prefix.
    _made: Counter[str] = field(default_factory=Counter)

    def stream(self, actor: str) -> random.Random:
        """The numbers of one actor."""
        return random.Random(f"{self.seed}/{actor}")  # noqa: S311  reproducible, not secret

    def suffix(self, prefix: str) -> str:
        """What makes a name of a prefix; another one each time."""
        self._made[prefix] += 1
        number = int.from_bytes(self._digest(f"name/{prefix}/{self._made[prefix]}"))
        letters = []
        for _ in range(_SUFFIX_LENGTH):
            number, letter = divmod(number, len(_CHARACTERS))
            letters.append(_CHARACTERS[letter])
        return "".join(letters)

    def uid(self, what: str) -> str:
        """The uid of an object; ``what`` says which one and when."""
        return str(uuid.UUID(bytes=self._digest(f"uid/{what}"), version=4))

    def _digest(self, text: str) -> bytes:
        return blake2b(f"{self.seed}/{text}".encode(), digest_size=16).digest()
