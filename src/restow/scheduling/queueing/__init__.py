"""The scheduling queue: which pod is tried next, and what those that fit nowhere wait for."""
