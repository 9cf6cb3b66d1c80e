"""What Prometheus is asked for a snapshot."""

from __future__ import annotations

import pytest

from restow.application.usage_asking import usage_request
from restow.client.prometheus import prometheus_endpoint


@pytest.mark.parametrize(
    ("usage", "step"), [("1m", 60), ("1h", 60), ("24h", 300), ("25h", 360), ("168h", 2100), ("8784h", 109_800)]
)
def test_no_range_has_more_samples_than_a_day_in_five_minutes(usage, step):
    prometheus = prometheus_endpoint("http://p", None, None, {})
    wanted = usage_request(usage, prometheus, {"cpu": "rate(x[$window])"})
    assert wanted.step == step
    assert wanted.seconds / step <= 288
    assert [each.promql for each in wanted.queries] == [f"rate(x[{max(step, 300)}s])"]
