"""Carries out a decided cycle: which move is next, the eviction, and what becomes of the replacement."""
