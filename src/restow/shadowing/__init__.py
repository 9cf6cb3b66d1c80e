"""Judges evictions that others make: where their pods would land, where they did, and whether the eviction was useful."""
