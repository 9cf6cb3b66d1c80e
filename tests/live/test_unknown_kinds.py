"""What becomes of a kind of which no more is heard: trusted for a while, then unknown, told once; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from builders import a_namespace, a_node, a_pdb, a_pod
from live.apiserver import ApiServer
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterStore
from restow.live.cluster import LiveCluster, WatchEndedError, live_cluster
from restow.live.reading import read_kinds
from restow.live.reflector import TRUSTED

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

KINDS = ("Node", "Pod", "Namespace", "PodDisruptionBudget")
#: Seconds.
LONG = 3_600.0
#: Seconds in which trouble is noticed whatever it is: the API server says each minute that nothing has changed.
NOTICED = 70.0
TOLD = (
    "the API server has not reported on namespaces for 180 s: their current state is unknown, and pods that depend on it "
    "are not evicted"
)
BACK = "namespaces are known again"

Trouble = Callable[[ApiServer], None]


def now() -> float:
    return asyncio.get_running_loop().time()


def forbidden(server: ApiServer) -> None:
    server.refused["Namespace"] = 403


def not_served(server: ApiServer) -> None:
    server.refused["Namespace"] = 404


def hanging_watch(server: ApiServer) -> None:
    server.hung.add("Namespace")


def failing_lists(server: ApiServer) -> None:
    """410, and then no list."""
    server.refused["Namespace"] = 500
    server.forget()


def lists_that_break_off(server: ApiServer) -> None:
    """410, and then lists of which the first page comes again and again."""
    server.torn.add("Namespace")
    server.forget()


def no_trouble(server: ApiServer) -> None:
    server.refused.clear()
    server.hung.clear()
    server.torn.clear()


@dataclass
class Said:
    """Sentences for people, with their times."""

    at: list[tuple[float, str]] = field(default_factory=list)

    def __call__(self, sentence: str) -> None:
        self.at.append((now(), sentence))

    def of(self, sentence: str) -> list[float]:
        return [at for at, each in self.at if each == sentence]


def a_town(server: ApiServer) -> None:
    """More namespaces than fit on a page; one of them has opted out."""
    server.put("Node", a_node("n1"))
    server.put("Pod", a_pod("web", node="n1", namespace="quiet"))
    server.put("PodDisruptionBudget", a_pdb("web"))
    server.put("Namespace", a_namespace("quiet", annotations={"restow.dev/eviction": "disabled"}))
    for name in "abcdef":
        server.put("Namespace", a_namespace(name))


def knows_namespaces(live: LiveCluster) -> bool:
    """As a decision and as an execution are told; they are told the same."""
    told = live.snapshot().has_list("Namespace")
    assert told == live.is_known("Namespace") == (live.unknown(["Namespace"]) is None)
    assert told == ("Namespace" not in live.snapshot().missing) == (live.lost_protection() is None)
    return told


@pytest.mark.parametrize(
    "trouble",
    [forbidden, not_served, hanging_watch, failing_lists, lists_that_break_off],
    ids=lambda trouble: trouble.__name__,
)
async def test_the_last_state_is_kept_for_a_while_and_then_nobody_knows(
    server: ApiServer, api: Api, trouble: Trouble
) -> None:
    a_town(server)
    server.cut_after = 300.0 if trouble is hanging_watch else 45.0
    said = Said()
    async with live_cluster(api, KINDS, warn=said) as live:
        assert await live.wait_ready(now() + LONG)
        await asyncio.sleep(500)
        assert knows_namespaces(live)
        began = now()
        trouble(server)

        await asyncio.sleep(TRUSTED - NOTICED)
        assert knows_namespaces(live)
        assert live.opt_out("quiet") == "disabled"

        await asyncio.sleep(NOTICED + 5)
        for _ in range(200):
            assert not knows_namespaces(live)
            await asyncio.sleep(10)
        assert live.snapshot().missing == {"Namespace"}
        assert live.unknown(["Node", "Pod", "PodDisruptionBudget"]) is None
        assert len(said.of(TOLD)) == 1
        assert said.of(TOLD)[0] < began + TRUSTED + 30
        assert said.of(BACK) == []

        no_trouble(server)
        await asyncio.sleep(700)
        assert knows_namespaces(live)
        assert live.opt_out("quiet") == "disabled"
        assert len(said.of(TOLD)) == len(said.of(BACK)) == 1


async def test_an_annotation_that_was_put_on_meanwhile_is_known_afterwards(server: ApiServer, api: Api) -> None:
    a_town(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        hanging_watch(server)
        server.put("Namespace", a_namespace("a", annotations={"restow.dev/eviction": "disabled"}))
        await asyncio.sleep(LONG)
        assert not knows_namespaces(live)
        no_trouble(server)
        await asyncio.sleep(700)
        assert knows_namespaces(live)
        assert live.opt_out("a") == live.opt_out("quiet") == "disabled"


async def test_a_short_trouble_is_no_loss(server: ApiServer, api: Api) -> None:
    """A right that comes back within two minutes; lists begin and end, and nobody is told but of the refusal."""
    a_town(server)
    server.cut_after, server.bookmark_after = 10.0, 4.0
    said = Said()
    async with live_cluster(api, KINDS, warn=said) as live:
        assert await live.wait_ready(now() + LONG)
        forbidden(server)
        for _ in range(80):
            await asyncio.sleep(1)
            assert knows_namespaces(live)
        no_trouble(server)
        for _ in range(600):
            await asyncio.sleep(1)
            assert knows_namespaces(live)
        assert not said.of(TOLD)


@pytest.mark.parametrize("kind", ["Namespace", "PodDisruptionBudget"])
async def test_a_kind_that_was_never_to_be_had_is_unknown_from_the_start(
    server: ApiServer, api: Api, kind: str
) -> None:
    """Any namespace may have opted out. Budgets are asked by the API server too, so that it is ready without them."""
    a_town(server)
    server.refused[kind] = 403
    said = Said()
    async with live_cluster(api, KINDS, warn=said) as live:
        assert await live.wait_ready(now() + LONG)
        assert live.snapshot().missing == {kind}
        why = live.unknown([kind])
        assert why is not None
        assert "add the rule" in why
        assert live.lost_protection() == (why if kind == "Namespace" else None)
        await asyncio.sleep(500)
        # The rule to add has been named; there is nothing more to say.
        assert [sentence for _, sentence in said.at] == [why]


async def test_before_the_first_list_nothing_is_known(server: ApiServer, api: Api) -> None:
    a_town(server)
    server.refused["Namespace"] = 500
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        await asyncio.sleep(100)
        assert live.unknown(KINDS) == "namespaces have not been listed yet"


async def test_pods_that_are_not_heard_of_are_not_known_either(server: ApiServer, api: Api) -> None:
    """They stay in snapshots, for there is no cluster without them; whoever decides asks first."""
    a_town(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        server.hung.add("Pod")
        await asyncio.sleep(2 * TRUSTED)
        assert str(live.unknown(KINDS)).startswith("the API server has not reported on pods for ")
        assert live.lost_protection() == live.unknown(["Pod"])
        assert len(live.snapshot().pods) == 1
        assert live.snapshot().missing == frozenset()


async def test_a_task_that_has_ended_is_told_however_long_ago_that_was(
    server: ApiServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a kind that is not known for now: only a new process can follow it again."""
    a_town(server)
    async with live_cluster(api, KINDS, warn=lambda _: None) as live:
        assert await live.wait_ready(now() + LONG)
        monkeypatch.setattr(live, "_take", None)
        server.put("Pod", a_pod("new", node="n1"))
        await asyncio.sleep(2 * TRUSTED)
        with pytest.raises(WatchEndedError, match="TypeError"):
            live.unknown(["Pod"])
        assert live.lost_protection() is not None


