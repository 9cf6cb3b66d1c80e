"""How a written plan is read again: to carry it out, or to compare it.

To carry it out, only the parts are read that this needs. Types are strict, and a move with an unknown field is refused,
because the field may change what the move means. Refusals are not read. The policy and the scheduler configuration are
documents that have their own readers. To compare it, the whole document is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from restow.descheduling.plan import API_VERSION, FENCE_EFFECTS, Fenced, Move, PlanDocument, PlanMetadata
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.timestamps import parse_time
from restow.policies.codes import SteeringMode

T = TypeVar("T", bound="SavedPlan | PlanDocument")

_KIND = "Plan"
#: A fence is for all moves of a plan together.
_STEERS_A_MOVE = (None, SteeringMode.NOMINATE)
_ANEW = "write the plan anew: restow plan -o json"
#: How msgspec writes the path of an error: ``... - at `$.moves[3].pod` ``.
_PLACE = re.compile(r" - at `\$\.?(.*)`$")


class SavedPlan(Struct, frozen=True, rename="camel"):
    """The parts of a plan that are carried out."""

    metadata: PlanMetadata
    moves: tuple[Move, ...]
    policy: dict[str, Any]
    scheduler_configuration: dict[str, Any] | None = None
    #: The moves count on it.
    fence: Fenced | None = None


class _Header(Struct, frozen=True, rename="camel"):
    api_version: Any = None
    kind: Any = None


def is_plan(text: bytes) -> bool:
    """Whether a file looks like a plan, and not like a policy."""
    try:
        return bool(msgspec.json.decode(text, type=_Header).kind == _KIND)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_document(text: bytes, name: str) -> PlanDocument:
    """The whole plan in a file of this name; InputError in one sentence for anything else."""
    return _decoded(text, name, PlanDocument)


def read_plan(text: bytes, name: str) -> SavedPlan:
    """What is carried out of the plan in a file of this name; InputError in one sentence for anything else."""
    plan = _decoded(text, name, SavedPlan)
    try:
        parse_time(plan.metadata.generated_at)
    except ValueError as error:
        raise InputError(f"{name}: metadata.generatedAt: {error}; {_ANEW}") from error
    effects = FENCE_EFFECTS.values()
    if plan.fence is not None and plan.fence.effect not in effects:
        raise InputError(
            f"{name}: fence.effect: must be {' or '.join(effects)}, not {_shown(plan.fence.effect)}; {_ANEW}"
        )
    _check_moves(plan.moves, name)
    return plan


def _decoded(text: bytes, name: str, type: type[T]) -> T:
    _check_header(text, name)
    try:
        return msgspec.json.decode(text, type=type)
    except UnicodeDecodeError as error:
        raise _no_text(name) from error
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {_sentence(error)}; {_ANEW}") from error


def _check_moves(moves: Sequence[Move], name: str) -> None:
    counts = Counter(each.pod.uid for each in moves)
    for index, move in enumerate(moves):
        place = f"{name}: moves[{index}]"
        if not move.pod.uid:
            raise InputError(f"{place}.pod.uid: is empty, so nobody can tell which pod is meant; {_ANEW}")
        if counts[move.pod.uid] > 1:
            raise InputError(f"{place}.pod: {excerpt(str(move.pod))} is moved more than once; {_ANEW}")
        if move.steering not in _STEERS_A_MOVE:
            raise InputError(f"{place}.steering: must be {SteeringMode.NOMINATE} or null, not {move.steering}; {_ANEW}")


def _check_header(text: bytes, name: str) -> None:
    if not text.lstrip().startswith(b"{"):
        raise InputError(f"{name}: is no JSON document; {_ANEW}")
    try:
        header = msgspec.json.decode(text, type=_Header)
    except UnicodeDecodeError as error:
        raise _no_text(name) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{name}: is cut short or damaged ({error}); {_ANEW}") from error
    if header.kind != _KIND:
        raise InputError(f"{name}: kind: must be {_KIND}, not {_shown(header.kind)}; restow plan -o json writes one")
    if header.api_version != API_VERSION:
        raise InputError(
            f"{name}: apiVersion: must be {API_VERSION}, not {_shown(header.api_version)}: "
            "apply a plan with the restow that wrote it"
        )


def _no_text(name: str) -> InputError:
    return InputError(f"{name}: contains bytes that are not UTF-8, so it is damaged; {_ANEW}")


def _shown(value: object) -> str:
    return f'"{excerpt(value)}"' if isinstance(value, str) else "missing" if value is None else excerpt(repr(value))


def _sentence(error: msgspec.ValidationError) -> str:
    """What is wrong, with the field in front."""
    text = str(error)
    found = _PLACE.search(text)
    what = text[: found.start()] if found else text
    return f"{found[1]}: {what}" if found and found[1] else what
