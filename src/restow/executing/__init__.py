"""Carries out a decided cycle: which move may go now, the eviction, and what became of it."""
