"""What differs between two plans: of two policies on one cluster, of one policy on two clusters, or as they were saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from restow.application.clusters import ClusterSource
from restow.application.files import NamedFile, NamedText, file_bytes, file_name
from restow.application.planning import PlanRequest, make
from restow.descheduling.plan_reading import is_plan, read_document
from restow.errors import InputError
from restow.reporting.difference_result import PlanDifference, difference

if TYPE_CHECKING:
    from restow.application.feedback import Feedback


@dataclass(slots=True, frozen=True)
class DiffRequest:
    """Which plans to compare."""

    #: Two plans or two policies; two clusters if ``plan`` has a policy.
    old: NamedFile
    new: NamedFile
    #: How plans are made: everything but what differs.
    plan: PlanRequest


def diff(request: DiffRequest, feedback: Feedback) -> PlanDifference:
    """Compare two plans; InputError for anything that cannot be used, ClientError as ``read_cluster``."""
    if request.plan.policy is not None:
        return _of_clusters(request, feedback)
    files = [NamedText(file_name(each), file_bytes(each)) for each in (request.old, request.new)]
    plans = [each for each in files if is_plan(each.content)]
    if not plans:
        return _of_policies(files[0], files[1], request.plan, feedback)
    if len(plans) < len(files):
        (policy,) = (each for each in files if each not in plans)
        raise InputError(f"{plans[0].name} is a plan, and {policy.name} is none; compare two plans, or two policies")
    old, new = (read_document(each.content, each.name) for each in plans)
    return difference(old, new, *(each.name for each in plans))


def _of_policies(old: NamedText, new: NamedText, request: PlanRequest, feedback: Feedback) -> PlanDifference:
    """Plan twice on one reading of the cluster, as of the same time."""
    first = make(structs.replace(request, policy=old), feedback)
    at = first.plan.metadata.generated_at
    second = make(structs.replace(request, where=first.cluster, policy=new, now=at), feedback)
    return difference(first.plan, second.plan, old.name, new.name)


def _of_clusters(request: DiffRequest, feedback: Feedback) -> PlanDifference:
    """Plan both clusters by one policy."""
    where = request.plan.where
    if not isinstance(where, ClusterSource) or where.inputs or not isinstance(request.plan.policy, str):
        raise InputError("with --policy-config-file, which is the policy of both, compare two dumps without -f")
    text = NamedText(file_name(request.plan.policy), file_bytes(request.plan.policy))
    dumps = [file_name(each) for each in (request.old, request.new)]
    requests = [
        structs.replace(request.plan, policy=text, where=structs.replace(where, inputs=(each,))) for each in dumps
    ]
    old, new = (make(each, feedback).plan for each in requests)
    return difference(old, new, *dumps)
