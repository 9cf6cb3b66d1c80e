"""Synthetic clusters for trials and benchmarks: any size, the same bytes for the same arguments.

All randomness comes from one ``random.Random(seed)`` and no time from the clock. Objects are yielded one at a time,
nodes first and pods last, so that a cluster of 150,000 pods can be written without being held.
"""

from __future__ import annotations

from restow.sources.synthetic.names import NOW
from restow.sources.synthetic.profiles import PROFILES, ClusterProfile, generate, policy_for, write_list

__all__ = ["NOW", "PROFILES", "ClusterProfile", "generate", "policy_for", "write_list"]
