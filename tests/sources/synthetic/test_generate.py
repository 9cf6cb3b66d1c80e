"""What holds for every profile: the same bytes, valid objects, the asked-for size, nothing held."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
from collections import Counter

import msgspec
import pytest

from bench.problems import ALL_PROFILES, generate
from restow.errors import InputError
from restow.kube.objects import KINDS
from restow.sources import synthetic
from restow.sources.synthetic import write_list

PROFILES = list(ALL_PROFILES)

SCRIPT = """
import sys
from bench.problems import generate
from restow.sources.synthetic import write_list
for profile in sys.argv[1:]:
    write_list(generate(profile, 30, 400, 7), sys.stdout.buffer)
"""


def text_of(profile: str, nodes: int = 30, pods: int = 400, seed: int = 7) -> bytes:
    stream = io.BytesIO()
    write_list(generate(profile, nodes, pods, seed), stream)
    return stream.getvalue()


def test_the_same_arguments_give_the_same_bytes_whatever_the_hash_seed():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *PROFILES],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for hash_seed in ("0", "42")
    }
    assert len(outputs) == 1
    assert outputs == {b"".join(text_of(profile) for profile in PROFILES)}


@pytest.mark.parametrize("profile", PROFILES)
def test_another_seed_gives_another_cluster(profile):
    assert text_of(profile, seed=1) != text_of(profile, seed=2)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("nodes", "pods"), [(30, 400), (7, 123), (1, 1), (3, 0), (60, 11)])
def test_a_profile_has_the_asked_for_nodes_and_pods(profile, nodes, pods):
    kinds = Counter(item["kind"] for item in generate(profile, nodes, pods, 1))
    assert (kinds["Node"], kinds["Pod"]) == (nodes, pods)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_object_decodes_and_keeps_its_identity(profile):
    items = msgspec.json.decode(text_of(profile))["items"]
    keys = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items]
    assert len(set(keys)) == len(keys)
    assert len({item["metadata"]["uid"] for item in items}) == len(items)
    for item in items:
        decoded = msgspec.json.decode(msgspec.json.encode(item), type=KINDS[item["kind"]])
        assert decoded.metadata.name == item["metadata"]["name"]


@pytest.mark.parametrize("profile", PROFILES)
def test_references_lead_to_objects_of_the_list(profile):
    items = msgspec.json.decode(text_of(profile))["items"]
    uids = {item["metadata"]["uid"] for item in items}
    names = {(item["kind"], item["metadata"]["name"]) for item in items}
    for item in items:
        meta, spec = item["metadata"], item.get("spec", {})
        assert all(reference["uid"] in uids for reference in meta.get("ownerReferences", []))
        assert "namespace" not in meta or ("Namespace", meta["namespace"]) in names
        assert "nodeName" not in spec or ("Node", spec["nodeName"]) in names


@pytest.mark.parametrize("profile", PROFILES)
def test_nodes_come_first_and_pods_last(profile):
    kinds = [kind for kind, _ in itertools.groupby(item["kind"] for item in generate(profile, 30, 400, 1))]
    assert (kinds[0], kinds[-1]) == ("Node", "Pod")
    assert (kinds.count("Node"), kinds.count("Pod")) == (1, 1)


def test_objects_are_written_as_they_come():
    """A chunk is written while later objects do not exist yet."""
    stream = io.BytesIO()

    def watched():
        for index in range(5000):
            yield {"kind": "Pod", "metadata": {"name": "x" * 1000}}
            if index == 4000:
                assert stream.tell() > 3_000_000

    write_list(watched(), stream)
    assert len(msgspec.json.decode(stream.getvalue())["items"]) == 5000


def test_an_empty_list_is_a_list():
    stream = io.BytesIO()
    write_list([], stream)
    assert msgspec.json.decode(stream.getvalue())["items"] == []


@pytest.mark.parametrize(("profile", "low", "high"), [("duplicates", 800, 950), ("full", 2700, 3100)])
def test_pods_have_the_size_of_their_style(profile, low, high):
    sizes = [len(msgspec.json.encode(item)) for item in generate(profile, 100, 3000, 1) if item["kind"] == "Pod"]
    assert low < sum(sizes) / len(sizes) < high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mixd", 1, 1, 1), "--profile mixd: there is no such profile; did you mean mixed?"),
        (("mixed", 0, 1, 1), "--nodes 0: a cluster needs at least one node"),
        (("mixed", 1, -1, 1), "--pods -1: the number of pods cannot be negative"),
        (("mixed", 99999999999999, 1, 1), "--nodes can be 50,000 at most, and --pods 1,500,000"),
        (("mixed", 1, 1_500_001, 1), "--nodes can be 50,000 at most, and --pods 1,500,000"),
    ],
    ids=["profile", "nodes", "pods", "too many nodes", "too many pods"],
)
def test_unusable_arguments_are_told_in_a_sentence(arguments, message):
    with pytest.raises(InputError) as error:
        generate(*arguments)
    assert str(error.value) == message


def test_an_unknown_profile_lists_the_known_ones():
    with pytest.raises(InputError, match=r"choose one of mixed, full, low-utilization, duplicates$"):
        synthetic.generate("zzz", 1, 1, 1)
