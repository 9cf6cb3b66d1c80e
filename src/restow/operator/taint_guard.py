"""What holds whoever may patch nodes to the two soft taints: a ValidatingAdmissionPolicy.

The right to patch nodes would otherwise be one to evict all of their pods. The rules are those of
``deploy/kubernetes/fencing``, for other taints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from restow.operator.soft_taints import EFFECT, KEYS

_IS_OURS: Final = f"taint.key in {list(KEYS)} && has(taint.effect) && taint.effect == '{EFFECT}'"


def guard_spec(users: Sequence[str]) -> dict[str, Any]:
    """Return the spec of a policy for these users: of a node they may add and remove the soft taints, and no more."""
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["nodes", "nodes/status"],
                    "operations": ["UPDATE"],
                }
            ]
        },
        "matchConditions": [{"name": "user", "expression": f"request.userInfo.username in {list(users)}"}],
        "variables": [
            {"name": "othersBefore", "expression": _others("oldObject")},
            {"name": "othersAfter", "expression": _others("object")},
        ],
        "validations": [
            {
                "expression": "!has(request.subResource) || request.subResource == ''",
                "message": "a soft tainter may not change the status of a node",
            },
            {
                "expression": "variables.othersAfter == variables.othersBefore",
                "message": f"a soft tainter may change no taint of a node but {' and '.join(KEYS)}, with effect {EFFECT}",
            },
            {
                "expression": " && ".join(map(_same_metadata, _METADATA)),
                "message": "a soft tainter may not change the metadata of a node",
            },
            {
                "expression": " && ".join([*map(_same_spec, _SPEC), _SAME_CONFIG_SOURCE]),
                "message": "a soft tainter may change nothing in the spec of a node but its soft taints",
            },
        ],
    }


def binding_spec(policy: str) -> dict[str, Any]:
    """Return the spec of the binding of a policy."""
    return {"policyName": policy, "validationActions": ["Deny"]}


#: Fields and what they are where they are absent. metadata.managedFields and resourceVersion are the API server's business.
_METADATA: Final = (("labels", "{}"), ("annotations", "{}"), ("finalizers", "[]"), ("ownerReferences", "[]"))
_SPEC: Final = (("unschedulable", "false"), ("podCIDR", "''"), ("podCIDRs", "[]"), ("providerID", "''"))
_SAME_CONFIG_SOURCE: Final = (
    "has(object.spec.configSource) == has(oldObject.spec.configSource) && "
    "(!has(object.spec.configSource) || object.spec.configSource == oldObject.spec.configSource)"
)


def _others(thing: str) -> str:
    return f"has({thing}.spec.taints) ? {thing}.spec.taints.filter(taint, !({_IS_OURS})) : []"


def _same_metadata(field: tuple[str, str]) -> str:
    return _same("metadata", *field)


def _same_spec(field: tuple[str, str]) -> str:
    return _same("spec", *field)


def _same(part: str, name: str, absent: str) -> str:
    after, before = (
        f"(has({each}.{part}.{name}) ? {each}.{part}.{name} : {absent})" for each in ("object", "oldObject")
    )
    return f"{after} == {before}"
