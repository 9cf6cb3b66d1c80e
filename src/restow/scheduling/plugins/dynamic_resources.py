"""DynamicResources: resource claims are not modelled, only pods without any. Source: Kubernetes 1.33 to 1.37."""

from __future__ import annotations

from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs
from restow.scheduling.framework.minors import CLAIMS_ENABLED, NO_CLAIMS_UNTOLD, holds
from restow.scheduling.framework.post_filtering import Handle, Preemption
from restow.scheduling.framework.verdicts import Verdicts

NAME = "DynamicResources"

_NO_CLAIMS = Preemption(message="no new claims to deallocate", keeps_nomination=True)
#: Where that is not told: up to 1.33, where the plugin is disabled, and since 1.37.
_NOTHING = Preemption(keeps_nomination=True)
#: Its error where a pod is ruled out before it has seen it.
_UNSEEN = Preemption(message="not found", keeps_nomination=True, is_final=True)


class DynamicResourcesArgs(SchedulerPluginArgs, frozen=True):
    """Arguments of a plugin that is not modelled."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class DynamicResources:
    """PostFilter."""

    def __init__(self, handle: Handle) -> None:
        self._prefilters = handle.prefilters
        cluster = handle.context.state.cluster
        self._is_enabled = holds(CLAIMS_ENABLED, cluster)
        self._without_claims = _NOTHING if holds(NO_CLAIMS_UNTOLD, cluster) else _NO_CLAIMS

    def post_filter(self, _pod: int, verdicts: Verdicts) -> Preemption:
        """There is nothing to deallocate."""
        if not self._is_enabled:
            return _NOTHING
        return _UNSEEN if self._is_unseen(verdicts) else self._without_claims

    def _is_unseen(self, verdicts: Verdicts) -> bool:
        """Whether another plugin ruled the pod out before this one."""
        if NAME not in self._prefilters:
            return True
        ruled_out = verdicts.prefilter
        if ruled_out is None or not ruled_out.outcome.unresolvable:
            return False
        return ruled_out.plugin not in self._prefilters[self._prefilters.index(NAME) :]


PLUGIN = SchedulerPlugin(
    NAME,
    ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    make_post_filter=lambda handle, _args: DynamicResources(handle),
    args=DynamicResourcesArgs,
    weight=2,
    # Of a scheduler that refuses pods with resource claims: nothing helps them.
    interests=(),
    not_modelled="pods with resource claims are scheduled as if they had none",
)
