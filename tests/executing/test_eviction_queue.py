"""The queue: the plan's order, held back only by what is on its way."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from heapq import heappush
from typing import Any

import pytest
from msgspec import structs

from executing.double import a_task, tasks
from executing.steered import steered
from restow.descheduling.plan import MadeProposal
from restow.executing.eviction_queue import EvictionQueue, Pace
from restow.executing.task import Task
from restow.policies.codes import Certainty

QUICK, LATE = 0.1, 0.3


def started(eviction_queue: EvictionQueue, now: float = 0.0) -> list[str]:
    """All that may go."""
    found = []
    while (task := eviction_queue.start(now)) is not None:
        found.append(task.move.pod.name)
    return found


def test_one_of_each_workload_goes_in_the_order_of_the_plan() -> None:
    assert started(EvictionQueue([*tasks("web", 2), *tasks("api", 2, 2)], Pace(16))) == ["web-0", "api-0"]


def test_as_many_go_as_the_limit_says() -> None:
    assert started(EvictionQueue(tasks("web", 5, limit=3), Pace(16))) == ["web-0", "web-1", "web-2"]


def test_no_more_are_asked_at_a_time_than_the_width() -> None:
    eviction_queue = EvictionQueue(tasks("web", 5, limit=5), Pace(2))
    assert started(eviction_queue) == ["web-0", "web-1"]


def test_the_next_under_a_budget_goes_when_the_server_has_answered() -> None:
    first, second = tasks("web", 2, limit=2, budgets=["default/web"])
    eviction_queue = EvictionQueue([first, second], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    eviction_queue.answered(first)
    assert started(eviction_queue) == ["web-1"]


def test_the_next_of_a_workload_goes_when_the_one_before_has_ended() -> None:
    first, second = tasks("web", 2)
    eviction_queue = EvictionQueue([first, second], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    eviction_queue.answered(first)
    eviction_queue.landed(first)
    assert started(eviction_queue) == []
    eviction_queue.finish(first)
    assert started(eviction_queue) == ["web-1"]


def test_nobody_waits_for_a_replacement_that_lands_after_them() -> None:
    """Two pods change places: the first replacement has a place once the second pod has left."""
    first, second = a_task("web-0", "web", candidates=["b"]), a_task("api-0", "api", number=1, candidates=["a"])
    swap = MadeProposal("swap", 2, "certain", 1.0, waits=True)
    first = structs.replace(first, move=structs.replace(first.move, proposal=swap))
    eviction_queue = EvictionQueue([first, second], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    eviction_queue.answered(first)
    assert started(eviction_queue) == ["api-0"]


def test_a_proven_move_waits_until_all_before_it_have_landed() -> None:
    plan = [a_task("web-0", "web", candidates=["b"]), a_task("api-0", "api", number=1, candidates=["c"])]
    eviction_queue = EvictionQueue([*plan, *tasks("db", 1, 2)], Pace(16))
    assert started(eviction_queue) == ["web-0", "db-0"]
    eviction_queue.answered(plan[0])
    assert started(eviction_queue) == []
    eviction_queue.landed(plan[0])
    assert started(eviction_queue) == ["api-0"]


def test_a_proven_move_does_not_overtake_one_that_waits_for_its_workload() -> None:
    plan = [*tasks("web", 2, candidates=["b"]), a_task("api-0", "api", number=2, candidates=["c"])]
    eviction_queue = EvictionQueue(plan, Pace(16))
    assert started(eviction_queue) == ["web-0"]
    eviction_queue.answered(plan[0])
    eviction_queue.landed(plan[0])
    assert started(eviction_queue) == []
    eviction_queue.finish(plan[0])
    assert started(eviction_queue) == ["web-1"]


@pytest.mark.parametrize("is_steered", [True, False], ids=["steered", "not steered"])
def test_how_often_a_move_is_looked_at_does_not_grow_with_the_plan(
    is_steered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def counted(heap: list[Any], each: Any) -> None:
        nonlocal looks
        looks += 1
        heappush(heap, each)

    monkeypatch.setattr("restow.executing.eviction_queue.heappush", counted)
    plan = [a_task(f"p{at}", f"app-{at}", number=at, candidates=["t"]) for at in range(500)]
    eviction_queue = EvictionQueue(
        [structs.replace(steered(each), is_independent=True) if is_steered else each for each in plan], Pace(4)
    )
    begun: deque[Task] = deque()
    while not eviction_queue.is_finished:
        while (task := eviction_queue.start(0.0)) is not None:
            begun.append(task)
        eviction_queue.answered(begun[0])
        eviction_queue.finish(begun.popleft())
    assert looks < 10 * len(plan)


def brought(pod: str, number: int, *, source: str = "a", target: str = "t", **features: Any) -> Task:
    """A move whose replacement is brought to its target, and that no rule connects with other pods."""
    made = steered(a_task(pod, pod.partition("-")[0], number=number, source=source, candidates=[target], **features))
    return structs.replace(made, is_independent=True)


def waiting(task: Task) -> Task:
    """One of a swap, whose replacement has a place once the other pod has left."""
    return structs.replace(
        task, move=structs.replace(task.move, proposal=MadeProposal("swap", 2, "certain", 1.0, waits=True))
    )


def test_moves_to_targets_of_their_own_do_not_wait_for_one_another() -> None:
    plan = [brought("web-0", 0), brought("api-0", 1), brought("db-0", 2, target="u")]
    assert started(EvictionQueue(plan, Pace(16))) == ["web-0", "api-0", "db-0"]


def sharing(pod: str, number: int, *, target: str = "t", kind: str | None = "small") -> Task:
    """A move that nobody steers, whose replacement may take the place of another one."""
    return structs.replace(
        brought(pod, number, target=target), move=a_task(pod, candidates=[target]).move, interchangeable=kind
    )


def test_moves_that_may_take_one_anothers_places_do_not_wait_for_one_another() -> None:
    plan = [sharing("web-0", 0), sharing("api-0", 1), sharing("db-0", 2, target="u", kind="large")]
    assert started(EvictionQueue(plan, Pace(16))) == ["web-0", "api-0", "db-0"]


def test_one_that_may_land_elsewhere_is_waited_for() -> None:
    first = sharing("web-0", 0)
    unsure = structs.replace(first, move=structs.replace(first.move, certainty=Certainty.LIKELY))
    assert started(EvictionQueue([unsure, sharing("api-0", 1)], Pace(16))) == ["web-0"]


def test_the_moves_that_empty_a_node_do_not_wait_for_one_another() -> None:
    emptying = MadeProposal("empty a", 2, "certain", 1.0)
    plan = [brought("web-0", 0), brought("api-0", 1)]
    plan = [structs.replace(each, move=structs.replace(each.move, proposal=emptying)) for each in plan]
    assert started(EvictionQueue(plan, Pace(16))) == ["web-0", "api-0"]


def test_of_moves_to_targets_as_many_are_on_their_way_as_may_be_asked_for_at_a_time() -> None:
    """A scheduler that places nothing costs a few pods, not all of the plan's."""
    plan = [brought(f"{app}-0", at) for at, app in enumerate("abcdef")]
    eviction_queue = EvictionQueue(plan, Pace(2))
    assert started(eviction_queue) == ["a-0", "b-0"]
    for each in plan[:2]:
        eviction_queue.answered(each)
    assert started(eviction_queue) == []
    eviction_queue.landed(plan[1])
    assert started(eviction_queue) == ["c-0"]


