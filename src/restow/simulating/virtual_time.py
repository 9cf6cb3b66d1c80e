"""Virtual time and seeded chance, by which a run is the same every time.

Nothing waits: the clock jumps to the next entry, and what is due at the same moment happens in the order in which it
was entered. Times are nanoseconds since the epoch. Recurring entries, such as the cycles of a descheduler, do not keep
a cluster from being quiet. Every actor has random numbers of its own, so that one who draws more changes nothing for
another. Names and uids are not drawn at all: they follow from the seed and from what is named.
"""

from __future__ import annotations

import heapq
import random
import uuid
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from restow.kube.timestamps import format_time

Action = Callable[[], None]


class _Entry(NamedTuple):
    action: Action
    recurring: bool


@dataclass(slots=True)
class VirtualClock:
    """The clock and what is still to come."""

    now: int
    #: The moments at which something happens, as a heap, and what happens then, in order.
    _moments: list[int] = field(default_factory=list)
    _entries: dict[int, deque[_Entry]] = field(default_factory=dict)
    #: How many of the entries do not come again by themselves.
    _single: int = 0
    _text: tuple[int, str] = (-1, "")

    @property
    def text(self) -> str:
        """The time as objects have it, in whole seconds."""
        if self._text[0] != self.now:
            self._text = self.now, format_time(self.now)
        return self._text[1]

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is to come but what comes again and again."""
        return not self._single

    def at(self, time: int, action: Action, *, recurring: bool = False) -> None:
        """Have something happen at a time; one that has passed is now. ``recurring``: there will always be another one."""
        self._enter(time, action, recurring=recurring)

    def after(self, delay: int, action: Action) -> None:
        """Schedule an action after a delay in nanoseconds."""
        self._enter(self.now + delay, action, recurring=False)

    def every(self, interval: int, action: Action) -> None:
        """Have something happen again and again, first after one interval."""

        def again() -> None:
            action()
            self._enter(self.now + interval, again, recurring=True)

        self._enter(self.now + interval, again, recurring=True)

    def run(self, until: int) -> None:
        """Let everything happen that is due by a time, which is then the time."""
        while self._moments and self._moments[0] <= until:
            self.step()
        self.now = max(self.now, until)

    def settle(self, until: int) -> bool:
        """Let things happen until it is quiet, or until a time; whether it is quiet."""
        while self._single and self._moments[0] <= until:
            self.step()
        return self.is_quiet

    def step(self) -> None:
        """Let the next thing happen; there must be one."""
        self.now = self._moments[0]
        entries = self._entries[self.now]
        action, recurring = entries.popleft()
        if not entries:
            # What is entered for this moment from now on comes after it.
            del self._entries[heapq.heappop(self._moments)]
        self._single -= not recurring
        action()

    def _enter(self, time: int, action: Action, *, recurring: bool) -> None:
        self._single += not recurring
        time = max(time, self.now)
        entries = self._entries.get(time)
        if entries is None:
            entries = self._entries[time] = deque()
            heapq.heappush(self._moments, time)
        entries.append(_Entry(action, recurring))


#: The characters of generated names: no vowels, so that they make no words. Source: apimachinery 0.36, rand.
SAFE_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
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
            number, letter = divmod(number, len(SAFE_CHARACTERS))
            letters.append(SAFE_CHARACTERS[letter])
        return "".join(letters)

    def uid(self, what: str) -> str:
        """The uid of an object; ``what`` says which one and when."""
        return str(uuid.UUID(bytes=self._digest(f"uid/{what}"), version=4))

    def _digest(self, text: str) -> bytes:
        return blake2b(f"{self.seed}/{text}".encode(), digest_size=16).digest()
