"""What should be in the cluster for a KubeDescheduler: a pure function, independent of what is there now.

    done = desired(resource, facts, installation)
    if done.action == "apply": ...

An operator that carries this out needs to decide nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from restow.operator.facts import Facts, Installation
from restow.operator.objects import Object, Ownership, in_namespace
from restow.operator.operand import CONFIG_MAP, monitoring_of, needs_soft_tainter, soft_tainter_of, workload_of
from restow.operator.policy import POLICY_FILE, needs_prometheus, policy_of
from restow.operator.resource import KubeDescheduler
from restow.operator.rights import MONITORING_VIEW, OPERAND, monitoring_view, rights_of
from restow.operator.rules import Notice, OperatorCondition, Problem, check_name, conditions_of
from restow.version import __version__

#: apply: write the objects and remove others; leave: change nothing; stop: stop the descheduler and change nothing
#: else; remove: remove all objects.
Action = Literal["apply", "leave", "stop", "remove"]


@dataclass(slots=True, frozen=True)
class Desired:
    """What to do, how the status describes it, and why."""

    action: Action
    #: The text of the policy; empty unless the action is to apply it.
    policy: str = ""
    #: Whether nodes may have soft taints; if not, they are removed when a policy is applied, or when there is none any more.
    soft_taints: bool = False
    #: In an order in which they can be created.
    objects: tuple[Object, ...] = ()
    conditions: tuple[OperatorCondition, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()


def desired(resource: KubeDescheduler, facts: Facts, installation: Installation) -> Desired:
    """Return what a resource means in a cluster."""
    misplaced = tuple(check_name(resource.metadata, installation.namespace))
    if misplaced:
        return _because("leave", misplaced)
    match resource.spec.management_state:
        case "Removed":
            return _because("remove")
        case "Unmanaged":
            return _because("leave")
    outcome = policy_of(resource.spec, facts, installation)
    if outcome.problems:
        return _because("stop" if any(each.stops for each in outcome.problems) else "leave", outcome.problems)
    notices = (*_unguarded(facts), *outcome.notices)
    return Desired(
        "apply",
        policy=outcome.text,
        soft_taints=_taints(resource, facts),
        objects=_objects(resource, outcome.text, facts, installation),
        conditions=conditions_of((), notices),
        notices=notices,
    )


def _taints(resource: KubeDescheduler, facts: Facts) -> bool:
    """Whether there is a soft tainter: without the guards its right to patch nodes would be one to evict all pods."""
    return needs_soft_tainter(resource.spec) and not facts.missing_guards


def _unguarded(facts: Facts) -> Iterator[Notice]:
    if facts.missing_guards:
        yield Notice(
            "NotGuarded",
            f"the admission policies {', '.join(facts.missing_guards)} are not in force as restow {__version__} "
            "ships them, so nodes get no soft taints; apply deploy/operator/guarding.yaml",
        )


def _because(action: Action, problems: tuple[Problem, ...] = ()) -> Desired:
    return Desired(action, conditions=conditions_of(problems, ()), problems=problems)


def _objects(resource: KubeDescheduler, policy: str, facts: Facts, installation: Installation) -> tuple[Object, ...]:
    place = Ownership(installation.namespace, resource)
    lasts = resource.spec.descheduling_interval_seconds > 0
    asks = facts.is_openshift and needs_prometheus(resource.spec)
    return (
        *rights_of(place, resource.spec.mode),
        *([monitoring_view(place, MONITORING_VIEW, OPERAND)] if asks else ()),
        in_namespace(place, "v1", "ConfigMap", CONFIG_MAP, data={POLICY_FILE: policy}),
        *(monitoring_of(place, facts) if lasts else ()),
        workload_of(place, installation.image, policy, facts),
        *(soft_tainter_of(place, installation, policy, facts) if _taints(resource, facts) else ()),
    )
