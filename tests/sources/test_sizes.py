"""Small files that would take all memory are refused; what people really have, and ask for, is read."""

from __future__ import annotations

import gzip
import io
import itertools
import resource
import subprocess

import pytest

from bench.problems import ALL_PROFILES, generate
from cli.conftest import spawned
from restow.errors import InputError
from restow.sources import reading
from restow.sources.reading import Sizes
from restow.sources.synthetic import write_list

MIB = 1 << 20


def unpacked(data, **settings):
    return Sizes(**settings).unpack(memoryview(data), "dump")


def bomb(part, size):
    """A gzip file of this many bytes, unpacked; made of equal parts, so that it is made quickly."""
    return gzip.compress(part * (MIB // len(part)), 9) * (size // MIB)


def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_refused():
    with pytest.raises(InputError, match=r"^dump: unpacks to more than 50 times its size; .*--no-size-limit"):
        unpacked(bomb(b" ", 20 * MIB))


def test_a_small_file_may_unpack_to_whatever_it_is():
    assert len(unpacked(bomb(b" ", 15 * MIB))) == 15 * MIB


def test_a_file_of_tiny_values_is_refused():
    """Where each value is three bytes of text, and an object of 50 bytes in memory."""
    values = b"".join(b"%d," % at for at in range(3_000_000))
    with pytest.raises(InputError, match=r"^dump: unpacks to millions of tiny values"):
        unpacked(gzip.compress(values, 1))


def test_what_all_inputs_take_together_is_bounded(monkeypatch):
    monkeypatch.setattr(reading, "MOST_IN_MEMORY", 3 * MIB)
    known = Sizes()
    known.read(io.BytesIO(b" " * MIB), "a")
    known.unpack(memoryview(gzip.compress(b" " * MIB)), "b")
    with pytest.raises(InputError, match=r"^c: more than 0 GiB in memory, with all inputs before it"):
        known.read(io.BytesIO(b" " * (2 * MIB)), "c")


def test_without_limits_everything_is_read(monkeypatch):
    monkeypatch.setattr(reading, "MOST_IN_MEMORY", 3 * MIB)
    assert len(unpacked(bomb(b"1,", 20 * MIB), limited=False)) == 20 * MIB


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_clusters_are_far_from_every_limit(profile):
    """Synthetic ones are more alike than real ones."""
    written = io.BytesIO()
    write_list(generate(profile, 20, 300, 1), written)
    text = written.getvalue()
    assert len(text) < reading.LARGEST_RATIO / 2 * len(gzip.compress(text, 9))
    assert len(text) > 2 * reading.FEWEST_PER_COMMA * text.count(b",")


BOMBS = {
    "blanks": b" ",
    "empty items": b"{},",
    "documents": b'{"kind":"A"}',
}


@pytest.mark.parametrize(
    ("name", "size", "sentence"),
    [*((name, 200, b"unpacks to") for name in BOMBS), ("empty items", 15, b"holds an object without kind")],
)
def test_a_bomb_takes_little_memory_and_one_sentence(tmp_path, name, size, sentence):
    """200 MB packed to 200 kB. Of 1 GiB of addresses the program itself takes a half."""
    head, tail = (b'{"items":[', b"{}]}") if "items" in name else (b"", b"")
    packed = gzip.compress(head) + bomb(BOMBS[name], size * MIB) + gzip.compress(tail)
    (tmp_path / "bomb.json.gz").write_bytes(packed)
    ran = spawned(["plan", "-f", tmp_path / "bomb.json.gz"], stderr=subprocess.PIPE, preexec_fn=_one_gibibyte)
    _, err = ran.communicate(timeout=60)
    assert (ran.returncode, err.count(b"\n")) == (2, 1), err[-300:]
    assert sentence in err


def _one_gibibyte():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def test_an_endless_input_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MOST_IN_MEMORY", 3 * MIB)
    zeros = itertools.repeat(b"\0" * MIB)

    class Endless(io.RawIOBase):
        def read(self, _size=-1):
            return next(zeros)

    with pytest.raises(InputError, match=r"^standard input: more than"):
        Sizes().read(Endless(), "standard input")
