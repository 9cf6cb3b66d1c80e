"""Which endpoint a request goes to, and what counts as a time without one."""

from __future__ import annotations

from builders import Object
from e2e.service_endpoints import Gap, ServiceEndpoints


def a_slice(*endpoints: Object, service: str = "web") -> Object:
    """A slice as the controller writes it: without ports if it has no endpoints."""
    return {
        "metadata": {"labels": {"kubernetes.io/service-name": service}},
        "endpoints": list(endpoints) or None,
        "ports": [{"port": 8080}] if endpoints else None,
    }


def an_endpoint(address: str, *, ready: bool = True, serving: bool = True, terminating: bool = False) -> Object:
    return {
        "addresses": [address],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
    }


def chosen(*endpoints: Object) -> set[str]:
    """The addresses that requests go to."""
    known = ServiceEndpoints("default")
    known.take([a_slice(*endpoints)], 0.0)
    picks = [known.choose("web") for _ in range(50)]
    return {each.address for each in picks if each is not None}


def test_requests_go_to_ready_endpoints() -> None:
    leaving = an_endpoint("10.16.0.3", ready=False, terminating=True)
    assert chosen(an_endpoint("10.16.0.1"), an_endpoint("10.16.0.2"), leaving) == {"10.16.0.1", "10.16.0.2"}


def test_an_endpoint_that_is_terminating_is_better_than_none() -> None:
    leaving = an_endpoint("10.16.0.3", ready=False, terminating=True)
    assert chosen(leaving, an_endpoint("10.16.0.4", ready=False, serving=False)) == {"10.16.0.3"}


def test_without_a_serving_endpoint_there_is_none() -> None:
    assert chosen(an_endpoint("10.16.0.4", ready=False, serving=False, terminating=True)) == set()
    assert chosen() == set()


def test_a_gap_lasts_from_the_last_ready_endpoint_to_the_next() -> None:
    known = ServiceEndpoints("default")
    ready, unready = a_slice(an_endpoint("10.16.0.1")), a_slice(an_endpoint("10.16.0.1", ready=False))
    for now, slices in enumerate([[unready], [ready], [ready], [unready], [a_slice()], [ready], []]):
        known.take([*slices, a_slice(an_endpoint("10.16.0.9"), service="other")], float(now))
    assert known.gaps == {"web": [Gap(3.0, 5.0)]}
