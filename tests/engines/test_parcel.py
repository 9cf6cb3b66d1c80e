"""What goes to the pods of a Job and comes back."""

from __future__ import annotations

import base64
import random
import zlib

import pytest

import restow
from restow.engines import parcel
from restow.engines.parcel import Parcel, UnreadableResultError, make_index, packed, results_in
from restow.errors import InputError


class Noise:
    """Pieces that take room: each result has some random bytes; one of them cannot be made."""

    def __init__(self, size: int = 4, bad: int = -1, content: bytes = b"") -> None:
        self.size = size
        self.bad = bad
        self.content = content

    def __len__(self) -> int:
        return 10

    def make(self, number: int, tick: object) -> list[int]:
        if number == self.bad:
            raise InputError("policy.yaml: one", "policy.yaml: two")
        return [number, *random.Random(number).randbytes(self.size)]


def sent(tmp_path, work, indexes=3):
    """The files of a parcel as a pod has them, and the digest."""
    files, digest = packed(Parcel(work, tuple(range(10)), indexes))
    for at, content in enumerate(files):
        (tmp_path / f"{at}.part").write_bytes(content)
    return digest


@pytest.mark.parametrize("indexes", [1, 3, 10])
def test_each_piece_is_of_one_index(tmp_path, indexes):
    digest = sent(tmp_path, Noise(), indexes)
    messages = [make_index(tmp_path, digest, restow.__version__, index).decode() for index in range(indexes)]
    found = [each for message in messages for each in results_in(message, list[int])]
    assert sorted(found) == [(number, Noise().make(number, None)) for number in range(10)]
    assert all(len(each) <= 4096 for each in messages)


def test_a_large_parcel_is_several_files_in_their_order(tmp_path):
    """Eleven files and more: their names are numbers, not words."""
    content = random.Random(1).randbytes(11 * parcel._CHUNK)
    digest = sent(tmp_path, Noise(content=content))
    assert len(list(tmp_path.iterdir())) == 12
    assert len(results_in(make_index(tmp_path, digest, restow.__version__, 0).decode(), list[int])) == 4


def test_pieces_that_somebody_has_changed_are_not_even_read(tmp_path):
    digest = sent(tmp_path, Noise())
    sent(tmp_path, Noise(size=5))
    with pytest.raises(InputError, match="are not those that the Job was made for"):
        make_index(tmp_path, digest, restow.__version__, 0)


def test_an_error_of_a_piece_arrives_in_its_sentences(tmp_path):
    digest = sent(tmp_path, Noise(bad=3))
    with pytest.raises(InputError) as caught:
        results_in(make_index(tmp_path, digest, restow.__version__, 0).decode(), list[int])
    assert caught.value.sentences == ("policy.yaml: one", "policy.yaml: two")


def test_an_image_of_another_version_says_so(tmp_path):
    with pytest.raises(InputError, match=r"the image has restow .* and the command restow 9\.9"):
        results_in(make_index(tmp_path, "", "9.9", 0).decode(), list[int])


def test_results_that_do_not_fit_end_the_pod(tmp_path):
    digest = sent(tmp_path, Noise(size=2000))
    with pytest.raises(OSError, match="a termination message has 4096"):
        make_index(tmp_path, digest, restow.__version__, 0)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "OOMKilled",
        base64.b64encode(b"x").decode(),
        base64.b64encode(zlib.compress(b"{}")).decode(),
        base64.b64encode(zlib.compress(b'[{"number": 1, "result": "text"}]')).decode(),
        base64.b64encode(zlib.compress(b" " * (2 << 20) + b"[]")).decode(),
    ],
    ids=["nothing", "a word", "not packed", "not a list", "another type", "endless"],
)
def test_what_is_no_results_is_told_as_such(message):
    with pytest.raises(UnreadableResultError):
        results_in(message, list[int])
