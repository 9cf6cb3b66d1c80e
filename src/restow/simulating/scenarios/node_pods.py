"""The pods of a node that is drained or restarted.

A drain evicts them, and retries those whose budgets refuse; pods of DaemonSets stay, and so do static pods. A restart
starts their containers again, unless a pod is not to be restarted: then it has failed.

Sources: ``kubectl drain`` 1.36 with ``--ignore-daemonsets --force --delete-emptydir-data``, and the kubelet 1.36 after
a reboot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.simulating.conditions import not_ready, over, started_again
from restow.simulating.controllers.removable_pods import stays_with_node
from restow.simulating.eviction import TOO_MANY_REQUESTS, evict
from restow.simulating.indexes import key_of
from restow.simulating.store import Store

#: Called with a pod that was evicted, and with the actor.
Evicted = Callable[[Pod, tuple[str, ...]], None]

DRAIN: Final = "drain"
#: How long it takes from one try to the next.
_RETRY: Final = 5 * SECOND


def drain(store: Store, node: str, evicted: Evicted) -> None:
    """Evict the pods that are on a node now, as soon as their budgets allow it."""
    for pod in store.on_node(node):
        if not stays_with_node(pod):
            _try(store, pod, evicted)


def _try(store: Store, pod: Pod, evicted: Evicted) -> None:
    """Ask for the eviction of a pod, unless it is another one by now, or on its way out."""
    now: Pod | None = store.get("Pod", *key_of(pod))
    if now is None or now.metadata.uid != pod.metadata.uid or now.metadata.is_terminating:
        return
    answer = evict(store, *key_of(pod))
    if answer.is_evicted:
        evicted(now, (DRAIN,))
    elif answer.code == TOO_MANY_REQUESTS:
        store.clock.after(_RETRY, lambda: _try(store, pod, evicted))


def restart_pods(store: Store, node: str) -> None:
    """Stop the containers of a node's running pods; the kubelet makes them ready again."""
    for pod in list(store.on_node(node)):
        if pod.status.phase == "Running" and not pod.metadata.is_terminating:
            store.update(_restarted(pod, store.clock.text))


def _restarted(pod: Pod, now: str) -> Pod:
    if pod.spec.get("restartPolicy") == "Never":
        return over(pod, "Failed", now)
    return not_ready(started_again(pod), now)
