"""Whether a device is what a selector asks for.

A selector is an expression about ``device``: its driver, its attributes and its capacity, by domain. Each expression is
read once, and evaluated once for each device. Source: k8s.io/dynamic-resource-allocation/cel 0.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from restow.kube.cel import EvaluationError, Expression, UnsupportedError, compile_expression
from restow.kube.cel.values import WithDefault, parse_version
from restow.kube.objects.devices import DeviceAttribute, DeviceSelector
from restow.kube.quantity import parse_quantity
from restow.scheduling.devices.pools import PooledDevice
from restow.scheduling.framework.extension_points import CycleError, UnknownError


class Selectors:
    """The selectors of one cluster's classes and claims."""

    def __init__(self) -> None:
        self._expressions: dict[str, Expression] = {}
        self._variables: dict[PooledDevice, Mapping[str, Any]] = {}
        self._known: dict[tuple[str, PooledDevice], bool] = {}

    def match(self, selectors: Iterable[DeviceSelector], device: PooledDevice, owner: str) -> bool:
        """Whether a device satisfies all of them, which stand in a claim or a class (``owner``).

        CycleError, in the scheduler's words, where one has no value for this device; UnknownError where that is not known.
        """
        return all(self._matches(each, device, f"{owner}: selector #{at}") for at, each in enumerate(selectors))

    def _matches(self, selector: DeviceSelector, device: PooledDevice, place: str) -> bool:
        text = "" if selector.cel is None else selector.cel.expression
        known = self._known.get((text, device))
        if known is None:
            known = self._known[text, device] = self._evaluate(text, device, place)
        return known

    def _evaluate(self, text: str, device: PooledDevice, place: str) -> bool:
        try:
            if text not in self._expressions:
                self._expressions[text] = compile_expression(text)
            found = self._expressions[text].evaluate(self._of(device))
        except UnsupportedError as error:
            raise UnknownError(f"{place}: {error}") from error
        except EvaluationError as error:
            raise CycleError(f"{place}: CEL runtime error: {error}") from error
        if not isinstance(found, bool):
            raise UnknownError(f"{place}: the expression gives no bool")
        return found

    def _of(self, device: PooledDevice) -> Mapping[str, Any]:
        if device not in self._variables:
            self._variables[device] = {"device": _variables(device)}
        return self._variables[device]


def _variables(device: PooledDevice) -> Mapping[str, Any]:
    driver = device.id.driver
    attributes: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, attribute in (device.wire.attributes or {}).items():
        domain, short = _qualified(name, driver)
        attributes[domain][short] = _value(attribute, name)
    capacity: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, each in (device.wire.capacity or {}).items():
        domain, short = _qualified(name, driver)
        capacity[domain][short] = parse_quantity(each.value)
    return {
        "driver": driver,
        "allowMultipleAllocations": device.wire.allow_multiple_allocations,
        "attributes": WithDefault(attributes),
        "capacity": WithDefault(capacity),
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier of a name; without a domain it is the driver's."""
    domain, slash, short = name.partition("/")
    return (domain, short) if slash else (driver, name)


def _value(attribute: DeviceAttribute, name: str) -> Any:
    for value in (attribute.integer, attribute.boolean, attribute.text):
        if value is not None:
            return value
    version = None if attribute.version is None else parse_version(attribute.version)
    if version is None:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    return version
