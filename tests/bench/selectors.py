"""How long one selector of devices takes to evaluate: restow's own evaluator, and cel-python where it is installed.

PYTHONPATH=tests python -m bench.selectors
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

from restow.kube.cel import compile_expression
from restow.kube.cel.values import WithDefault

TEXT = 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"'
DEVICE = {"driver": "gpu.example.com", "attributes": {"gpu.example.com": {"model": "a100"}}}
_TIMES = 2000


def main() -> None:
    """Prints microseconds for each."""
    expression = compile_expression(TEXT)
    variables = {"device": DEVICE | {"attributes": WithDefault(DEVICE["attributes"])}}
    print(f"restow: {_microseconds(lambda: expression.evaluate(variables)):.1f} us")
    if find_spec("celpy") is None:
        print("cel-python is not installed: pip install cel-python")
        return
    import celpy

    environment = celpy.Environment()
    program = environment.program(environment.compile(TEXT))
    given = {"device": celpy.json_to_cel(DEVICE)}
    print(f"cel-python: {_microseconds(lambda: program.evaluate(given)):.1f} us")


def _microseconds(call: Callable[[], object]) -> float:
    assert call()
    begin = time.perf_counter()
    for _ in range(_TIMES):
        call()
    return (time.perf_counter() - begin) / _TIMES * 1e6


if __name__ == "__main__":
    main()
