"""Many clusters by name: contexts by patterns, dumps in a directory."""

from __future__ import annotations

import pytest

from restow.application.clusters import ClusterSource
from restow.application.named_clusters import ClusterNames, file_name_of, named_clusters
from restow.errors import InputError


@pytest.fixture
def kubeconfig(tmp_path):
    file = tmp_path / "config"
    contexts = "\n".join(
        f"- name: {name}\n  context: {{cluster: c}}" for name in ("prod-us", "prod-eu", "staging", "arn:aws:eks/x")
    )
    file.write_text(f"contexts:\n{contexts}\nclusters:\n- name: c\n  cluster: {{server: https://a}}\n")
    return ClusterSource(kubeconfig=str(file))


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (("prod-*",), ["prod-eu", "prod-us"]),
        (("staging", "prod-us"), ["prod-us", "staging"]),
        (("*",), ["arn:aws:eks/x", "prod-eu", "prod-us", "staging"]),
        (("prod-*", "*-eu"), ["prod-eu", "prod-us"]),
    ],
)
def test_contexts_by_patterns_each_once_and_by_name(kubeconfig, patterns, names):
    found = named_clusters(ClusterNames(patterns), kubeconfig)
    assert [each.name for each in found] == names
    assert [each.where.context for each in found] == names


def test_a_pattern_that_no_context_matches_names_those_that_there_are(kubeconfig):
    with pytest.raises(InputError, match=r"--contexts prod: no context has such a name; the kubeconfig has arn:aws.*"):
        named_clusters(ClusterNames(("staging", "prod")), kubeconfig)


def test_each_file_and_each_directory_is_a_cluster(tmp_path):
    for name in ("b.json.gz", "a.yaml", ".hidden"):
        (tmp_path / name).write_text("")
    (tmp_path / "c").mkdir()
    found = named_clusters(ClusterNames(snapshots=str(tmp_path)), ClusterSource())
    assert [(each.name, each.where.inputs) for each in found] == [
        ("a", (str(tmp_path / "a.yaml"),)),
        ("b", (str(tmp_path / "b.json.gz"),)),
        ("c", (str(tmp_path / "c"),)),
    ]


@pytest.mark.parametrize(
    ("names", "where", "sentence"),
    [
        (ClusterNames(), ClusterSource(), "--pages goes with --contexts or --snapshots"),
        (ClusterNames(("a",)), ClusterSource(("x",)), "-f names one cluster"),
        (ClusterNames(("a",)), ClusterSource(context="x"), "--context names one cluster"),
        (ClusterNames(("a",), "b"), ClusterSource(), "leave one of them out"),
        (ClusterNames(snapshots="nowhere"), ClusterSource(), "--snapshots nowhere: No such file"),
    ],
)
def test_what_cannot_be_used(names, where, sentence):
    with pytest.raises(InputError, match=sentence):
        named_clusters(names, where) if names.snapshots != "b" else named_clusters(names, ClusterSource())


def test_an_empty_directory_has_no_clusters(tmp_path):
    with pytest.raises(InputError, match="is empty; restow snapshot --contexts fills it"):
        named_clusters(ClusterNames(snapshots=str(tmp_path)), ClusterSource())


def test_names_of_files_are_safe_and_differ():
    taken = {"index"}
    names = [file_name_of(each, taken) for each in ("arn:aws:eks/x", "arn-aws-eks-x", "index", "../..", "prod")]
    assert names == ["arn-aws-eks-x", "arn-aws-eks-x-2", "index-2", "cluster", "prod"]
