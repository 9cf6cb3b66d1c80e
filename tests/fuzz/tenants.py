"""Objects that the API server takes from any tenant, however odd: nothing of them may keep the others from being planned."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from builders import NOW, Object, a_pdb, a_pod, a_pvc, a_service, a_workload, claim_volume
from fuzz.cases import Case, Facts
from fuzz.clusters import POLICY, key_of
from fuzz.furnished import furnished_objects
from fuzz.mutations import Draw
from fuzz.writing import encoded, words, written

_DIGITS = "9" * 5_000
#: Amounts that ``resource.Quantity`` takes; beyond int64 it saturates or keeps them exactly.
_AMOUNTS = (
    *(
        "0",
        "1n",
        "0.1n",
        "1",
        "1500m",
        "8Pi",
        "9Pi",
        "7Ei",
        "8Ei",
        "16Ei",
        "1e18",
        "9223372036854775807",
        "9223372036854775808",
    ),
    *("9007199254740993", "1e19", "1e30", "12345678901234567890123", "999999999999999999m", _DIGITS[:300]),
)
_INTEGERS = (
    *("0", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    _DIGITS,
    f"-{_DIGITS}",
    "x",
    "",
    "1_0",
    "\uff11",
)
_LABELS = ("a", "A.b-c_d", "x" * 63, "0")
_ESCAPES = ("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\nb", "\x00", "\x7f", "\x9b31m", "Q" * 100_000, "")
_COMMANDS = (
    f"plan -f dump.json -o json --now {NOW}",
    f"plan -f dump.json -o json --now {NOW} --placement upstream",
    f"plan -f dump.json -o json --now {NOW} --policy-config-file policy.yaml",
    f"plan -f dump.json -o wide --now {NOW}",
    f"schedule -f dump.json -o json --now {NOW}",
    f"explain pod default/tenant-0 -f dump.json --now {NOW}",
    "snapshot -f dump.json",
)

amounts = st.sampled_from(_AMOUNTS)
resources = st.dictionaries(st.sampled_from(["cpu", "memory", "ephemeral-storage"]), amounts, max_size=3)
numbers = st.sampled_from(_INTEGERS)
labels = st.dictionaries(
    st.sampled_from(["app", "tier", f"{'p' * 63}.example.com/{'n' * 63}"]), st.sampled_from(_LABELS), max_size=3
)
texts = st.sampled_from(_ESCAPES)
images = texts.map(lambda text: f"web{text}web")


@st.composite
def tenants(draw: Draw) -> Case:
    """A cluster that plans well, and one to four objects of a tenant."""
    own = [draw(st.one_of(_pods(), _pods(), _others()))(at) for at in range(draw(st.integers(1, 4)))]
    items = [*furnished_objects(), *own]
    dump = encoded(written({"kind": "List", "apiVersion": "v1", "items": items}))
    commands = tuple(words(*draw(st.lists(st.sampled_from(_COMMANDS), min_size=1, max_size=2, unique=True))))
    if not any(each["kind"] == "Pod" for each in own):
        commands = tuple(each for each in commands if each[0] != "explain") or tuple(words(_COMMANDS[0]))
    return Case(
        kind="tenant",
        commands=commands,
        files={"dump.json": dump, "policy.yaml": POLICY},
        facts=Facts(
            pods=tuple(key_of(each) for each in items if each["kind"] == "Pod"),
            suspects=tuple(map(key_of, own)),
            accepted=commands[0][0] != "explain",
        ),
    )


@st.composite
def _pods(draw: Draw) -> Any:
    """A pod of a tenant, by its number."""
    spec: Object = draw(st.fixed_dictionaries({}, optional=_FIELDS))
    spec["containers"] = [
        {"name": "c", "image": draw(images), "resources": draw(_requirements())} for _ in range(draw(st.integers(1, 3)))
    ]
    about = {
        "labels": draw(labels),
        "annotations": draw(st.dictionaries(st.sampled_from(_ANNOTATIONS), texts | numbers, max_size=2)),
    }
    node = draw(st.sampled_from([None, "n0", "n1", "gone"]))

    def named(at: int) -> Object:
        pod = a_pod(
            f"tenant-{at}",
            node=node,
            owner=("ReplicaSet", "web") if node else None,
            phase="Running" if node else "Pending",
        )
        pod["metadata"] |= about
        pod["spec"] |= spec
        return pod

    return named


@st.composite
def _others(draw: Draw) -> Any:
    """A budget, a claim, a service or a workload of a tenant, by its number."""
    share = draw(st.sampled_from(["0%", "100%", f"{_DIGITS}%", 0, 2**31 - 1, "00050%"]))
    chosen = {"app": draw(st.sampled_from(_LABELS))}
    makers = {
        "budget": lambda name: a_pdb(name, selector={"matchLabels": chosen}, min_available=share),
        "claim": lambda name: _sized_claim(name, draw),
        "service": lambda name: a_service(name, selector=chosen),
        "job": lambda name: a_workload("Job", name, spec={"backoffLimit": 2**31 - 1, "completions": 2**31 - 1}),
        "set": lambda name: a_workload("StatefulSet", name, replicas=2**31 - 1, selector={"matchLabels": chosen}),
    }
    maker = makers[draw(st.sampled_from(sorted(makers)))]
    return lambda at: maker(f"tenant-{at}")


def _sized_claim(name: str, draw: Draw) -> Object:
    claim = a_pvc(name, storage_class="fast")
    claim["spec"]["resources"] = {"requests": {"storage": draw(amounts)}}
    return claim


def _requirements() -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional={"requests": resources})


def _preferred() -> st.SearchStrategy[Object]:
    """Preferred terms, whose values the API server does not look into."""
    expression = st.builds(
        lambda word, value: {"key": "gen", "operator": word, "values": [value]}, st.sampled_from(["Gt", "Lt"]), numbers
    )
    terms = st.lists(
        st.builds(lambda each: {"weight": 1, "preference": {"matchExpressions": [each]}}, expression),
        min_size=1,
        max_size=3,
    )
    return terms.map(lambda each: {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": each}})


def _many_terms() -> st.SearchStrategy[Object]:
    term = {
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"] * 50}]},
        "topologyKey": "gen",
    }
    return st.sampled_from(
        [{"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term] * times}} for times in (1, 200)]
    )


_ANNOTATIONS = (
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "batch.kubernetes.io/job-index-failure-count",
    "kubernetes.io/config.source",
)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "affinity": _preferred() | _many_terms(),
    "resources": _requirements(),
    "nodeSelector": labels,
    "tolerations": st.lists(
        st.builds(lambda value, wait: {"key": "gpu", "operator": "Equal", "value": value, "tolerationSeconds": wait, "effect": "NoExecute"},
                  st.sampled_from(_LABELS), st.sampled_from([0, -1, 2**63 - 1, -(2**63)])),
        max_size=2,
    ),
    "terminationGracePeriodSeconds": st.sampled_from([0, 2**63 - 1]),
    "topologySpreadConstraints": st.builds(
        lambda skew, key: [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}],
        st.sampled_from([1, 2**31 - 1]), st.sampled_from(["gen", "nobody.example.com/has"]),
    ),
    "volumes": st.just([claim_volume("nowhere"), {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]),
    "priorityClassName": st.just("high"),
}  # fmt: skip