async def test_one_watch_that_hangs_is_replaced_before_its_kind_is_lost(server: ApiServer, api: Api) -> None:
    """A connection that nobody told is gone; the next one is good."""
    a_town(server)
    server.cut_after, server.bookmark_after = LONG, 61.0
    said = Said()
    async with live_cluster(api, KINDS, warn=said) as live:
        assert await live.wait_ready(now() + LONG)
        await asyncio.sleep(62)
        server.hung.add("Namespace")
        # The stream that is open finds it so, and says nothing ever again.
        await asyncio.sleep(62)
        server.hung.clear()
        for _ in range(300):
            assert knows_namespaces(live)
            await asyncio.sleep(1)
        assert not said.of(TOLD)


async def test_a_kind_that_the_api_server_does_not_serve_has_no_objects(server: ApiServer, api: Api) -> None:
    """Until it does: VerticalPodAutoscalers come with a CustomResourceDefinition, and nobody has to be told without."""
    kinds = (*KINDS, "VerticalPodAutoscaler")
    server.put("Node", a_node("n1"))
    server.put("Pod", a_pod("p1", node="n1"))
    server.refused["VerticalPodAutoscaler"] = 404
    said: list[str] = []
    async with live_cluster(api, kinds, warn=said.append) as live:
        assert await live.wait_ready(now() + 60)
        assert live.snapshot().has_list("VerticalPodAutoscaler")
        await asyncio.sleep(LONG)
        assert live.snapshot().has_list("VerticalPodAutoscaler")
        assert said == []
        del server.refused["VerticalPodAutoscaler"]
        server.put("VerticalPodAutoscaler", {"metadata": {"name": "web", "namespace": "default"}})
        await asyncio.sleep(NOTICED)
        assert list(live.snapshot().kind("VerticalPodAutoscaler")) == [("default", "web")]
    store = ClusterStore()
    server.refused["VerticalPodAutoscaler"] = 404
    assert await read_kinds(api, kinds, store) == ()
    assert store.snapshot().has_list("VerticalPodAutoscaler")
