"""Preemption: which pods a node would have to evict for a more important one."""
