"""What is wrong with a resource in its cluster, and the conditions of its status.

Upstream puts the sentence into the reason and omits some errors; here a reason is one word in CamelCase, the sentence
is the message, and every error is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The condition of OpenShift's operator, and the word that everyone looks for.
DEGRADED: Final = ("TargetConfigControllerDegraded", "Degraded")
#: Whether something of the resource has less effect than it says.
LIMITED: Final = "Limited"
AS_EXPECTED: Final = "AsExpected"


@dataclass(slots=True, frozen=True)
class Problem:
    """A reason why no policy follows from the resource."""

    reason: str
    message: str
    #: Whether the previous policy must not stay in force: the descheduler is stopped. Otherwise it keeps its policy.
    stops: bool = False


@dataclass(slots=True, frozen=True)
class Notice:
    """Something that the resource says and that has less effect than one would think."""

    reason: str
    message: str


class OperatorCondition(Struct, frozen=True):
    """A condition without its time, which depends on the condition before."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str = ""


def conditions_of(problems: Sequence[Problem], notices: Sequence[Notice]) -> tuple[OperatorCondition, ...]:
    """Return the conditions that follow from the resource and its cluster alone; the first problem gives the reason."""
    degraded = tuple(_condition(each, problems) for each in DEGRADED)
    return (*degraded, _condition(LIMITED, notices))


def _condition(kind: str, causes: Sequence[Problem | Notice]) -> OperatorCondition:
    if not causes:
        return OperatorCondition(kind, "False", AS_EXPECTED)
    return OperatorCondition(kind, "True", causes[0].reason, "; ".join(each.message for each in causes))
