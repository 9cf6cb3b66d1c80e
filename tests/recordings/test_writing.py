"""What is written of a recording, and what a reader makes of it: also after a crash, a full disk and a pause."""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import a_node, a_pod
from builders.recordings import BEGIN, NO_LIMITS, lines_of
from restow.errors import InputError
from restow.kube.timestamps import format_time
from restow.recordings.reading import is_recording, read_moment, read_recording
from restow.recordings.writing import RecordingLimits, segments, sole_writer

_HOUR = 3600


def names(documents):
    return sorted(each["metadata"]["name"] for each in documents)


def test_a_recording_begins_with_everything_and_has_each_change(keep, tmp_path: Path):
    kept = keep()
    kept.put(0, a_node("n1"), a_pod("web"))
    kept.begin()
    kept.put(5, a_pod("web", node="n1"))
    kept.put(7, a_pod("other"))
    kept.remove(9, a_pod("web"))
    span = kept.end(10)
    assert names(span.start) == ["n1", "web"]
    assert [(each.at - BEGIN, each.key[2], each.new is None) for each in span.changes] == [
        (5000, "web", False),
        (7000, "other", False),
        (9000, "web", True),
    ]
    assert span.changes[0].old["spec"] != span.changes[0].new["spec"]


def test_what_does_not_change_is_not_written(keep, tmp_path: Path):
    kept = keep()
    kept.put(0, a_node("n1"))
    kept.begin()
    kept.put(5, a_node("n1"))
    assert not kept.end(10).changes


