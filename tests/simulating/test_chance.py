"""Chance: the same for the same seed, whoever else draws."""

from __future__ import annotations

from restow.simulating.virtual_time import Chance


def test_actors_do_not_disturb_one_another():
    """What one of them draws changes nothing for the next."""
    quiet, busy = Chance(7), Chance(7)
    other = busy.stream("kubelet")
    first = [busy.stream("scheduler").random() for _ in range(1) if other.random() >= 0]
    assert first == [quiet.stream("scheduler").random()]
    assert Chance(8).stream("scheduler").random() != first[0]


def test_names_do_not_depend_on_other_names():
    """The second pod of a ReplicaSet is called the same, whatever else was named in between."""
    quiet, busy = Chance(7), Chance(7)
    names = [quiet.suffix("web-"), quiet.suffix("web-")]
    others = [busy.suffix("web-"), busy.suffix("db-"), busy.suffix("web-")]
    assert [others[0], others[2]] == names
    assert len({*names, others[1]}) == 3
    assert all(len(each) == 5 and each.isalnum() for each in names)


def test_uids_follow_from_what_is_named():
    """Two seeds have different ones."""
    assert Chance(1).uid("Pod/a") == Chance(1).uid("Pod/a") != Chance(2).uid("Pod/a")
