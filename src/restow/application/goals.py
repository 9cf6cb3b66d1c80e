"""A goal in place of a policy: what ``restow plan --goal`` asks for, as the policy that means the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from restow.application.files import NamedFile, NamedText, file_bytes, file_name
from restow.documents.document import DocumentKind, read_document
from restow.errors import InputError

_PRICES: Final = DocumentKind("a file of prices", "prices:")


class GoalRequest(Struct, frozen=True):
    """A goal and what belongs to it, as it was written; without a goal nothing else may be given."""

    name: str | None = None
    #: The most moves; None: as many as are worth it.
    budget: int | None = None
    #: A label selector: only these nodes are emptied.
    free: str = ""
    #: For which pods there shall be room.
    pods: tuple[str, ...] = ()
    #: A file that says what nodes cost.
    prices: NamedFile | None = None

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of Rebalance that are given; InputError for prices that cannot be read."""
        given = {"goal": self.name, "budget": self.budget, "free": self.free or None, "pods": list(self.pods) or None}
        prices = None if self.prices is None else _prices(self.prices)
        return {name: value for name, value in (given | {"prices": prices}).items() if value is not None}

    def flags(self) -> list[str]:
        """The flags that are given and mean nothing without a goal."""
        given = {"--budget": self.budget, "--free": self.free or None, "--for": self.pods or None}
        return [flag for flag, value in (given | {"--prices": self.prices}).items() if value is not None]


def policy_or_goal(policy: NamedFile | None, goal: GoalRequest) -> NamedFile | None:
    """The policy that was named, or that of a goal; None for neither. InputError where they do not go together."""
    if goal.name is not None and policy is not None:
        raise InputError(
            "--goal plans without a policy; leave --policy-config-file out, or add Rebalance to the policy"
        )
    if goal.name is not None:
        return goal_policy(goal.name, goal.args)
    if goal.flags():
        raise InputError(f"{goal.flags()[0]} is part of a goal; add --goal, such as --goal balance")
    return policy


def goal_policy(name: str, args: Mapping[str, Any]) -> NamedText:
    """A policy that plans towards one goal of Rebalance, steered, with the evictor of the bundled policy.

    What is wrong with an argument is found when the policy is read, and says ``--goal`` in place of a file.
    """
    evictor = {"podProtections": {"extraEnabled": ["PodsWithPVC"]}}
    plugins_of_profile = [{"name": "DefaultEvictor", "args": evictor}, {"name": "Rebalance", "args": args}]
    document = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "restow": {"steering": "nominate"},
        "profiles": [
            {"name": name, "pluginConfig": plugins_of_profile, "plugins": {"balance": {"enabled": ["Rebalance"]}}}
        ],
    }
    return NamedText(f"--goal {name}", msgspec.json.encode(document))


def _prices(file: NamedFile) -> Any:
    """The list of prices in a file; the policy's own check says what is wrong with an entry."""
    data = read_document(file_bytes(file), file_name(file), _PRICES).data
    if list(data) != ["prices"] or not data["prices"]:
        raise InputError(
            f'{file_name(file)}: a file of prices has one list, "prices", of entries with "nodes" and "price"'
        )
    return data["prices"]
