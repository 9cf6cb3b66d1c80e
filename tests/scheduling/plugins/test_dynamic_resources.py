"""DynamicResources: who has which devices as pods come and go, and what is said of those that get none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from builders import Object, a_node, a_pod
from builders.devices import (
    a_claim,
    a_device,
    a_device_class,
    a_request,
    a_slice,
    a_taint_rule,
    allocated,
    exactly,
    first_available,
    uses,
)
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler
from restow.scheduling.loop.schedulers import Schedulers
from scheduling.configurations import a_configuration, a_profile, a_set, loaded
from scheduling.devices.finding import GPU, GPUS, NODES, Finding, claiming, gpus, on

ONE = a_request("r", "gpu")
PREPARED: Object = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


def running(name: str, device: str, node: str = "n1") -> list[Object]:
    """A pod on a node with a device of its own."""
    got = [allocated("r", device, pool=node)]
    claim = a_claim(f"{name}-devices", exactly(ONE), devices=got, node=node, owner=name, reserved_for=(name,))
    spec = {"resourceClaims": [uses("devices", template="t")]}
    return [claim, a_pod(name, node=node, spec=spec, claims={"devices": f"{name}-devices"})]


def naming(name: str, claim: str, **more: object) -> Object:
    """A pod that names a claim."""
    return a_pod(name, spec={"resourceClaims": [uses("devices", claim=claim)]}, **more)  # type: ignore[arg-type]


def users(claim: str) -> list[Object]:
    """Two pods that name a claim."""
    return [naming("p", claim), naming("q", claim)]


class TestWhoHasWhat:
    def test_a_device_of_a_running_pod_is_taken(self) -> None:
        asked = Finding(*NODES, GPUS, on("n1", *gpus(2)), *running("u", "gpu-0"), *claiming(ONE))
        asked.settle("p")
        assert asked.devices() == ["r n1/gpu-1"]

    def test_a_pod_that_leaves_gives_its_own_devices_back(self) -> None:
        asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), *running("u", "gpu-0"), *claiming(ONE))
        assert asked.feasible() == []
        asked.state.remove(asked.row("u"))
        assert asked.feasible() == ["n1"]

    def test_what_the_state_takes_back_is_as_it_was(self) -> None:
        asked = Finding(
            *NODES, GPUS, on("n1", *gpus(2)), *running("u", "gpu-0"), *claiming(ONE), *claiming(ONE, name="q")
        )
        asked.settle("p")
        mark = asked.state.checkpoint()
        asked.state.remove(asked.row("u"))
        asked.state.remove(asked.row("p"))
        asked.settle("q")
        assert asked.devices("q") == ["r n1/gpu-0"]
        asked.state.undo(mark)
        assert asked.devices("p") == ["r n1/gpu-1"]
        assert asked.devices("u") == ["r n1/gpu-0"]
        assert asked.feasible("q") == []

    def test_a_claim_that_pods_share_ties_them_to_the_nodes_where_it_can_be_used(self) -> None:
        shared = a_claim("shared", exactly(ONE))
        asked = Finding(*NODES, GPUS, on("n2", *gpus(2)), shared, naming("p", "shared"), naming("q", "shared"))
        asked.settle("p")
        assert (asked.devices("q"), asked.feasible("q")) == (["r n2/gpu-0"], ["n2"])

    def test_a_claim_that_a_pod_only_names_keeps_its_devices_when_the_pod_leaves(self) -> None:
        shared = a_claim("shared", exactly(ONE), devices=[allocated("r", "gpu-0", pool="n1")], node="n1")
        asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), shared, naming("u", "shared", node="n1"), *claiming(ONE))
        asked.state.remove(asked.row("u"))
        assert asked.feasible() == []

    def test_devices_stay_taken_while_preemption_tries_nodes_without_pods(self) -> None:
        """They are free once a claim is gone, and not its pod: so a pod that lacks a device preempts nobody."""
        important = claiming(ONE)
        important[-1]["spec"]["priority"] = 100
        asked = Finding(a_node("n1"), GPUS, on("n1", *gpus(1)), *running("u", "gpu-0"), *important)
        assert asked.decide().victims == ()
        assert "Preemption is not helpful for scheduling" in asked.decide().message


class TestPreparedLate:
    """Devices that their driver prepares once a node is chosen (``bindingConditions``)."""

    def test_pools_without_such_devices_are_tried_first(self) -> None:
        late, ready = a_device("a", **PREPARED), a_device("z")
        pools = [a_slice("a", [late], node="n1", pool="first"), a_slice("b", [ready], node="n1", pool="last")]
        asked = Finding(a_node("n1"), GPUS, *pools, *claiming(ONE))
        asked.settle("p")
        assert asked.devices() == ["r last/z"]

    def test_they_are_taken_where_there_are_no_others(self) -> None:
        asked = Finding(
            a_node("n1"), GPUS, on("n1", a_device("a", **PREPARED)), *claiming(ONE), *claiming(ONE, name="q")
        )
        asked.settle("p")
        assert (asked.devices(), asked.feasible("q")) == (["r n1/a"], [])

    def test_one_that_binds_to_its_node_ties_later_users_to_it(self) -> None:
        late = a_device("a", bindsToNode=True, **PREPARED)
        asked = Finding(*NODES, GPUS, a_slice("net", [late], allNodes=True), a_claim("c", exactly(ONE)), *users("c"))
        asked.settle("p")
        assert len(asked.feasible("q")) == 1

    @pytest.mark.parametrize(("types", "nodes"), [(["ready"], ["n1"]), (["failed"], []), (["ready", "failed"], [])])
    def test_a_claim_whose_driver_has_failed_fits_nowhere(self, types: list[str], nodes: list[str]) -> None:
        held = allocated("r", "a", pool="n1", **PREPARED)
        claim = a_claim("c", exactly(ONE), devices=[held], node="n1", reserved_for=("other",))
        said = [{"type": each, "status": "True"} for each in types]
        claim["status"]["devices"] = [
            {"driver": GPU, "pool": "n1", "device": "other", "conditions": []},
            {"driver": GPU, "pool": "n1", "device": "a", "conditions": said},
        ]
        asked = Finding(*NODES, GPUS, on("n1", a_device("a", **PREPARED)), claim, naming("p", "c"))
        assert asked.feasible() == nodes


class TestTaintRules:
    """DeviceTaintRules, which count since Kubernetes 1.37."""

    @pytest.mark.parametrize(
        ("selector", "nodes"),
        [
            ({}, []),
            (None, ["n1", "n2"]),
            ({"pool": "n1"}, ["n2"]),
            ({"driver": "other.example.com"}, ["n1", "n2"]),
            ({"driver": GPU, "pool": "n2", "device": "gpu-0"}, ["n1"]),
            ({"device": "gpu-7"}, ["n1", "n2"]),
        ],
    )
    def test_a_rule_is_for_the_devices_that_have_all_that_it_names(
        self, selector: Object | None, nodes: list[str]
    ) -> None:
        rule = a_taint_rule("broken", selector)
        asked = Finding(*NODES, GPUS, on("n1", *gpus(1)), on("n2", *gpus(1)), rule, *claiming(ONE), minor=37)
        assert asked.feasible() == nodes

    def test_a_request_may_tolerate_it(self) -> None:
        tolerant = a_request("r", "gpu", tolerations=[{"key": "broken", "operator": "Exists"}])
        objects = [GPUS, on("n1", *gpus(1)), a_taint_rule("broken", {})]
        assert Finding(*NODES, *objects, *claiming(tolerant), minor=37).feasible() == ["n1"]


class TestMessages:
    def message(self, *objects: Object) -> str:
        return Finding(*NODES, GPUS, on("n1", *gpus(1)), *objects).decide().message

    def test_no_node_has_what_is_claimed(self) -> None:
        assert self.message(*claiming(a_request("r", "gpu", count=2))) == (
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are "
            "available: 2 Preemption is not helpful for scheduling."
        )

    def test_a_claim_has_devices_elsewhere_which_it_may_give_back(self) -> None:
        shared = a_claim("c", exactly(ONE), devices=[allocated("r", "gpu-0", pool="n3")], node="n3")
        text = self.message(shared, naming("p", "c"))
        assert text.startswith(
            "0/2 nodes are available: 2 resourceclaim not available on the node. deallocation of Resource"
        )

    @pytest.mark.parametrize(
        ("objects", "expected"),
        [
            ([naming("p", "none")], 'could not find v1.ResourceClaim "default/none"'),
            (
                [a_pod("p", spec={"resourceClaims": [uses("d", template="t")]})],
                'pod "default/p": ResourceClaim not created yet',
            ),
            (
                [a_claim("c", exactly(a_request("r", "none"))), naming("p", "c")],
                "request r: device class none does not exist",
            ),
        ],
    )
    def test_what_a_pod_waits_for(self, objects: list[Object], expected: str) -> None:
        assert expected in self.message(a_claim("other", exactly(ONE)), *objects)

    def test_an_expression_without_a_value_ends_the_attempt(self) -> None:
        picky = a_request("r", "gpu", f'device.attributes["{GPU}"].nothing == 1')
        problem = "claim default/p-devices: selector #0: CEL runtime error: no such key: nothing"
        assert self.message(*claiming(picky)) == f'running "DynamicResources" filter plugin: {problem}'


class TestWhatIsNotKnown:
    """No node is named, and nothing is guessed."""

    def unknown(self, *objects: Object, minor: int | None = None) -> str:
        state = ClusterState(replace(a_cluster(*NODES, *objects), server_minor=minor))
        scheduler, pod = Scheduler(Context.of(state)), state.cluster.pods.names.index("p")
        decision = scheduler.decide(pod)
        assert (decision.node < 0) == (not scheduler.fitting(pod).any()) == (decision.unknown != "")
        return decision.unknown

    def test_without_slices_in_the_input(self) -> None:
        assert (
            self.unknown(GPUS, *claiming(ONE))
            == "it claims devices, and objects of kind ResourceSlice are not known here"
        )

    def test_an_expression_that_is_not_known(self) -> None:
        odd = a_request("r", "gpu", "device.driver.format([1])")
        text = self.unknown(GPUS, on("n1", *gpus(1)), *claiming(odd))
        assert text == "claim default/p-devices: selector #0: the expression calls format, which restow does not know"

    def test_whether_a_driver_prepares_what_somebody_else_waits_for(self) -> None:
        held = allocated("r", "a", pool="n1", **PREPARED)
        shared = a_claim("c", exactly(ONE), devices=[held], node="n1", reserved_for=("other",))
        assert "bindingConditions" in self.unknown(GPUS, on("n1", a_device("a", **PREPARED)), shared, naming("p", "c"))

    def test_extended_resources_that_a_class_serves_need_claims_to_be_known(self) -> None:
        served = a_device_class("served", extendedResourceName="example.com/gpu")
        text = self.unknown(served, on("n1", *gpus(1)), a_pod("p", requests={"example.com/gpu": "1"}))
        lacking = "objects of kind ResourceClaim are not known here"
        assert text == f"it requests example.com/gpu, which a DeviceClass serves, and {lacking}"

    def test_extended_resources_that_nodes_have_and_a_class_serves_on_others(self) -> None:
        served = a_device_class("served", extendedResourceName="example.com/gpu")
        node = a_node("n3", extended={"example.com/gpu": "1"})
        text = self.unknown(node, served, on("n1", *gpus(1)), a_pod("p", requests={"example.com/gpu": "1"}))
        assert text.endswith("which some nodes have and a DeviceClass serves on others; restow models one or the other")

    @pytest.mark.parametrize("minor", [34, 35, 36, 37])
    def test_schedulers_of_all_minors_are_known(self, minor: int) -> None:
        assert self.unknown(GPUS, on("n1", *gpus(1)), *claiming(ONE), minor=minor) == ""

    @pytest.mark.parametrize(
        ("field", "slice", "requests", "constraints"),
        [
            ("sharedCounters", on("n1", *gpus(1)), [ONE], None),
            ("perDeviceNodeSelection", a_slice("s", gpus(1), perDeviceNodeSelection=True), [ONE], None),
            ("consumesCounters", on("n1", a_device("a", consumesCounters=[{"counterSet": "c"}])), [ONE], None),
            ("allowMultipleAllocations", on("n1", a_device("a", allowMultipleAllocations=True)), [ONE], None),
            ("tolerations", on("n1", *gpus(1)), [a_request("r", "gpu", tolerations=[{"operator": "Exists"}])], None),
            ("capacity", on("n1", *gpus(1)), [a_request("r", "gpu", capacity={"requests": {"memory": "1"}})], None),
            ("distinctAttribute", on("n1", *gpus(1)), [ONE], [{"distinctAttribute": "gpu.example.com/switch"}]),
        ],
    )
    def test_fields_that_count_with_a_feature_gate_only(
        self, field: str, slice: Object, requests: list[Object], constraints: list[Object] | None
    ) -> None:
        if field == "sharedCounters":
            slice["spec"][field] = [{"name": "chip", "counters": {}}]
        objects = [GPUS, slice, on("n2", *gpus(1, switch="a")), *claiming(*requests, constraints=constraints)]
        assert f"has {field}, which counts only with a feature gate up to 1.35" in self.unknown(*objects, minor=35)
        assert self.unknown(*objects, minor=36) == ""

    def test_up_to_1_35_alternatives_that_ask_for_all_devices(self) -> None:
        either = first_available("r", a_request("s0", "gpu", count=9), a_request("s1", "gpu", count=0))
        objects = [GPUS, on("n1", *gpus(2)), *claiming(either)]
        assert "asks for all devices" in self.unknown(*objects, minor=35)
        assert self.unknown(*objects, minor=36) == ""

    @pytest.mark.parametrize(
        "more",
        [
            [on("n1", *gpus(1), slices=2)],
            [on("n1", *gpus(1)), a_slice("new", gpus(1), node="n2", pool="n1", generation=2, slices=2)],
        ],
        ids=["incomplete", "outdated"],
    )
    def test_in_1_34_pools_that_are_being_updated(self, more: list[Object]) -> None:
        objects = [GPUS, *more, on("n2", *gpus(1)), *claiming(ONE)]
        assert "pool gpu.example.com/n1" in self.unknown(*objects, minor=34)
        assert self.unknown(*objects, minor=35) == ""

    def test_in_1_34_not_all_devices_of_a_pool_that_spans_nodes_are_seen(self) -> None:
        pool = [a_slice(f"s{node}", gpus(1), node=node, pool="both", slices=2) for node in ("n1", "n2")]
        cluster = replace(a_cluster(*NODES, GPUS, *pool, *claiming(a_request("r", "gpu", count=0))), server_minor=34)
        decision = Scheduler(Context.of(ClusterState(cluster))).decide(0)
        assert (
            "asks for all devices, but resource pool gpu.example.com/both is currently being updated"
            in decision.message
        )

    def test_up_to_1_33_claims_are_not_looked_at(self) -> None:
        state = ClusterState(replace(a_cluster(*NODES, *claiming(ONE)), server_minor=33))
        decision = Scheduler(Context.of(state)).decide(0)
        assert (decision.unknown, decision.node) == ("", 0)


def test_pools_follow_the_labels_of_nodes() -> None:
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x"]}]}]}
    asked = Finding(*NODES, GPUS, a_slice("s", gpus(2), pool="net", nodeSelector=zone), *claiming(ONE))
    assert asked.feasible() == []
    nodes = asked.state.cluster.nodes
    asked.state.update_node(1, structs.replace(nodes.row(1), labels={"zone": "x"}))
    assert asked.feasible() == ["n2"]


def test_a_profile_that_scores_what_it_does_not_filter_breaks_off() -> None:
    """A pod whose claim is missing has passed no filter, and cannot be scored."""
    off = a_set(off=("DynamicResources",))
    text = a_configuration(a_profile(preFilter=off, filter=off))
    state = ClusterState(
        a_cluster(*NODES, GPUS, on("n1", *gpus(1)), a_claim("other", exactly(ONE)), naming("p", "none"))
    )
    decision = Schedulers(Context.of(state), loaded(text).profiles).decide(0)
    assert (decision.node, decision.error) == (
        -1,
        'running Score plugins: plugin "DynamicResources" failed with: not found',
    )