@pytest.mark.parametrize(
    "second",
    [
        brought("api-0", 1, target="a"),
        waiting(brought("api-0", 1)),
        brought("web-1", 1, limit=2),
        structs.replace(brought("api-0", 1), is_independent=False),
        a_task("api-0", "api", number=1, candidates=["t"]),
        sharing("api-0", 1),
    ],
    ids=[
        "to a node that the first leaves",
        "with a place once a later one has left",
        "of the same workload",
        "with a rule about other pods",
        "not steered",
        "that may land where the first is brought to",
    ],
)
def test_a_move_that_may_depend_on_one_before_waits_until_that_has_landed(second: Task) -> None:
    first = brought("web-0", 0, limit=2)
    eviction_queue = EvictionQueue([first, second], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    eviction_queue.answered(first)
    assert started(eviction_queue) == []
    eviction_queue.landed(first)
    assert started(eviction_queue) == [second.move.pod.name]


def test_a_move_waits_for_one_before_that_waits_and_that_it_may_depend_on() -> None:
    plan = [brought("web-0", 0, source="b"), brought("web-1", 1), brought("api-0", 2, target="a"), brought("db-0", 3)]
    eviction_queue = EvictionQueue(plan, Pace(16))
    assert started(eviction_queue) == ["web-0", "db-0"]


def test_what_is_put_off_is_asked_again_in_time_and_not_for_ever() -> None:
    (task,) = tasks("web", 1)
    eviction_queue = EvictionQueue([task], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    assert eviction_queue.postpone(task, 0.0, 2.0, 5.0)
    assert eviction_queue.wakes_at() == 2.0
    assert started(eviction_queue, 1.9) == []
    assert started(eviction_queue, 2.0) == ["web-0"]
    assert eviction_queue.postpone(task, 2.0, 2.0, 5.0)
    assert started(eviction_queue, 4.0) == ["web-0"]
    assert not eviction_queue.postpone(task, 4.0, 2.0, 5.0)
    eviction_queue.finish(task)
    assert eviction_queue.is_finished


def test_what_is_put_off_keeps_its_workload_and_its_budgets_and_lets_others_go_first() -> None:
    first = a_task("web-0", candidates=["b"], budgets=["x/y"])
    others = [
        a_task("web-1", number=1),
        a_task("api-0", "api", number=2, budgets=["x/y"]),
        a_task("db-0", "db", number=3, candidates=["b"]),
    ]
    eviction_queue = EvictionQueue([first, *others], Pace(16))
    assert started(eviction_queue) == ["web-0"]
    assert eviction_queue.postpone(first, 0.0, 1.0, 5.0)
    assert started(eviction_queue) == ["db-0"]


def a_random_plan(chance: random.Random) -> list[Task]:
    """Up to 20 tasks of five workloads, some of them proven, some under budgets."""
    apps = chance.choices("vwxyz", k=chance.randrange(21))
    limits = {app: chance.randint(1, 3) for app in "vwxyz"}
    budgets = {app: chance.sample(["x/1", "x/2"], chance.randrange(3)) for app in "vwxyz"}
    plan = [
        a_task(
            f"{app}-{at}",
            app,
            number=at,
            limit=limits[app],
            budgets=budgets[app],
            source=chance.choice("abcd"),
            candidates=chance.sample("abcd", chance.randrange(3)),
        )
        for at, app in enumerate(apps)
    ]
    return [chance.choice((_as_it_is, _brought, _shared))(each) for each in plan]


def _as_it_is(task: Task) -> Task:
    return task


def _brought(task: Task) -> Task:
    return structs.replace(steered(task), is_independent=True)


def _shared(task: Task) -> Task:
    return structs.replace(task, is_independent=True, interchangeable="small")


@dataclass(slots=True)
class Model:
    """What an execution does with a queue, by the dice, and what has to hold at every start."""

    plan: list[Task]
    width: int
    chance: random.Random
    asking: list[Task] = field(default_factory=list)
    put_off: list[Task] = field(default_factory=list)
    on_the_way: list[Task] = field(default_factory=list)
    #: In the order of their first starts.
    begun: list[int] = field(default_factory=list)
    #: Nobody waits for these any more.
    passed: set[int] = field(default_factory=set)

    def start(self, task: Task) -> None:
        if task in self.put_off:
            self.put_off.remove(task)
        else:
            self.begun.append(task.number)
            before = [each for each in self.plan[: task.number] if each.is_proven and task.is_proven]
            not_landed = [each for each in before if each.number not in self.passed]
            assert len(not_landed) < self.width
            assert all(task.goes_beside(each) for each in not_landed)
        self.asking.append(task)
        held = [*self.asking, *self.put_off]
        assert len(self.asking) <= self.width
        assert max(Counter(budget for each in held for budget in each.budgets).values(), default=1) == 1
        workloads = Counter((each.workload, each.limit) for each in [*held, *self.on_the_way])
        assert all(count <= limit for (_, limit), count in workloads.items())

    def step(self, eviction_queue: EvictionQueue, now: float) -> None:
        """Something happens to one of the tasks that were started."""
        if not self.asking and not self.on_the_way:
            assert self.put_off
            return
        task = self.chance.choice([*self.asking, *self.on_the_way])
        if task in self.on_the_way:
            self.on_the_way.remove(task)
            eviction_queue.finish(task)
            self.passed.add(task.number)
        else:
            self.asking.remove(task)
            self.answer(eviction_queue, task, now)

    def answer(self, eviction_queue: EvictionQueue, task: Task, now: float) -> None:
        answer = self.chance.choice(["evicted", "placed at once", "refused", "again"])
        if answer == "evicted":
            eviction_queue.answered(task)
            self.on_the_way.append(task)
            return
        self.passed.add(task.number)
        if answer == "placed at once":
            eviction_queue.answered(task)
            eviction_queue.landed(task)
            self.on_the_way.append(task)
        elif answer == "again" and eviction_queue.postpone(task, now, 1.0, 5.0):
            self.put_off.append(task)
        else:
            eviction_queue.finish(task)


@pytest.mark.parametrize("seed", range(200))
def test_no_limit_is_ever_exceeded_and_everything_ends(seed: int) -> None:
    chance = random.Random(seed)
    plan, width = a_random_plan(chance), chance.randint(1, 4)
    eviction_queue, model, now = EvictionQueue(plan, Pace(width)), Model(plan, width, chance), 0.0
    while not eviction_queue.is_finished:
        while (task := eviction_queue.start(now)) is not None:
            model.start(task)
        now += 1.0
        model.step(eviction_queue, now)
    assert sorted(model.begun) == [each.number for each in plan]
    for workload in {each.workload for each in plan}:
        mine = [each.number for each in plan if each.workload == workload]
        assert [number for number in model.begun if number in mine] == mine


def paced(*answers: float) -> int:
    pace = Pace()
    for seconds in answers:
        pace.answered(seconds)
    return pace.width


def test_it_begins_with_a_few() -> None:
    assert paced() == 4


def test_one_more_after_as_many_quick_answers() -> None:
    assert paced(*[QUICK] * 3) == 4
    assert paced(*[QUICK] * 4) == 5
    assert paced(*[QUICK] * 9) == 6


def test_one_less_for_a_late_answer_and_never_less_than_at_first() -> None:
    assert paced(*[QUICK] * 9, LATE) == 5
    assert paced(*[LATE] * 9) == 4


def test_a_late_answer_makes_the_quick_ones_before_it_count_no_more() -> None:
    assert paced(*[QUICK] * 3, LATE, QUICK) == 4


def test_what_is_neither_changes_nothing() -> None:
    assert paced(*[0.15] * 100) == 4


def test_there_is_an_end_to_it() -> None:
    assert paced(*[QUICK] * 1000) == 16
