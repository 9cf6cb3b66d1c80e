"""One query for each rule, all of them at once, each once: whoever asks in intervals does not ask twice in one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from restow.client.errors import ClientError
from restow.client.prometheus import Answer, query
from restow.client.transport import Api
from restow.pressure.rules import Rule


@dataclass(slots=True, frozen=True)
class Asked:
    """What became of the queries, by rule: an answer, or None and why there is none."""

    answers: Sequence[Answer | None]
    #: By the rule's name.
    failures: dict[str, str]

    @property
    def any_answered(self) -> bool:
        """Whether Prometheus is there at all."""
        return any(answer is not None for answer in self.answers)


async def ask(prometheus: Api, rules: Sequence[Rule]) -> Asked:
    """Return what all queries come to; none of them fails for the others."""
    once = prometheus.once()
    found = await asyncio.gather(*(_answer(once, rule) for rule in rules))
    failures = {rule.name: each for rule, each in zip(rules, found, strict=True) if isinstance(each, str)}
    return Asked([None if isinstance(each, str) else each for each in found], failures)


async def _answer(prometheus: Api, rule: Rule) -> Answer | str:
    try:
        return await query(prometheus, rule.query)
    except ClientError as error:
        return str(error)
