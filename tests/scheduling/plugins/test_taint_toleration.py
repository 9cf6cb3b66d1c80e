"""TaintToleration against the rows of upstream's own tests (E).

Not here: rows with the operators Lt and Gt that need their feature gate, which is off in Kubernetes 1.36.
"""

from __future__ import annotations

import pytest

from builders import a_node, a_pod
from restow.scheduling.plugins.taint_toleration import TaintToleration
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, scores

SOFT = "PreferNoSchedule"
OWN = [f"cpu-type=arm64:{SOFT}", f"disk-type=ssd:{SOFT}"]
TWO, FIVE = [f"{key}:{SOFT}" for key in "ab"], [f"{key}:{SOFT}" for key in "abcde"]


def equals(key, value, effect):
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}


def compares(operator, value, effect):
    return {"key": "sla", "operator": operator, "value": value, "effect": effect}


def asked(tolerations, *taints):
    """Nodes a, b... with these taints."""
    nodes = [a_node(name, taints=each) for name, each in zip("abc", taints, strict=False)]
    context = a_context(*nodes, a_pod(INCOMING, tolerations=tolerations))
    return context, TaintToleration(context), pod_index(context)


FILTER = {
    "E10": (["dedicated=user1:NoSchedule"], ["dedicated=user1:NoSchedule"], "a:OK"),
    "E11": ([equals("dedicated", "user2", "NoSchedule")], ["dedicated=user1:NoSchedule"], "a:UAU"),
    "E14": ([f"foo=bar:{SOFT}"], ["foo=bar:NoSchedule"], "a:UAU"),
    "E17": (None, [f"foo=bar:{SOFT}"], "a:OK"),
    "E18": ([compares("Gt", "950", "NoSchedule")], ["sla=800:NoSchedule"], "a:UAU"),
    "E18-gate-off": ([compares("Gt", "950", "NoSchedule")], ["sla=999:NoSchedule"], "a:UAU"),
    "E22": ([{"operator": "Exists"}], ["a=b:NoSchedule", "c:NoExecute"], "a:OK"),
    "E23": (
        [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}],
        ["a:NoExecute"],
        "a:OK",
    ),
}


@pytest.mark.parametrize(("tolerations", "taints", "expected"), FILTER.values(), ids=FILTER)
def test_hard_taints_must_be_tolerated(tolerations, taints, expected):
    assert codes(*asked(tolerations, taints)) == expected


SCORE = {
    "E02": (OWN, [None, OWN[:1], OWN], [100, 100, 100]),
    "E03": ([f"foo=bar:{SOFT}"], [None, TWO[:1], TWO], [100, 50, 0]),
    "E04": (["a:NoSchedule", "b:NoSchedule"], [None, ["a:NoSchedule"], TWO], [100, 100, 0]),
    "E05": (None, [None, TWO[:1]], [100, 0]),
    "E24": (None, [None, TWO, FIVE], [100, 60, 0]),
    "gate-off": ([compares("Gt", "950", SOFT)], [[f"sla=800:{SOFT}"], [f"sla=999:{SOFT}"]], [0, 0]),
}


@pytest.mark.parametrize(("tolerations", "taints", "expected"), SCORE.values(), ids=SCORE)
def test_soft_taints_cost_in_proportion_to_the_worst_node(tolerations, taints, expected):
    assert scores(*asked(tolerations, *taints)) == expected
