"""The guards of restow's rights, as the API server returns them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from client.double import Double, an_answer
from restow.descheduler import prerequisites
from restow.descheduler.prerequisites import Guard

_ROOT = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
_PROJECT = Path(__file__).parents[2]


def path_of(guard: Guard, kind: str) -> str:
    return f"{_ROOT}/{_PLURALS[kind]}/{guard.name}"


def shipped(guard: Guard) -> dict[str, Any]:
    """The objects of a guard by kind, as they are in deploy/."""
    objects = yaml.safe_load_all((_PROJECT / guard.file).read_text())
    return {each["kind"]: each for each in objects if each["metadata"]["name"] == guard.name}


def is_guarded(double: Double) -> None:
    """Both guards are there."""
    for guard in (prerequisites.STEERING_GUARD, prerequisites.FENCING_GUARD):
        for kind, each in shipped(guard).items():
            double.answers("GET", path_of(guard, kind), an_answer(each))


#: Where they are read.
GUARDS = tuple(
    path_of(guard, kind) for guard in (prerequisites.STEERING_GUARD, prerequisites.FENCING_GUARD) for kind in _PLURALS
)
