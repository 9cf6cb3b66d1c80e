"""Policies inside other files: they are read with the lines of the file, or it is said where they are."""

from __future__ import annotations

import json

import pytest
import yaml

from builders.policies import PLUGINS, as_yaml, strategy_policy
from restow.errors import InputError
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy, read_policy_document, validate_policy

POLICY = strategy_policy("RemoveDuplicates", {"bogus": 1})
LINE = 1 + next(index for index, line in enumerate(as_yaml(POLICY).splitlines()) if b"bogus" in line)
FIELD = "profiles[0].pluginConfig[0].args.bogus"
SOUND = as_yaml(strategy_policy("RemoveDuplicates")).decode()


def indented(text, by=4):
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def config_map(text, key="policy.yaml", metadata="{name: descheduler}"):
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata:\n  {key}: |\n"
    return (head + indented(text)).encode()


def values(policy, *above, version=None):
    inner = yaml.safe_dump({key: policy[key] for key in ("profiles",)}, sort_keys=False)
    head = "replicas: 1\n" + (f"deschedulerPolicyAPIVersion: {version}\n" if version else "")
    depth = 2 * len(above)
    keys = "".join(f"{'  ' * at}{key}:\n" for at, key in enumerate(above))
    return (head + keys + f"{' ' * depth}deschedulerPolicy:\n{indented(inner, depth + 2)}").encode()


def only_error(text):
    (finding,) = validate_policy(text, "file.yaml", PLUGINS)
    return finding


def line_in(text):
    return 1 + next(index for index, line in enumerate(text.splitlines()) if b"bogus" in line)


@pytest.mark.parametrize("key", ["policy.yaml", "config"])
def test_the_policy_of_a_config_map_is_read_with_its_lines(key):
    text = config_map(as_yaml(POLICY).decode(), key)
    finding = only_error(text)
    assert (finding.line, finding.path) == (line_in(text), f"data.{key}.{FIELD}")


def test_a_quoted_text_has_the_line_on_which_it_begins():
    text = json.dumps({"kind": "ConfigMap", "data": {"a": "", "policy.yaml": json.dumps(POLICY)}}, indent=1).encode()
    assert only_error(text).line == line_in(text)


def test_a_policy_in_json_inside_a_config_map_is_read():
    text = config_map(json.dumps(POLICY, indent=1))
    assert only_error(text).line == line_in(text)


def test_a_list_of_config_maps_is_searched():
    wrapped = {"kind": "List", "apiVersion": "v1", "items": [yaml.safe_load(config_map(SOUND)), {"kind": "Secret"}]}
    (profile,) = load_policy(json.dumps(wrapped).encode(), "l.json", PLUGINS).policy.profiles
    assert profile.balance == ("RemoveDuplicates",)


def test_what_kubectl_applied_last_is_no_second_policy():
    applied = json.dumps({"data": {"policy.yaml": SOUND}})
    metadata = json.dumps({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}})
    assert load_policy(config_map(SOUND, metadata=metadata), "cm.yaml", PLUGINS).policy.profiles


@pytest.mark.parametrize("above", [(), ("descheduler",), ("spec", "values")], ids=["chart", "umbrella", "release"])
def test_the_policy_of_helm_values_is_read_with_its_lines(above):
    text = values(POLICY, *above)
    finding = only_error(text)
    assert (finding.line, finding.path) == (line_in(text), ".".join((*above, "deschedulerPolicy", FIELD)))


def test_helm_values_name_the_version_of_their_policy():
    text = b"deschedulerPolicyAPIVersion: descheduler/v1alpha1\ndeschedulerPolicy:\n  strategies: {Foo: {}}\n"
    assert "unknown strategy name: Foo" in only_error(text).advice


def test_that_a_policy_was_found_inside_is_told():
    told = load_policy(values(strategy_policy("RemoveDuplicates")), "values.yaml", PLUGINS).warnings
    sentence = "values.yaml:2: deschedulerPolicy: this file is not itself a policy; the policy inside it is read"
    assert [str(each) for each in told] == [sentence]
    (note,) = lint_policy(values(strategy_policy("RemoveDuplicates")), "values.yaml", PLUGINS)
    assert note.severity == "note"


def test_of_several_policies_none_is_chosen():
    maps = [yaml.safe_load(config_map(SOUND))] * 2
    with pytest.raises(InputError, match=r"policies in items\[0\].data.policy.yaml and items\[1\].data.policy.yaml"):
        read_policy_document(json.dumps({"kind": "List", "items": maps}).encode(), "cms.json")


def test_a_workload_says_what_it_mounts():
    volumes = [{"name": "policy", "configMap": {"name": "descheduler-policy"}}]
    spec = {"template": {"spec": {"volumes": volumes}}}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "kube-system"}, "spec": spec}
    assert only_error(as_yaml(workload)).advice.endswith(
        "; what this Deployment mounts: kubectl -n kube-system get configmap descheduler-policy -o yaml"
    )


def test_further_documents_are_not_searched_and_that_is_told():
    text = b"apiVersion: v1\nkind: ServiceAccount\n---\n" + config_map(SOUND)
    assert "put the policy into a file of its own" in only_error(text).advice


def test_values_without_a_policy_say_where_it_belongs():
    """The chart's values have a kind, which is that of its workload."""
    message = only_error(b"kind: CronJob\nreplicas: 1\n").advice
    assert message.endswith("; if these are Helm values, their policy belongs under deschedulerPolicy")


def test_a_policy_that_quotes_another_is_that_policy():
    policy = strategy_policy("RemoveDuplicates") | {"notes": SOUND}
    assert read_policy_document(as_yaml(policy), "p.yaml").inside == ""


@pytest.mark.parametrize("text", [b"replicas: 1\n", b""], ids=["other values", "empty"])
def test_a_file_that_does_nothing_is_not_called_valid(text):
    (finding,) = validate_policy(text, "values.yaml", PLUGINS)
    assert (finding.severity, "upstream runs nothing with it" in finding.message) == ("warning", True)
