"""NodePorts against the rows of upstream's own tests (G). Ports are written PROTOCOL/address/number."""

from __future__ import annotations

import pytest

from builders import a_container, a_node, a_pod
from restow.scheduling.plugins.node_ports import NodePorts
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index

LOCAL, OTHER, ANY = "127.0.0.1", "127.0.1.1", "0.0.0.0"


def with_ports(text):
    """A container with these host ports; what is left empty is left out."""
    ports = []
    for each in text.split():
        protocol, address, number = each.split("/")
        given = {"protocol": protocol, "hostIP": address}
        ports.append({"hostPort": int(number), "containerPort": int(number)} | {k: v for k, v in given.items() if v})
    return {"name": "c", "ports": ports}


ROWS = {
    "G02": (f"UDP/{LOCAL}/8080", f"UDP/{LOCAL}/9090", "OK"),
    "G03": (f"UDP/{LOCAL}/8080", f"UDP/{LOCAL}/8080", "U"),
    "G04": (f"TCP/{LOCAL}/8080", f"TCP/{LOCAL}/8080", "U"),
    "G05": (f"TCP/{LOCAL}/8080", "TCP/127.0.0.2/8080", "OK"),
    "G06": (f"UDP/{LOCAL}/8080", f"TCP/{LOCAL}/8080", "OK"),
    "G07": (f"UDP/{LOCAL}/8000 UDP/{LOCAL}/8080", f"UDP/{LOCAL}/8080", "U"),
    "G08": (f"TCP/{LOCAL}/8001 UDP/{LOCAL}/8080", f"TCP/{LOCAL}/8001 UDP/{LOCAL}/8081", "U"),
    "G09": (f"TCP/{ANY}/8001", f"TCP/{LOCAL}/8001", "U"),
    "G11": (f"TCP/{LOCAL}/8001", f"TCP/{ANY}/8001", "U"),
    "G12": (f"UDP/{LOCAL}/8001", f"TCP/{ANY}/8001", "OK"),
    "G13": (f"UDP/{LOCAL}/8001", f"TCP/{ANY}/8001 UDP/{ANY}/8001", "U"),
    "G16": (
        f"TCP/{LOCAL}/80 TCP/{OTHER}/80 TCP/{OTHER}/90 TCP/{OTHER}/100",
        f"TCP/{LOCAL}/9090 TCP/{LOCAL}/9191 TCP/{OTHER}/8080",
        "OK",
    ),
    "G18": ("//80", "TCP/10.0.0.1/80", "U"),
}


def asked(pod, held=""):
    holder = a_pod("holder", node="n", containers=[with_ports(held)])
    context = a_context(a_node("n"), holder, pod)
    return context, NodePorts(context), pod_index(context)


@pytest.mark.parametrize(("wanted", "held", "expected"), ROWS.values(), ids=ROWS)
def test_ports_conflict_by_number_protocol_and_address(wanted, held, expected):
    assert codes(*asked(a_pod(INCOMING, containers=[with_ports(wanted)]), held)) == f"n:{expected}"


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(INCOMING), id="G01-no-ports"),
        pytest.param(a_pod(INCOMING, init_containers=[a_container(host_ports=[8001])]), id="G14-of-an-init-container"),
    ],
)
def test_pods_are_skipped_whose_containers_want_no_port(pod):
    _, plugin, index = asked(pod, f"TCP/{ANY}/8001")
    assert plugin.prefilter(index).skip
