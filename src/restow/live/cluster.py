"""The cluster of an API server, kept up to date by watches.

Each kind has a task that follows it. Changes are applied at once and as a whole: a fresh list replaces the old one when
its last page has arrived, never page by page. All of this happens in one event loop, so ``snapshot`` sees every kind as
it was at one moment. Objects are kept as ``ClusterStore`` keeps them: pods as rows of interned parts.

When a kind cannot be watched, its last state is trusted for ``reflector.TRUSTED`` seconds. After that, the kind is
missing from snapshots until it is watched again, and pods that it could protect are not evicted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from restow.client.errors import ApiError, Forbidden, NotFound
from restow.client.listing import pages
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Changed, Current, Interrupted, Listed, Removed, WatchEvent, follow
from restow.cluster.closed_nodes import FencedNode
from restow.cluster.left_out import ObjectKey, add_page, sentence
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import PodNow
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore, Key
from restow.errors import ClientError
from restow.kube.objects import NodeMetrics, OwnerReference
from restow.live.reading import METRICS, OPTIONAL, PERMITTING, PROTECTING, READ, REQUIRED, refusal_sentence
from restow.live.reflector import REFUSED, LeftOutReports, Outages, Reflector, Warn
from restow.live.usage_record import UsageRecord
from restow.usage.measured import INTERVAL, smoothed
from restow.usage.measured import KIND as RECENT
from restow.workloads.controllers import wanted_replicas

#: Seconds between two reads of metrics.k8s.io. Source: Descheduler 0.36 for nodes, whose mean depends on it; the
#: metrics server measures every 15 s.
METRICS_INTERVALS = {"NodeMetrics": INTERVAL, "PodMetrics": 15.0}
#: Seconds between two checks for kinds that have become unknown.
_LOOK = 15.0
#: Seconds until a kind that the API server does not serve is requested again: less than it is trusted for.
_ASKED_AGAIN = 60.0


#: Called with a kind and those of its objects (namespace and name) that may have changed.
Touch = Callable[[str, Iterable[Key]], None]


class WatchEndedError(Exception):
    """A task that follows a kind has ended, which should never happen: its state will never be up to date again."""


class LiveCluster:
    """The state of a cluster as the API server last reported it.

    ``kinds`` are the kinds to keep; those of metrics.k8s.io are read in intervals instead of being watched, and the usage
    of nodes is the mean of what came so far (``usage.measured``); ``keep_usage`` keeps samples. ``warn`` gets a sentence
    when a kind cannot be listed, when updates stop, when a kind is not known any more, when any of these is over, and for
    objects that cannot be read.
    ``listeners`` get what may have changed, for code that keeps something of its own. ``done`` is what is not done to pods
    that depend on what is not known.
    """

    def __init__(
        self,
        api: Api,
        kinds: Sequence[str] = READ,
        *,
        warn: Warn,
        done: str = "evicted",
    ) -> None:
        self._api = api
        self._warn = warn
        self.listeners: list[Touch] = []
        self._reflectors = {kind: Reflector(kind) for kind in kinds}
        self._store = ClusterStore()
        self._record = UsageRecord()
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._outages = Outages(warn, done)
        self._interruptions = 0
        #: What the last snapshot left out, apart from unreadable objects.
        self._beyond: Mapping[ObjectKey, str] = {}
        #: Of the state as it is now; None when it has changed since.
        self._snapshot: ClusterSnapshot | None = None
        #: The minor version of the API server, once it was asked for.
        self.server_minor: int | None = None

    async def start(self) -> None:
        """Begin to follow; returns at once."""
        for reflector in self._reflectors.values():
            self._begin(reflector)
        self._tasks.append(asyncio.create_task(self._look(), name="live outages"))

    def add(self, kinds: Sequence[str]) -> None:
        """Keep more kinds from now on; those that are kept already stay as they are."""
        for kind in kinds:
            if kind not in self._reflectors:
                self._reflectors[kind] = Reflector(kind)
                self._begin(self._reflectors[kind])

    def keep_usage(self, window: int, spacing: int) -> None:
        """Keep samples of metrics.k8s.io for a window (seconds), one in every ``spacing``; none for a window of 0."""
        self._record.keep(window, spacing)

    def _begin(self, reflector: Reflector) -> None:
        task = asyncio.create_task(self._keep(reflector), name=f"live {reflector.kind}")
        task.add_done_callback(lambda _: self._wake())
        self._tasks.append(task)

    async def stop(self) -> None:
        """End all tasks; the state stays."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def ready(self) -> bool:
        """Whether every kind that may be listed is; nodes and pods must be."""
        return all(reflector.settled for reflector in self._reflectors.values())

    @property
    def refused(self) -> dict[str, str]:
        """The kinds that cannot be listed, and why: sentences with the rule to add."""
        return {
            kind: reflector.refused for kind, reflector in self._reflectors.items() if reflector.refused is not None
        }

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are kept."""
        return tuple(self._reflectors)

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds that ``ready`` waits for."""
        return tuple(kind for kind, reflector in self._reflectors.items() if not reflector.settled)

    @property
    def interruptions(self) -> int:
        """How often the watches of nodes or pods have broken off so far, even for a moment."""
        return self._interruptions

    def is_interrupted(self, kind: str) -> bool:
        """Whether the watch of a kind has broken off and has not resumed."""
        reflector = self._reflectors[kind]
        return reflector.broken > reflector.last_update

    def age(self, kind: str) -> float:
        """Seconds since a kind was up to date: the API server also confirms that nothing has changed."""
        return _now() - self._reflectors[kind].last_update

    def is_known(self, kind: str) -> bool:
        """Whether the objects of a kind are known, and recent enough to be trusted."""
        return self._reflectors[kind].is_known(_now())

    @property
    def not_known(self) -> frozenset[str]:
        """The kinds that snapshots lack: all that are not known, but for nodes and pods."""
        return frozenset(kind for kind in self._reflectors if kind not in REQUIRED and not self.is_known(kind))

    def unknown(self, kinds: Iterable[str]) -> str | None:
        """Why the first of these kinds that is not in sync is not; None if all are.

        WatchEndedError if one of the tasks has ended.
        """
        self._check()
        return self._doubt(kinds)

    def lost_protection(self) -> str | None:
        """Why it is unknown which pods may be evicted; None if it is known, or if a kind was never available and is optional."""
        seen = {kind for kind, reflector in self._reflectors.items() if reflector.listed}
        return self._doubt(kind for kind in PROTECTING if kind in PERMITTING or kind in seen)

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now, in canonical order; raises WatchEndedError if one of the tasks has ended.

        Kinds that are not known are missing (``Cluster.missing``). Before ``ready`` there are holes in it.
        """
        self._check()
        missing = self.not_known
        if self._snapshot is None or self._snapshot.missing != missing:
            found = self._store.snapshot().without(missing)
            others = {**found.others, RECENT: self._record.known} if self._record.known else found.others
            self._snapshot = replace(found, others=others, server_minor=self.server_minor)
            self._warn_beyond(self._snapshot.left_out)
        return self._snapshot

    @property
    def store(self) -> ClusterStore:
        """The current state, to be read and not to be kept."""
        return self._store

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod as it is now, without a snapshot; None if it is gone."""
        return self._store.pod(namespace, name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), by name, terminating ones too."""
        return self._store.pods_of(namespace, owner)

    def gated(self) -> list[PodNow]:
        """The pods that wait behind the gate of steering, by namespace and name."""
        return self._store.gated()

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        return self._store.takes_pods(node)

    def node_row(self, node: str) -> NodeRow | None:
        """Everything that is known of a node; None if there is no such node."""
        found = self._store.node(node)
        return None if found is None else found.row

    def fences(self) -> list[FencedNode]:
        """The nodes that carry restow's own taint, by name."""
        return self._store.fences()

    def has_taints(self, node: str) -> bool | None:
        """Whether a node carries any taint; None if there is no such node."""
        return self._store.has_taints(node)

    def opt_out(self, namespace: str) -> str | None:
        """The value of a namespace's annotation ``restow.dev/eviction``; None if it has none, or is unknown."""
        return self._store.opt_out(namespace)

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        """The wanted replicas of a ReplicaSet or ReplicationController; None for other kinds, or if unknown."""
        return wanted_replicas(self._store.other(owner.kind, namespace, owner.name), owner)

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction; an unknown one does."""
        return self._store.has_room(budget)

    async def changed(self) -> None:
        """Wait for the next change of anything; raises WatchEndedError if one of the tasks has ended."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
        self._check()

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        """Wait until something holds; False if it still does not at ``deadline``, in the event loop's time."""
        try:
            async with asyncio.timeout_at(deadline):
                while not predicate():
                    await self.changed()
        except TimeoutError:
            return predicate()
        return True

    async def wait_ready(self, deadline: float) -> bool:
        """Wait until ``ready``, as ``wait_for``."""
        return await self.wait_for(lambda: self.ready, deadline)

    async def _keep(self, reflector: Reflector) -> None:
        """Follow a kind until cancelled; refusals are retried."""
        while True:
            try:
                await (self._poll(reflector) if reflector.kind in METRICS else self._follow(reflector))
            except (Forbidden, NotFound) as refused:
                if isinstance(refused, NotFound) and reflector.kind in OPTIONAL:
                    self._take(reflector, Listed([], first=True, last=True))
                    await asyncio.sleep(_ASKED_AGAIN)
                    continue
                self._refuse(reflector, refusal_sentence(reflector.kind, refused))
            except ClientError as error:
                # Other refusals may pass too.
                self._fail(reflector, error)
            await asyncio.sleep(REFUSED.wait(reflector.refusals))

    async def _follow(self, reflector: Reflector) -> None:
        async with aclosing(follow(self._api, RESOURCES[reflector.kind])) as events:
            async for event in events:
                self._take(reflector, event)

    async def _poll(self, reflector: Reflector) -> None:
        while True:
            found: list[Any] = []
            async with aclosing(pages(self._api, RESOURCES[reflector.kind])) as listed:
                async for page in listed:
                    found += page.objects
                    if page.last:
                        await self._record.take(reflector.kind, found, self._api.server_time.now())
                    self._take(
                        reflector, Listed([self._followed(each) for each in page.objects], page.first, page.last)
                    )
            await asyncio.sleep(METRICS_INTERVALS[reflector.kind])

    def _followed(self, metrics: Any) -> Any:
        """The usage of a node as the mean of its samples so far; that of a pod, and what cannot be read, as it is."""
        if not isinstance(metrics, NodeMetrics):
            return metrics
        try:
            return smoothed(self._store.other("NodeMetrics", "", metrics.metadata.name), metrics)
        except ValueError:
            # The reader reports what is wrong with it.
            return metrics

    def _take(self, reflector: Reflector, event: WatchEvent) -> None:
        """Apply one watch event."""
        match event:
            case Interrupted(error, _):
                self._interrupt(reflector, error)
                return
            case Listed():
                self._list(reflector, event)
            case Changed(changed):
                self._put(reflector.kind, [changed], self._store)
                self._touch(reflector.kind, [(changed.metadata.namespace, changed.metadata.name)])
                self._wake()
            case Removed(removed):
                self._store.remove(reflector.kind, removed.metadata.namespace, removed.metadata.name)
                self._touch(reflector.kind, [(removed.metadata.namespace, removed.metadata.name)])
                self._wake()
            case Current():
                pass
        if not isinstance(event, Listed) or event.last:
            # The first pages of lists that are never finished make nothing up to date.
            reflector.last_update = _now()
            self._outages.recovered(reflector)

    def _interrupt(self, reflector: Reflector, error: ClientError) -> None:
        self._interruptions += reflector.kind in REQUIRED
        self._outages.interrupted(reflector, error, _now())
        self._notify()

    async def _look(self) -> None:
        """Warn of kinds that have become unknown, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            self._outages.look(self._reflectors.values(), _now())

    def _list(self, reflector: Reflector, page: Listed) -> None:
        if page.first:
            reflector.coming = ClusterStore()
        self._put(reflector.kind, page.objects, reflector.coming)
        if not page.last:
            return
        before = self._store.keys(reflector.kind)
        self._store.take_over(reflector.kind, reflector.coming)
        self._touch(reflector.kind, before | self._store.keys(reflector.kind))
        reflector.coming = ClusterStore()
        if reflector.refused is not None:
            self._warn(f"{RESOURCES[reflector.kind].plural} can be listed now")
        reflector.listed, reflector.refused, reflector.refusals = True, None, 0
        self._wake()

    def _put(self, kind: str, objects: Sequence[Any], store: ClusterStore) -> None:
        add_page(LeftOutReports(store, self._store.left_out, self._warn), kind, objects)

    def _warn_beyond(self, left_out: Mapping[ObjectKey, str]) -> None:
        """Warn once of objects that only the snapshot leaves out."""
        beyond = {key: why for key, why in left_out.items() if key not in self._store.left_out}
        for key in sorted(beyond.keys() - self._beyond.keys()):
            self._warn(sentence(key[0], beyond[key]))
        self._beyond = beyond

    def _refuse(self, reflector: Reflector, why: str) -> None:
        """Note that a kind cannot be listed; its last state is kept, and trusted for a while."""
        if reflector.refused is None:
            self._warn(why)
        reflector.refused = why
        reflector.refusals += 1
        self._wake()

    def _fail(self, reflector: Reflector, error: ClientError) -> None:
        """Note that a kind cannot be read for another reason; its last state stays."""
        reflector.refusals += 1
        trouble = f"{RESOURCES[reflector.kind].plural} cannot be listed: {error}"
        if reflector.kind in METRICS and not reflector.listed and isinstance(error, ApiError):
            # Usage comes from another server, which may be down for good.
            self._refuse(reflector, trouble)
        elif reflector.refusals == 1:
            self._warn(trouble)

    def _doubt(self, kinds: Iterable[str]) -> str | None:
        reflectors = (self._reflectors.get(kind) or Reflector(kind) for kind in kinds)
        return next((doubt for reflector in reflectors if (doubt := reflector.doubt(_now())) is not None), None)

    def _touch(self, kind: str, keys: Iterable[Key]) -> None:
        for listener in self.listeners:
            listener(kind, keys)

    def _wake(self) -> None:
        """Drop the snapshot, which is out of date, and wake waiting tasks."""
        self._snapshot = None
        self._notify()

    def _notify(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _check(self) -> None:
        """Raise the exception of a task that has ended, since none should."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise WatchEndedError(f"{task.get_name()}: {type(error).__name__}: {error}") from error


def _now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def live_cluster(api: Api, kinds: Sequence[str] = READ, *, warn: Warn) -> AsyncIterator[LiveCluster]:
    """A started ``LiveCluster``, stopped at the end."""
    live = LiveCluster(api, kinds, warn=warn)
    await live.start()
    try:
        yield live
    finally:
        await live.stop()
