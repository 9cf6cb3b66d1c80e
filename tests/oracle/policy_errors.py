"""Whether restow refuses a policy with upstream's own words.

Upstream stops at the first stage that fails and joins its texts: ``[a, b]``. restow says each one on its own, with its
place and a hint. So upstream's text must be made of texts of restow's, and of nothing else but the names of the stages.
"""

from __future__ import annotations

import re

from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.policies.load import validate_policy

#: What upstream puts around the texts.
STAGES = (
    'failed decoding descheduler\'s policy config "policy.yaml": ',
    "failed to create new descheduler: ",
    "strict decoding error: ",
    r"in profile [^:\[]*: (?=\[)",
    'unable to create ".*?" profile: (?=profile )',
    ' "pkg/runtime/scheme.go:[0-9]*"',
)
#: restow says this last, upstream before it builds the profiles: a policy is read here without a cluster.
ONLY_THE_CLUSTER_KNOWS = (
    "unable to get priority value from the priority class: ",
    "priority threshold can't be greater than 2000000000",
)


def unexplained(upstream: str, policy: str, refusal: str) -> str:
    """What restow does not say of upstream's refusal; empty if nothing is missing."""
    if upstream.startswith(ONLY_THE_CLUSTER_KNOWS):
        return ""
    left = one_by_one(sorted_names(upstream))
    for stage in STAGES:
        left = re.sub(stage, "", left)
    for text in sorted(_texts(policy, refusal), key=len, reverse=True):
        left = left.replace(text, "")
    if re.fullmatch(r"[\[\], ]*", left):
        return ""
    return f"upstream refuses with {upstream!r}, restow with {refusal!r}; not said: {left!r}"


def sorted_names(text: str) -> str:
    """The text with a list of resources, which Go takes from a map, in order."""
    return re.sub(r"(?<=resource, got )\[(.*?)\]", lambda found: f"[{' '.join(sorted(found[1].split()))}]", text)


def one_by_one(text: str) -> str:
    """The text with names that Go shows as a map listed as for people: each plugin in a text of its own."""
    text = re.sub(
        r'(profile "[^"]*" configures \S+ extension point of non-existing plugins: )(map\[.*?\{\}\])',
        lambda found: ", ".join(found[1] + name for name in _map_keys(found[2])),
        text,
    )
    return re.sub(r"map\[[^\]]*:\{\}\]", lambda found: ", ".join(_map_keys(found[0])), text)


def _map_keys(shown: str) -> list[str]:
    """The keys of a Go map that is shown as ``map[a:{} b:{}]``."""
    return [key.removesuffix(":{}") for key in shown.removeprefix("map[").removesuffix("]").split(" ")]


def _texts(policy: str, refusal: str) -> list[str]:
    try:
        messages = [finding.message for finding in validate_policy(policy.encode(), "policy.yaml", plugins())]
    except InputError:
        messages = []
    return [part for message in [*messages, refusal] for part in _parts(message)]


def _parts(message: str) -> list[str]:
    """A message, and what is left of it without its hint; what it quotes in brackets."""
    quoted = re.findall(r"\((.*)\)$|(unknown field \"[^\"]*\")", message)
    return [
        message,
        *filter(None, sum(quoted, ())),
        re.split("; |, and ", message)[0],
        re.sub("^in profile .*?: ", "", message),
    ]
