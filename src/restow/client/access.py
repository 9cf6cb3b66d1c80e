"""What to say when the API server refuses for want of a right: the rule to add, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from restow.client.errors import ApiError
from restow.client.resources import Resource
from restow.kube.excerpts import excerpt

#: The server's own sentence names the user.
_USER = re.compile(r'User "([^"]+)" cannot ')


def missing_right(error: ApiError, resource: Resource, verbs: Sequence[str], subresource: str = "") -> str:
    """One sentence: who may not do what, and the rule that permits it; the server's words where it says something else."""
    user = _USER.search(error.answer)
    if user is None:
        return error.message
    what = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return (
        f"{excerpt(user[1])} may not {' and '.join(verbs)} {what}; "
        f"add the rule {resource.rule(verbs, subresource)} to its ClusterRole"
    )