def test_a_part_begins_with_the_cluster_as_it_was(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    for second in range(10):
        kept.put(second, a_pod(f"p{second}"))
    kept.end(10)
    span = read_recording(str(tmp_path), BEGIN + 4000, BEGIN + 7000)
    assert names(span.start) == [f"p{second}" for second in range(5)]
    assert [each.key[2] for each in span.changes] == ["p5", "p6", "p7"]


def test_each_hour_begins_a_segment_from_which_the_rest_can_be_read(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    for minute in range(0, 180, 1):
        kept.put(60 * minute, a_pod(f"p{minute}"))
        kept.writer.flush(BEGIN + 60_000 * minute)
    whole = kept.end(3 * _HOUR)
    first, *later = segments(tmp_path)
    first.unlink()
    assert len(later) == 2
    rest = read_recording(str(tmp_path), None, None)
    assert rest.begins == BEGIN + _HOUR * 1000
    assert names(rest.start) == names(each.new for each in whole.changes if each.at <= rest.begins)
    assert not rest.gaps


def test_old_segments_go_when_they_are_too_old(keep, tmp_path: Path):
    kept = keep(tmp_path, RecordingLimits(1 << 40, 2 * _HOUR * 1000))
    kept.begin()
    for hour in range(1, 8):
        kept.writer.flush(BEGIN + hour * _HOUR * 1000)
    assert read_recording(str(tmp_path), None, None).begins >= BEGIN + 4 * _HOUR * 1000


def test_old_segments_go_when_all_take_too_much_and_the_last_stays(keep, tmp_path: Path):
    kept = keep(tmp_path, RecordingLimits(1, 1 << 50))
    kept.put(0, a_pod("p"))
    kept.begin()
    for hour in range(1, 5):
        kept.writer.flush(BEGIN + hour * _HOUR * 1000)
    kept.end(5 * _HOUR)
    assert len(segments(tmp_path)) == 1
    assert names(read_recording(str(tmp_path), None, None).start) == ["p"]


def test_what_a_killed_writer_has_flushed_can_be_read(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    kept.put(1, a_pod("p1"))
    kept.writer.flush(BEGIN + 1000)
    kept.put(2, a_pod("p2"))
    span = read_recording(str(tmp_path), None, None)
    assert [each.key[2] for each in span.changes] == ["p1"]


def test_a_file_that_ends_anywhere_is_read_up_to_there(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    for second in range(50):
        kept.put(second, a_pod(f"p{second}"))
        kept.writer.flush(BEGIN + second * 1000)
    kept.end(60)
    (file,) = segments(tmp_path)
    whole, seen = file.read_bytes(), set()
    for size in range(len(whole), 400, -97):
        file.write_bytes(whole[:size])
        seen.add(len(read_recording(str(tmp_path), None, None).changes))
    assert max(seen) == 50
    assert len(seen) > 10


def test_a_pause_is_a_gap_and_what_changed_meanwhile_is_a_change(keep, tmp_path: Path):
    before = keep()
    before.put(0, a_pod("stays"), a_pod("goes"))
    before.begin()
    before.end(60)
    after = keep()
    after.put(900, a_pod("stays"), a_pod("comes"))
    after.begin(900)
    span = after.end(960)
    assert [(each.since - BEGIN, each.until - BEGIN, each.kind) for each in span.gaps] == [(60_000, 900_000, "")]
    assert sorted((each.key[2], each.new is None) for each in span.changes) == [("comes", False), ("goes", True)]


def test_a_restart_at_once_is_no_gap(keep, tmp_path: Path):
    keep().begin()
    keep().begin(0.001)
    assert not read_recording(str(tmp_path), None, None).gaps


def test_a_quiet_cluster_has_no_gaps(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    for second in range(0, 1800, 5):
        kept.writer.flush(BEGIN + second * 1000)
    span = kept.end(1800)
    assert not span.gaps
    assert len(lines_of(tmp_path)) < 40


def test_a_kind_that_is_lost_is_a_gap_of_this_kind(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    kept.writer.lose(BEGIN + 10_000, "Pod")
    kept.writer.find(BEGIN + 400_000, "Pod")
    kept.writer.lose(BEGIN + 500_000, "Node")
    span = kept.end(900)
    assert [(each.since - BEGIN, each.until - BEGIN, each.kind) for each in span.gaps] == [
        (10_000, 400_000, "Pod"),
        (500_000, 900_000, "Node"),
    ]


def test_a_watch_that_breaks_off_for_a_moment_is_no_gap(keep):
    """It continues where it was: nothing is missing."""
    kept = keep()
    kept.begin()
    kept.writer.lose(BEGIN + 10_000, "Pod")
    kept.writer.find(BEGIN + 70_000, "Pod")
    assert not kept.end(900).gaps


def test_a_kind_that_was_never_there_is_a_gap_however_short_the_recording_is(keep):
    kept = keep()
    kept.writer.lose(BEGIN, "CronJob")
    kept.begin()
    (gap,) = kept.end(20).gaps
    assert gap.kind == "CronJob"


def test_a_gap_reaches_over_the_beginning_of_a_segment(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    kept.writer.lose(BEGIN + 10_000, "Pod")
    for minute in range(1, 61):
        kept.writer.flush(BEGIN + 60_000 * minute)
    kept.writer.find(BEGIN + _HOUR * 1000 + 5000, "Pod")
    (gap,) = kept.end(_HOUR + 10).gaps
    assert (gap.since - BEGIN, gap.until - BEGIN) == (10_000, _HOUR * 1000 + 5000)


def test_a_disk_that_refuses_is_reported_once_and_recording_continues_when_it_is_back(keep, tmp_path: Path):
    kept = keep(tmp_path / "there")
    (tmp_path / "there").mkdir()
    kept.begin()
    for file in segments(kept.directory):
        file.unlink()
    kept.directory.rmdir()
    for hour in (1, 2, 3):
        kept.writer.flush(BEGIN + hour * _HOUR * 1000)
    assert len(kept.warnings) == 1
    kept.put(4 * _HOUR, a_pod("p"))
    kept.directory.mkdir()
    kept.writer.flush(BEGIN + 4 * _HOUR * 1000)
    assert kept.warnings[1:] == [f"{kept.directory}: it is recorded again"]
    assert names(kept.end(4 * _HOUR + 5).start) == ["p"]


@contextmanager
def no_space() -> Iterator[None]:
    """Have the system refuse to make any file of this process longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_no_half_segments(keep, tmp_path: Path):
    """Each attempt to begin one would leave another."""
    kept = keep()
    kept.put(0, a_pod("p"))
    with no_space():
        kept.begin()
        for second in range(0, 50, 5):
            kept.writer.flush(BEGIN + second * 1000)
    assert not segments(tmp_path)
    # What was let go writes nothing more when it is collected.
    gc.collect()
    (sentence,) = kept.warnings
    assert "File too large" in sentence
    kept.writer.flush(BEGIN + 60_000)
    assert names(kept.end(70).start) == ["p"]


def test_times_that_were_not_recorded_are_refused_with_those_that_were(keep, tmp_path: Path):
    kept = keep()
    kept.begin()
    kept.end(60)
    began, ended = (format_time(at * 1_000_000) for at in (BEGIN, BEGIN + 60_000))
    with pytest.raises(InputError, match=f"recorded from {began} to {ended}"):
        read_recording(str(tmp_path), BEGIN - 5000, None)
    with pytest.raises(InputError, match="there is nothing"):
        read_recording(str(tmp_path), None, BEGIN + 3_600_000)
    with pytest.raises(InputError, match=f"it begins at {began}"):
        read_moment(str(tmp_path), BEGIN - 5000)
    with pytest.raises(InputError, match=f"recorded from {began} to {ended}"):
        read_moment(str(tmp_path), BEGIN + 3_600_000)


def test_the_beginning_can_be_named_as_it_is_shown(keep, tmp_path: Path):
    """In whole seconds, which are earlier."""
    kept = keep()
    kept.put(0.75, a_pod("p"))
    kept.begin(0.75)
    kept.put(5, a_pod("q"))
    kept.end(60)
    span = read_recording(str(tmp_path), BEGIN, None)
    assert (span.begins, names(span.start), len(span.changes)) == (BEGIN + 750, ["p"], 1)
    assert names(read_moment(str(tmp_path), BEGIN).objects) == ["p"]
    with pytest.raises(InputError, match="there is nothing"):
        read_recording(str(tmp_path), BEGIN - 300, None)


def test_a_moment_is_the_cluster_as_it_was_then(keep, tmp_path: Path):
    kept = keep()
    kept.put(0, a_pod("p"))
    kept.writer.lose(BEGIN, "CronJob")
    kept.begin()
    for hour in range(1, 4):
        kept.put(hour * _HOUR - 10, a_pod(f"p{hour}"))
        kept.writer.flush(BEGIN + hour * _HOUR * 1000)
    kept.end(3 * _HOUR + 5)
    moment = read_moment(str(tmp_path), BEGIN + 2 * _HOUR * 1000)
    assert names(moment.objects) == ["p", "p1", "p2"]
    assert moment.unknown == {"CronJob"}
    assert names(read_moment(str(tmp_path), None).objects) == ["p", "p1", "p2", "p3"]


@pytest.mark.parametrize("content", [b"", b"not packed", b"\x1f\x8b broken"])
def test_another_file_is_named(tmp_path: Path, content: bytes):
    file = tmp_path / "2026-01-01T00-00-00.000000Z.jsonl.gz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=file.name):
        read_recording(str(tmp_path), None, None)


def test_a_directory_with_a_segment_is_a_recording_and_another_is_not(keep, tmp_path: Path):
    assert not is_recording(str(tmp_path))
    assert not is_recording(str(tmp_path / "none"))
    keep().begin()
    assert is_recording(str(tmp_path))
    assert is_recording(str(segments(tmp_path)[0]))


def test_two_do_not_write_into_one_directory(tmp_path: Path):
    with sole_writer(tmp_path), pytest.raises(InputError, match="another restow record"), sole_writer(tmp_path):
        pass
    with sole_writer(tmp_path):
        pass


def test_no_limits_keep_everything(keep, tmp_path: Path):
    kept = keep(tmp_path, NO_LIMITS)
    kept.begin()
    for hour in range(1, 30):
        kept.writer.flush(BEGIN + hour * _HOUR * 1000)
    assert len(segments(tmp_path)) == 30
