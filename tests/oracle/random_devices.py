"""Small random clusters whose pods claim devices: pools of every kind, classes, claims, and what claims have already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builders import ZONE, a_container, a_node, a_pod, node_term
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

if TYPE_CHECKING:
    from builders import Object
    from oracle.chance import Chance

GPU, NIC = DRIVERS = ("gpu.example.com", "nic.example.com")
ZONES = ("x", "y")
SWITCHES = ("s0", "s1")
GPU_RESOURCE, NIC_RESOURCE = "example.com/gpu", "example.com/nic"
MODELS = ("a100", "h100", "t4")
CLASSES = {
    "any": (),
    "gpu": (f'device.driver == "{GPU}"',),
    "nic": (f'device.driver == "{NIC}"',),
    "big": (f'device.capacity["{GPU}"].memory.compareTo(quantity("20Gi")) >= 0',),
    "fast": (f'device.driver == "{GPU}"', f'device.attributes["{GPU}"].model in ["a100", "h100"]'),
}
SELECTORS = (
    f'device.attributes["{GPU}"].model == "a100"',
    f'"{GPU}" in device.attributes && device.attributes["{GPU}"].index < 2',
    f'has(device.attributes["{GPU}"].switch) && device.attributes["{GPU}"].switch != "s1"',
    f'device.attributes["{NIC}"].?rdma.orValue(false)',
    f'cel.bind(own, device.attributes["{GPU}"], own.healthy || own.model.startsWith("h"))',
    f'device.attributes["{GPU}"].firmware.isGreaterThan(semver("1.2.0"))',
    '["a100", "t4"].exists(each, device.attributes["gpu.example.com"].model == each)',
    "!device.allowMultipleAllocations",
)
POLICIES = (
    None,
    {"default": "5Gi", "validValues": ["5Gi", "10Gi", "40Gi"]},
    {"default": "2Gi", "validRange": {"min": "2Gi", "step": "2Gi"}},
    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "12Gi"}},
    {"default": "1", "validRange": {"min": "1", "step": "1500m"}},
)
EFFECTS = ("NoSchedule", "NoExecute", "None")
AMOUNTS = ("1Gi", "3Gi", "7Gi", "15Gi", "40Gi", "2300m")


_PREPARED: Object = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


class _Devices:
    """The devices of one case, and what was given away of them."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        #: What this case has: what some of it rules out would be an error of the whole program.
        self.has_counters = chance.maybe(0.3)
        self.has_all = not self.has_counters and chance.maybe(0.4)
        self.has_shared = chance.maybe(0.4)
        self.is_sloppy = chance.maybe(0.15)
        self.prepares = chance.maybe(0.25)
        #: Driver, pool and name of devices that a driver prepares once a node is chosen.
        self.prepared: set[tuple[str, str, str]] = set()
        #: Driver, pool, device, node, and whether several claims may have it: not given away yet.
        self.free: list[tuple[str, str, str, str | None, bool]] = []

    def cluster(self) -> list[Object]:
        chance = self.chance
        nodes = [f"n{at}" for at in range(chance.randint(2, 5))]
        made = [a_node(name, labels={ZONE: chance.choice(ZONES), "kubernetes.io/hostname": name}) for name in nodes]
        slices = [each for node in nodes for each in self._on_node(node)] + self._everywhere(nodes)
        classes = [a_device_class(name, *expressions) for name, expressions in sorted(CLASSES.items())]
        served = chance.maybe(0.3)
        if served:
            for each in classes:
                if each["metadata"]["name"] in ("gpu", "fast", "nic") and chance.maybe(0.5):
                    each["spec"]["extendedResourceName"] = chance.choice((GPU_RESOURCE, NIC_RESOURCE))
            if chance.maybe(0.2):
                for each in made:
                    each["status"]["allocatable"][GPU_RESOURCE] = "0"
        claims = [self._claim(f"c{at}") for at in range(chance.randint(1, 4))]
        if chance.maybe(0.25):
            claims.append(self._allocated("held", nodes, ("somebody",))[0])
        pods = [each for at in range(chance.randint(0, 3)) for each in self._running(f"u{at}", nodes)]
        pods += [each for at in range(chance.randint(1, 4)) for each in self._waiting(f"w{at}", claims)]
        if served:
            pods += [each for at in range(chance.randint(0, 2)) for each in self._served(f"v{at}", nodes)]
            pods += [self._requesting(f"x{at}") for at in range(chance.randint(1, 3))]
        for at, each in enumerate((*slices, *classes)):
            each["metadata"]["resourceVersion"] = str(at + 1)
        if not slices:
            return self.cluster()
        rules = [self._taint_rule(f"rule{at}") for at in range(chance.randint(1, 2))] if chance.maybe(0.2) else []
        return [*made, *slices, *rules, *classes, *claims, *pods]

    def _taint_rule(self, name: str) -> Object:
        chance = self.chance
        driver, pool, device, *_ = chance.choice(self.free) if self.free else (GPU, "net", "gpu-0-0")
        names = {"driver": driver, "pool": pool, "device": device}
        selector = {key: value for key, value in names.items() if chance.maybe(0.6)}
        return a_taint_rule(name, selector if chance.maybe(0.9) else None, effect=chance.choice(EFFECTS))

    def _on_node(self, node: str) -> list[Object]:
        found = []
        for driver in DRIVERS:
            if self.chance.maybe(0.7 if driver == GPU else 0.4):
                found += self._pool(driver, node, {"node": node})
        return found

    def _pool(self, driver: str, pool: str, place: Object) -> list[Object]:
        chance, count = self.chance, self.chance.randint(1, 2)
        counters = self.has_counters and driver == GPU
        generation = chance.randint(1, 3)
        short = driver.partition(".")[0]
        common = {"driver": driver, "pool": pool, "generation": generation, "slices": count + counters}
        if chance.maybe(0.07):
            common["slices"] += 1
        slices = []
        for at in range(count):
            devices = [
                self._device(driver, f"{short}-{at}-{number}", counters=counters)
                for number in range(chance.randint(1, 4))
            ]
            if chance.maybe(0.04):
                devices[-1]["name"] = f"{short}-0-0"
            for each in devices:
                self.free.append((driver, pool, each["name"], place.get("node"), "allowMultipleAllocations" in each))
                if "bindingConditions" in each:
                    self.prepared.add((driver, pool, each["name"]))
            slices.append(a_slice(f"{chance.choice('abc')}-{pool}-{short}-{at}", devices, **common, **place))
        if counters:
            sets = [
                {
                    "name": "chip",
                    "counters": {"slots": {"value": str(chance.randint(1, 5))}, "memory": {"value": "40Gi"}},
                }
            ]
            if chance.maybe(0.1):
                sets *= 2
            slices.append(a_slice(f"{pool}-{short}-counters", None, sharedCounters=sets, **common, **place))
        if chance.maybe(0.1):
            old = [self._device(driver, f"{short}-old", counters=False)]
            slices.append(a_slice(f"{pool}-{short}-old", old, **(common | {"generation": generation - 1}), **place))
        return slices

    def _everywhere(self, nodes: list[str]) -> list[Object]:
        chance = self.chance
        match chance.weighted({"none": 5, "all": 2, "zone": 2, "each": 2}):
            case "all":
                return self._pool(NIC, "net", {"allNodes": True})
            case "zone":
                chosen = {"nodeSelectorTerms": [node_term((ZONE, "In", chance.choice(ZONES)))]}
                return self._pool(NIC, "net", {"nodeSelector": chosen})
            case "each":
                slices = self._pool(NIC, "net", {"perDeviceNodeSelection": True})
                for device in (device for each in slices for device in each["spec"].get("devices") or ()):
                    places: list[Object] = [
                        {"nodeName": chance.choice(nodes)},
                        {"allNodes": True},
                        {"nodeSelector": {"nodeSelectorTerms": [node_term((ZONE, "In", chance.choice(ZONES)))]}},
                    ]
                    device.update(chance.choice(places))
                return slices
        return []

    def _device(self, driver: str, name: str, *, counters: bool) -> Object:
        chance = self.chance
        attributes: Object = {"index": chance.randint(0, 4), "switch": chance.choice(SWITCHES)}
        if driver == GPU:
            attributes |= {"model": chance.choice(MODELS), "healthy": chance.maybe(0.7)}
            attributes["firmware"] = {"version": chance.choice(("1.0.0", "1.2.1", "1.10.0-rc.1"))}
        else:
            attributes["rdma"] = chance.maybe(0.5)
        if chance.maybe(0.3):
            attributes["example.org/rack"] = chance.choice(("r0", "r1"))
        if self.is_sloppy and chance.maybe(0.3):
            attributes.pop(chance.choice(list(attributes)))
        memory: Object = {"value": chance.choice(("10Gi", "20Gi", "40Gi"))}
        more: Object = {}
        if self.has_shared and chance.maybe(0.5):
            more["allowMultipleAllocations"] = True
            policy = chance.choice(POLICIES)
            memory |= {"requestPolicy": policy} if policy else {}
        if chance.maybe(0.1):
            more["taints"] = [{"key": "broken", "value": "yes", "effect": chance.choice(EFFECTS)}]
        if self.prepares and chance.maybe(0.3):
            more |= _PREPARED | ({"bindsToNode": True} if chance.maybe(0.3) else {})
        if counters and chance.maybe(0.7):
            taken = {
                "slots": {"value": str(chance.randint(1, 3))},
                "memory": {"value": chance.choice(("10Gi", "20Gi"))},
            }
            more["consumesCounters"] = [{"counterSet": "chip", "counters": taken}]
        return a_device(name, attributes, {"memory": memory}, **more)

    def _request(self, name: str) -> Object:
        chance = self.chance
        if chance.maybe(0.25):
            return first_available(name, *(self._asked(f"s{at}") for at in range(chance.randint(1, 3))))
        request = self._asked(name)
        if chance.maybe(0.06):
            request["adminAccess"] = True
        return exactly(request)

    def _asked(self, name: str) -> Object:
        chance, more = self.chance, {}
        of_class = chance.weighted({"any": 1, "gpu": 4, "nic": 2, "big": 1, "fast": 2})
        if chance.maybe(0.1):
            operator = chance.choice((("Exists", {}), ("Equal", {"value": "yes"})))
            more["tolerations"] = [{"key": "broken", "operator": operator[0], **operator[1]}]
        if self.has_shared and chance.maybe(0.5):
            more["capacity"] = {"requests": {"memory": chance.choice(AMOUNTS)}}
        count = 0 if self.has_all and chance.maybe(0.3) else chance.choice([1, 1, 1, 2, 3])
        # What some devices do not have would be an error of the whole cycle.
        safe = SELECTORS[1:4] + SELECTORS[7:]
        selectors = (chance.choice(SELECTORS if of_class in ("gpu", "fast") or self.is_sloppy else safe),)
        return a_request(name, of_class, *(selectors if chance.maybe(0.4) else ()), count=count, **more)

    def _asking(self) -> tuple[list[Object], list[Object] | None]:
        chance = self.chance
        requests = [self._request(f"r{at}") for at in range(chance.choice([1, 1, 2]))]
        if not chance.maybe(0.3):
            return requests, None
        kind = chance.choice(("matchAttribute", "distinctAttribute"))
        attribute = chance.choice((f"{GPU}/switch", f"{GPU}/index", f"{NIC}/switch", "example.org/rack"))
        named = {"requests": [requests[0]["name"]]} if chance.maybe(0.5) else {}
        return requests, [{kind: attribute, **named}]

    def _claim(self, name: str, owner: str | None = None, *, reserved_for: tuple[str, ...] = ()) -> Object:
        requests, constraints = self._asking()
        return a_claim(name, *requests, constraints=constraints, owner=owner, reserved_for=reserved_for)

    def _allocated(
        self, name: str, nodes: list[str], users: tuple[str, ...], owner: str | None = None
    ) -> tuple[Object, str]:
        """A claim that has one or two devices, and a node where they can be used."""
        requests, constraints = self._asking()
        results, node = [], None
        for _ in range(self.chance.choice([1, 1, 2])):
            here = [each for each in self.free if node is None or each[3] in (None, node)]
            if here:
                taken = self.chance.choice(here)
                driver, pool, device, place, is_shared = taken
                node = node or place
                more: Object = {}
                if is_shared:
                    share = f"{len(self.free)}-{name}-{len(results)}"
                    more = {
                        "shareID": share,
                        "consumedCapacity": {"memory": self.chance.choice(("1Gi", "5Gi", "10Gi"))},
                    }
                if not is_shared or self.chance.maybe(0.5):
                    self.free.remove(taken)
                if taken[:3] in self.prepared:
                    more |= _PREPARED
                results.append(allocated(requests[0]["name"], device, driver=driver, pool=pool, **more))
        node = node or self.chance.choice(nodes)
        for each in results:
            each.update({"adminAccess": True} if self.chance.maybe(0.05) else {})
        claim = a_claim(
            name, *requests, constraints=constraints, devices=results, node=node, owner=owner, reserved_for=users
        )
        told = [self._told(each) for each in results if "bindingConditions" in each]
        if told:
            claim["status"]["devices"] = told
        return claim, node

    def _told(self, held: Object) -> Object:
        """What a driver says of a device that it has prepared, or could not."""
        types = self.chance.choice((["ready"], ["ready"], ["failed"], ["failed", "ready"]))
        conditions = [
            {
                "type": each,
                "status": "True",
                "reason": "Said",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": "",
            }
            for each in types
        ]
        return {each: held[each] for each in ("driver", "pool", "device")} | {"conditions": conditions}

    def _running(self, name: str, nodes: list[str]) -> list[Object]:
        claim, node = self._allocated(f"{name}-own", nodes, (name,), owner=name)
        spec = {"resourceClaims": [uses("own", template="t")]}
        return [claim, a_pod(name, node=node, cpu="1m", spec=spec, claims={"own": f"{name}-own"})]

    def _served(self, name: str, nodes: list[str]) -> list[Object]:
        """A running pod that requests an extended resource, and the claim that the scheduler has made for it."""
        claim, node = self._allocated(f"{name}-extended-resources-abcde", nodes, (name,), owner=name)
        claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
        return [claim, a_pod(name, node=node, cpu="1m", requests={GPU_RESOURCE: "1"})]

    def _requesting(self, name: str) -> Object:
        """A waiting pod that requests extended resources in some of its containers."""
        chance = self.chance
        resources = (GPU_RESOURCE, NIC_RESOURCE, "deviceclass.resource.kubernetes.io/nic")

        def some(**more: str) -> Object:
            amounts = {each: str(chance.randint(0, 2)) for each in resources if chance.maybe(0.4)}
            return a_container(chance.choice("abc"), requests={"cpu": "1m", **amounts}, **more)  # type: ignore[arg-type]

        first = a_container("first", requests={chance.choice(resources): str(chance.randint(1, 2))})
        init = [
            some(**({"restart_policy": "Always"} if chance.maybe(0.5) else {}))
            for _ in range(chance.choice([0, 0, 1, 2]))
        ]
        return a_pod(name, containers=[first, *(some() for _ in range(chance.choice([0, 0, 1])))], init_containers=init)

    def _waiting(self, name: str, claims: list[Object]) -> list[Object]:
        chance, made = self.chance, []
        used: list[Object] = []
        own: dict[str, str] = {}
        if chance.maybe(0.7):
            made.append(self._claim(f"{name}-own", owner=name))
            used.append(uses("own", template="t"))
            own["own"] = f"{name}-own"
        if not used or chance.maybe(0.3):
            used.append(uses("named", claim=chance.choice(claims)["metadata"]["name"]))
        pod = a_pod(name, cpu="1m", spec={"resourceClaims": used}, claims=own)
        return [*made, pod]


def a_device_cluster(chance: Chance) -> list[Object]:
    """Nodes, devices, classes, claims, pods that have devices, and one to four pods that wait; names say in which order."""
    return _Devices(chance).cluster()
