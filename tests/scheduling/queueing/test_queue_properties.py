"""What holds whatever happens to a queue, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, Resource
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from scheduling.queueing.queue_fixtures import HELPFUL, INTERESTS, NODE_ADDED, NODES, PODS, USELESS, a_pod, a_queue

UIDS = tuple("abcdef")
EVENTS = (NODE_ADDED, HELPFUL, USELESS)
PLUGINS = ((), (NODES,), (PODS,), (NODES, PODS))
#: Flush after 300 s, looked for every 30; backoff of 10, ended by the second.
LONGEST_WAIT = 300 + 30 + 10 + 2

STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(UIDS), st.integers(-1, 1)),
    st.tuples(st.just("gate"), st.sampled_from(UIDS)),
    st.tuples(st.just("delete"), st.sampled_from(UIDS)),
    st.tuples(st.just("pop")),
    st.tuples(st.just("fail"), st.sampled_from(UIDS), st.sampled_from(PLUGINS)),
    st.tuples(st.just("bind"), st.sampled_from(UIDS)),
    st.tuples(st.just("event"), st.sampled_from(EVENTS)),
    st.tuples(st.just("wait"), st.sampled_from((0.125, 0.5, 1.0, 3.0, 31.0, 330.0))),
)


@dataclass
class Run:
    """A queue to which things happen, with what a bystander knows of it."""

    queue: SchedulingQueue = field(
        default_factory=lambda: a_queue(
            {"Gate": lambda pod, _: "gated" if pod.gates else None},
            INTERESTS | {"Gate": (Interest(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)},
        )
    )
    now: float = 0
    known: set[str] = field(default_factory=set)
    #: What has happened since the attempt of each pod began.
    trying: dict[str, list[ClusterEvent]] = field(default_factory=dict)
    pops: list[tuple[str, float]] = field(default_factory=list)

    def step(self, kind: str, *args: object) -> None:
        """One thing happens."""
        getattr(self, kind)(*args)
        self.check()

    def add(self, uid: str, priority: int) -> None:
        """A pod comes, or changes and has no gate any more."""
        self.queue.update(a_pod(uid, priority), self.now)
        self.known.add(uid)

    def gate(self, uid: str) -> None:
        """A pod comes that may not be tried; one that is there keeps what it has."""
        if uid not in self.known:
            self.queue.add(a_pod(uid, gates=("g",)), self.now)
            self.known.add(uid)

    def delete(self, uid: str) -> None:
        """A pod is gone or bound."""
        self.queue.delete(uid)
        self.known.discard(uid)
        self.trying.pop(uid, None)

    def pop(self) -> None:
        """The next attempt begins, with the first of the pods that may be tried."""
        self.queue.next_wakeup(self.now)
        active = [each for each in self.queue if self.queue.place(each.key) is QueuePlace.ACTIVE]
        queued = self.queue.pop(self.now)
        if active:
            assert queued is not None
            assert queued.key == min(active, key=lambda each: each.order).key
        if queued is not None:
            assert queued.key not in self.trying
            assert not queued.pod.gates
            self.trying[queued.key] = []
            self.pops.append((queued.key, self.now))

    def fail(self, uid: str, plugins: tuple[str, ...]) -> None:
        """An attempt fails; it is not lost where something helpful happened in the meantime."""
        self.queue.requeue(uid, frozenset(plugins), self.now)
        if uid in self.trying:
            happened = self.trying.pop(uid)
            helpful = {NODES: NODE_ADDED, PODS: HELPFUL}
            expected = not plugins or any(helpful[plugin] in happened for plugin in plugins)
            if expected:
                assert self.queue.place(uid) in (QueuePlace.ACTIVE, QueuePlace.BACKOFF)

    def bind(self, uid: str) -> None:
        """A pod is being bound."""
        if uid in self.trying:
            self.queue.done(uid)

    def event(self, event: ClusterEvent) -> None:
        """Something happens in the cluster."""
        self.queue.on_event(event, self.now)
        for happened in self.trying.values():
            happened.append(event)

    def wait(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds

    def check(self) -> None:
        """Every pod is in one place, and counted there."""
        queue = self.queue
        places = (queue._active, queue._backoff, queue._error_backoff, queue._unschedulable)
        for uid in UIDS:
            found = sum(uid in place for place in places)
            assert (queue.get(uid) is not None) == (uid in self.known)
            assert found == (uid in self.known and uid not in self.trying)
        in_flight = sum(queue.place(each.key) is QueuePlace.IN_FLIGHT for each in queue)
        assert in_flight == len(self.trying)
        assert sum(queue.lengths().values()) == len(queue) == len(self.known)


def run(steps: list[tuple[object, ...]]) -> Run:
    """What becomes of a queue."""
    happening = Run()
    for kind, *args in steps:
        happening.step(str(kind), *args)
    return happening


@given(st.lists(STEPS, max_size=60))
def test_every_pod_is_in_one_place_and_none_is_forgotten(steps: list[tuple[object, ...]]) -> None:
    """Once attempts have failed, every pod that may be tried is tried again within the bounds, without any event."""
    happening = run(steps)
    for uid in list(happening.trying):
        happening.step("fail", uid, (NODES,))
    queue, start = happening.queue, happening.now
    waiting = {each.key for each in queue if not each.pod.gates}
    while (due := queue.next_wakeup(happening.now)) is not None:
        assert happening.now <= due <= start + LONGEST_WAIT
        happening.now = due
        happening.step("pop")
        tried = happening.pops[-1][0]
        happening.step("delete", tried)
        waiting.remove(tried)
    assert not waiting


@given(st.lists(STEPS, max_size=60))
def test_the_same_things_have_the_same_consequences(steps: list[tuple[object, ...]]) -> None:
    one, other = run(steps), run(steps)
    assert one.pops == other.pops
    assert one.queue.incoming == other.queue.incoming
    assert list(one.queue) == list(other.queue)


@given(st.lists(STEPS, max_size=40), st.sampled_from((0.0, 0.25, 1.0, 40.0)))
def test_it_does_not_matter_how_often_one_looks(steps: list[tuple[object, ...]], step: float) -> None:
    """What is due is done at its time, however late somebody asks for it."""
    looked = Run()
    for kind, *args in steps:
        looked.queue.next_wakeup(looked.now)
        if kind == "wait":
            looked.now += float(str(args[0])) / 2
            looked.queue.next_wakeup(looked.now)
            looked.now += float(str(args[0])) / 2
        else:
            looked.step(str(kind), *args)
    assert list(looked.queue) == list(run(steps).queue)
    assert looked.queue.next_wakeup(looked.now + step) == run(steps).queue.next_wakeup(looked.now + step)
