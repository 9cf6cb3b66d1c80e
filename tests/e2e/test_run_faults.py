"""restow behind a proxy that makes trouble with its calls to the API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman, crowd
from e2e.deschedulers import evicted
from e2e.fault_proxy import FaultProxy
from e2e.faults import (
    AnswerLost,
    Forgotten,
    NeverSent,
    Paged,
    Refused,
    Slow,
    Truncated,
    callers_with,
    calls,
    later_pages,
)
from e2e.faulty_runs import APPS, REPLICAS, a_restow, check, stop, wait_until_spread

pytestmark = pytest.mark.e2e

Trouble = Callable[[FaultProxy], AbstractContextManager[None]]
EVICTIONS = calls("create", "pods/eviction")


@pytest.fixture(scope="module")
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as made:
        yield made


@contextmanager
def watches_cut_every_second(proxy: FaultProxy) -> Iterator[None]:
    with proxy.cutting_watches(every=1.0):
        yield


@contextmanager
def forgotten_versions(proxy: FaultProxy) -> Iterator[None]:
    """410 as an answer, as an event, and in the middle of a list; watches end after a second, so there are many."""
    with (
        proxy.trouble(calls("list"), Paged(3)),
        proxy.trouble(later_pages, Refused(410, "Expired"), times=5, share=0.5),
        proxy.trouble(calls("watch"), Forgotten(), share=0.2),
        proxy.trouble(calls("watch"), Refused(410, "Expired"), share=0.2),
        proxy.cutting_watches(every=1.0),
    ):
        yield


@contextmanager
def refusals(proxy: FaultProxy) -> Iterator[None]:
    """Of everything, and of one eviction for certain each."""
    with (
        proxy.trouble(EVICTIONS, Refused(429, "TooManyRequests", retry_after=1), times=1),
        proxy.trouble(EVICTIONS, Refused(500, "InternalError"), times=1),
        proxy.trouble(EVICTIONS, Refused(503, "ServiceUnavailable"), times=1),
        proxy.trouble(calls(), Refused(429, "TooManyRequests"), share=0.1),
        proxy.trouble(calls(), Refused(429, "TooManyRequests", retry_after=1), share=0.05),
        proxy.trouble(calls(), Refused(500, "InternalError"), share=0.1),
        proxy.trouble(calls(), Refused(503, "ServiceUnavailable"), share=0.1),
    ):
        yield


@contextmanager
def answers_that_break_off(proxy: FaultProxy) -> Iterator[None]:
    with (
        proxy.trouble(EVICTIONS, AnswerLost(), times=2),
        proxy.trouble(EVICTIONS, NeverSent(), times=1),
        proxy.trouble(EVICTIONS, Truncated(10), times=1),
        proxy.trouble(calls(), NeverSent(), share=0.1),
        proxy.trouble(calls("list"), Truncated(300), share=0.2),
        proxy.trouble(calls("watch"), Truncated(5000), share=0.3),
        proxy.trouble(calls(), Slow(500, 0.01), share=0.5),
    ):
        yield


@pytest.mark.parametrize(
    "trouble",
    [watches_cut_every_second, forgotten_versions, refusals, answers_that_break_off],
    ids=lambda f: f.__name__,
)
def test_the_crowd_is_spread_all_the_same(
    plane: ControlPlane, namespace: str, proxy: FaultProxy, tmp_path: Path, trouble: Trouble
) -> None:
    apps = crowd(plane, APPS, REPLICAS, namespace=namespace, max_unavailable=1)
    watchman = Watchman()
    plane.audit.restart()
    with (
        watchman.watching(plane, namespace),
        trouble(proxy),
        a_restow(tmp_path, proxy.kubeconfig) as restow,
    ):
        wait_until_spread(plane, apps, namespace, restow)
        stop(restow)
    check(plane, watchman, restow)
    told = Counter(f"{entry['pod']['namespace']}/{entry['pod']['name']}" for entry in restow.entries("Evicted pod"))
    assert told == Counter(evicted(plane))


def test_a_token_that_expires_is_replaced_in_its_file(
    plane: ControlPlane, namespace: str, proxy: FaultProxy, tmp_path: Path
) -> None:
    """As the kubelet rotates that of a service account; nothing is evicted meanwhile, and nobody has to start again."""
    expired = plane.service_account("rotated", namespace, roles=("cluster-admin",))
    file = tmp_path / "token"
    file.write_text(expired)
    watchman = Watchman()
    plane.audit.restart()
    kubeconfig = proxy.kubeconfig_for({"tokenFile": str(file)})
    with a_restow(tmp_path, kubeconfig) as restow:
        restow.wait_ready()
        with proxy.trouble(callers_with(expired), Refused(401, "Unauthorized")):
            with proxy.cutting_watches(every=0.2):
                restow.wait_for_line("401")
            apps = crowd(plane, APPS, REPLICAS, namespace=namespace, max_unavailable=1)
            with watchman.watching(plane, namespace):
                assert not evicted(plane)
                file.write_text(plane.token_of("rotated", namespace))
                wait_until_spread(plane, apps, namespace, restow)
        stop(restow)
    check(plane, watchman, restow)
